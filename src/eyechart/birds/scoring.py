"""What numbers about birds have in common: shares, harmonic means, and nothing where nobody was asked."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from eyechart.data.observations import Observations
from eyechart.gate.evidence import TIMES
from eyechart.gate.pairing import Draw
from eyechart.metrics.abstention import harmonic_mean, harmonic_mean_draws, harmonic_mean_interval
from eyechart.metrics.intervals import Interval, wilson
from eyechart.metrics.resampling import drawn
from eyechart.records import Metric
from eyechart.scoring import metric

Outcomes = NDArray[np.float64]
Value = tuple[float, Interval]


def number(name: str, labels: str, category: str, n: int, value: Callable[[], Value], method: str) -> Metric:
    """A number of n birds; nothing of none."""
    found, ci = value() if n else (None, None)
    return metric(name, labels, found, n, ci, method, category)


def rate(name: str, labels: str, outcomes: Outcomes, category: str) -> Metric:
    """A share of the birds that have an outcome."""
    known = outcomes[~np.isnan(outcomes)]
    k, n = int(known.sum()), len(known)
    return metric(name, labels, k / n if n else None, n, wilson(k, n) if n else None, "wilson", category)


def harmonic(name: str, labels: str, answerable: Outcomes, unanswerable: Outcomes, seed: int) -> Metric:
    """The harmonic mean of two accuracies, where both sets have answers."""
    one, other = (side[~np.isnan(side)] for side in (answerable, unanswerable))

    def value() -> tuple[float, Interval]:
        found = harmonic_mean(float(one.mean()), float(other.mean()))
        return found, harmonic_mean_interval(one, other, seed=seed)

    n = len(one) + len(other) if len(one) and len(other) else 0
    return number(name, labels, "all", n, value, "bootstrap")


def strata(seen: Observations) -> NDArray[np.int64]:
    """Which birds are drawn from among one another (n,): answerable ones, 0, and unanswerable ones, 1."""
    return (~seen.answerable).astype(np.int64)


def drawn_birds(seen: Observations, seed: int) -> Iterator[NDArray[np.int64]]:
    """How often each bird of a split is taken, resample by resample, the same for every model and number."""
    return drawn(len(seen.answerable), TIMES, seed, strata(seen))


def harmonic_draw(right: Outcomes, seen: Observations, seed: int) -> Draw:
    """How the harmonic mean of the two sets' accuracies is drawn, of each bird's outcome (n,), NaN for none."""
    return lambda: harmonic_mean_draws(right, ~seen.answerable, drawn_birds(seen, seed))
