"""From what was said of birds to numbers."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eyechart.asking.free_form import FreeForm
from eyechart.metrics.abstention import harmonic_mean, harmonic_mean_interval
from eyechart.metrics.intervals import Interval, wilson
from eyechart.records import Metric, Outcomes
from eyechart.scoring import metric

LABELS = "observations"
ANSWERABLE, UNANSWERABLE = "A", "UA"
Bools = NDArray[np.bool_]


def free_form_metrics(found: FreeForm, seed: int) -> Iterator[Metric]:
    """Accuracy by level, how often no species was named, and the harmonic mean; an unread answer is a wrong one."""
    answerable = found.observed.answerable & found.told
    without = ~found.observed.answerable & found.told
    yield share("acc", "A.species", found.right[answerable])
    yield share("acc", "A.genus", found.right_genus[answerable])
    yield share("acc", "UA.genus", found.right_genus[without])
    yield share("acc", UNANSWERABLE, found.right[without])
    yield share("abstained", ANSWERABLE, found.abstained[answerable])
    yield share("abstained", UNANSWERABLE, found.abstained[without])
    yield harmonic(found.right[answerable], found.right[without], seed)


def share(name: str, category: str, outcomes: Bools) -> Metric:
    """A share of images, with Wilson's interval."""
    n, count = outcomes.size, int(outcomes.sum())
    return number(name, category, count / n if n else float("nan"), n, wilson(count, n) if n else None, "wilson")


def harmonic(answerable: Bools, without: Bools, seed: int) -> Metric:
    """The harmonic mean of both accuracies."""
    sides = answerable.astype(np.float64), without.astype(np.float64)
    n = sum(map(len, sides))
    if not all(map(len, sides)):
        return number("hm", "all", float("nan"), n, None)
    value = harmonic_mean(*(float(side.mean()) for side in sides))
    return number("hm", "all", value, n, harmonic_mean_interval(*sides, seed=seed))


def number(
    name: str, category: str, value: float, n: int, ci: Interval | None, method: str = "bootstrap over images"
) -> Metric:
    """A number; one that is not defined has no value."""
    known = not np.isnan(value)
    sure = ci if known and ci is not None and not np.isnan(ci).any() else None
    return metric(name, LABELS, value if known else None, n, sure, method, category)


def free_form_outcomes(found: FreeForm) -> Outcomes:
    """What became of the answers."""
    return Outcomes(
        correct=int(found.right.sum()),
        wrong=int((found.read & ~found.right).sum()),
        unparsed=int((found.told & ~found.read).sum()),
        error=len(found.errors),
    )
