"""What each metric is: its sentence, direction, unit, range and name in published tables, in one definition.

A package, eyechart's own studies among them, declares its metrics beside the functions that compute them, with an entry
point that names a definition or a tuple of them:

    [project.entry-points."eyechart.metrics"]
    my_metrics = "mypackage.metrics:DEFINITIONS"

Records that hold them are then checked, and tables, page and gate write them, in one way for all packages.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache
from importlib.metadata import EntryPoint
from math import inf
from typing import Literal, get_args

from eyechart.errors import SpecError
from eyechart.files.installed import find_entry_points, load_entry_point

GROUP = "eyechart.metrics"
SHARE = (0.0, 1.0)
CHANGES = ("_change", "_delta")  # the endings of changes of a metric
Unit = Literal["share", "number"]
Kind = Literal["accuracy", "score"]


@dataclass(frozen=True)
class MetricDefinition:
    """What a metric is.

    `summary` is the sentence that explains it. `higher_is_better` is the direction by which the gate judges it, None if
    the gate does not; estimates have it from here. `unit` is "share" for a number that is written in percent, else
    "number". `range` has the least and the largest value, None if it is not known: a record with a value beyond it is
    refused as damaged, unless the name `is_common`, so that another tool may use it on another scale. Published tables
    call the metric `published_name`, "" for its name.

    `kind` is "score" for a number that says how good probabilities are: it is low for a model near chance, so that a
    much better model can have a worse value, and `--eye-gate` names it apart. Lists and charts with one number of a
    case take the metric that `is_main`. `over_epochs` says that it is a mean over epochs, not of single answers, and
    `over_classes` that it is a mean over classes. `question` is the kind of question that it is about, "" for every
    kind, and `needs` is what a model must give, which the message about its absence says; "" for an answer.
    """

    name: str
    summary: str
    _: KW_ONLY
    higher_is_better: bool | None
    unit: Unit = "share"
    range: tuple[float, float] | None = None
    is_common: bool = False
    published_name: str = ""
    kind: Kind = "accuracy"
    is_main: bool = False
    over_epochs: bool = False
    over_classes: bool = False
    question: str = ""
    needs: str = ""

    def __post_init__(self) -> None:
        if self.unit not in get_args(Unit):
            raise SpecError(
                f"The definition of the metric '{self.name}' has the unit {self.unit!r}. "
                f'Expected "share", for a fraction that is written in percent, or "number".'
            )
        if self.kind not in get_args(Kind):
            raise SpecError(
                f"The definition of the metric '{self.name}' has the kind {self.kind!r}. "
                f'Expected "accuracy", or "score" for a number about probabilities.'
            )
        if self.range is not None and not (len(self.range) == 2 and self.range[0] < self.range[1]):
            raise SpecError(
                f"The definition of the metric '{self.name}' has the range {self.range!r}. "
                "Expected the least and the largest value, such as (0.0, 1.0), or None."
            )


@cache
def metric_definitions() -> Mapping[str, MetricDefinition]:
    """Return the definitions of all installed packages, eyechart's first, by name.

    Raises:
        SpecError: If a name is defined twice, or if an entry point names something else.

    >>> metric_definitions()["ece"].higher_is_better
    False
    """
    known: dict[str, MetricDefinition] = {}
    origins: dict[str, str] = {}
    for point in find_entry_points(GROUP):
        for definition in _load(point):
            name = definition.name
            if name in known:
                raise SpecError(
                    f"The metric '{name}' is defined twice, by {origins[name]} and by {point.value} (entry points of "
                    f"{GROUP}). Uninstall one of the packages, or give one of the metrics another name."
                )
            known[name], origins[name] = definition, point.value
    return known


def _load(point: EntryPoint) -> tuple[MetricDefinition, ...]:
    """Return the definitions that an entry point names."""
    target = load_entry_point(point)
    definitions = target if isinstance(target, tuple) else (target,)
    for definition in definitions:
        if not isinstance(definition, MetricDefinition):
            raise SpecError(
                f"The entry point '{point.name}' of {GROUP} names {point.value}, which holds a "
                f"{type(definition).__name__}. Expected a MetricDefinition, or a tuple of them."
            )
    return definitions


def define(name: str) -> MetricDefinition:
    """Return the definition of a metric; of one that no package defines, a definition that says nothing.

    >>> define("acc1").is_main, define("length").is_main
    (True, False)
    """
    return metric_definitions().get(name) or MetricDefinition(name, "", higher_is_better=None, unit="number")


def main_metrics() -> tuple[str, ...]:
    """Return the names of the metrics that are the one number of a case in lists and charts.

    >>> main_metrics()
    ('acc1', 'mc_acc', 'repeated_acc', 'question_acc')
    """
    return tuple(name for name, definition in metric_definitions().items() if definition.is_main)


def fixed_range(name: str) -> tuple[float, float] | None:
    """Return the range that every value of a metric has; None if it is not known, or if other tools have another scale.

    >>> fixed_range("acc1"), fixed_range("f1"), fixed_range("length")
    ((0.0, 1.0), None, None)
    """
    definition = metric_definitions().get(name)
    return definition.range if definition and not definition.is_common else None


def direction_of(name: str, otherwise: bool | None = None) -> bool | None:
    """Return whether higher values of a metric are better; `otherwise` for a metric that no package defines.

    >>> direction_of("acc1"), direction_of("ece"), direction_of("oop"), direction_of("length", True)
    (True, False, None, True)
    """
    definition = metric_definitions().get(name)
    return otherwise if definition is None else definition.higher_is_better


def range_of(name: str) -> tuple[float, float]:
    """Return the least and the largest value that a metric can have, infinite for one that is not known.

    A change, such as `mcc_delta`, has the range of the differences of two values of its metric.

    >>> range_of("acc1"), range_of("mcc"), range_of("mcc_delta"), range_of("length")
    ((0.0, 1.0), (-1.0, 1.0), (-2.0, 2.0), (-inf, inf))
    """
    known = metric_definitions()
    if name in known and (limits := known[name].range):
        return limits
    if name.endswith(CHANGES):
        base = known.get(name.rpartition("_")[0])
        least, most = (base and base.range) or SHARE
        return least - most, most - least
    return -inf, inf


def largest_change(name: str, *values: float) -> float:
    """Return the largest change that a metric with some values can have: the width of its range, if it is known.

    >>> largest_change("acc1", 0.75), largest_change("mcc", 0.5), largest_change("f1", 85.0)
    (1.0, 2.0, inf)
    """
    least, most = range_of(name)
    return most - least if all(least <= value <= most for value in values) else inf
