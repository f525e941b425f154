"""Values that no number of a record can have, so that an edited or damaged record is refused and not shown."""

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eyechart.records import Metric, Record  # which imports this module

ROUNDING = 1e-6
SHARES = frozenset((
    *("acc", "acc1", "acc5", "acc1_strict", "mc_acc", "repeated_acc", "tree_acc", "acc_macro"),
    *("e_acc", "c_acc", "l_acc", "precision", "recall", "mean_per_class_recall", "correct_reason"),
    *("oop", "oop_in", "oop_partial", "oop_wrong", "oop_abstain", "oop_mapped", "repeated_oop"),
    *("abstained", "abstention", "yes_rate", "unparsed", "truncated", "case1", "case2", "flagged"),
    *("ece", "cochran_p", "mmd2_p"),
))  # fmt: skip


def find_impossible_value(record: "Record") -> str:
    """Return the first number of a record that cannot be, with what was found and expected; "" where all can be."""
    for metric in record.metrics:
        for what in _impossible(metric):
            title = f"{metric.name} ({metric.labels}, {metric.category})"
            return f"{record.case} ({record.protocol}): {title} has {what}"
    return ""


def _impossible(metric: "Metric") -> Iterator[str]:
    """Give what is impossible about one number."""
    if metric.n < 0:
        yield f"n = {metric.n}, expected 0 or more"
    for interval, which in ((metric.ci, "an interval"), (metric.repeats_ci, "an interval over repeats")):
        if interval is None:
            continue
        if not interval[0] <= interval[1]:
            yield f"{which} from {interval[0]:g} to {interval[1]:g}, expected a lower end and a higher one"
    if metric.value is not None:
        yield from _outside(metric, metric.value)


def _outside(metric: "Metric", value: float) -> Iterator[str]:
    """Give that a value is outside of the range of its metric."""
    if not isfinite(value):
        yield f"the value {value:g}, expected a finite number"
    elif metric.name in SHARES and not 0 <= value <= 1:
        yield f"the value {value:g}, expected a fraction from 0 to 1"
    elif metric.ci and metric.ci_method == "wilson" and not _holds(metric.ci, value):
        yield f"the value {value:g} outside of its interval from {metric.ci[0]:g} to {metric.ci[1]:g}"


def _holds(interval: tuple[float, float], value: float) -> bool:
    """Return whether a share and its Wilson interval can be: the share lies within it, and it within 0 to 1."""
    low, high = interval
    return -ROUNDING <= low <= value + ROUNDING and value - ROUNDING <= high <= 1 + ROUNDING
