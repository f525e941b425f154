"""What numbers about birds have in common: shares, harmonic means, and nothing where nobody was asked."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from eyechart.data.observations import Observations
from eyechart.gate.evidence import TIMES
from eyechart.gate.pairing import Draw
from eyechart.metrics.abstention import harmonic_mean, harmonic_mean_draws, harmonic_mean_interval
from eyechart.metrics.clusters import clustered_wilson
from eyechart.metrics.intervals import Interval
from eyechart.metrics.resampling import drawn
from eyechart.protocol.numbers import metric
from eyechart.records import Metric

Outcomes = NDArray[np.float64]
Ints = NDArray[np.int64]
Value = tuple[float, Interval]


def number(name: str, labels: str, category: str, n: int, value: Callable[[], Value], method: str) -> Metric:
    """A number of n birds; nothing of none."""
    found, ci = value() if n else (None, None)
    return metric(name, labels, found, n, ci, method, category)


def rate(name: str, labels: str, outcomes: Outcomes, category: str, clusters: Ints | None = None) -> Metric:
    """A share of the images that have an outcome, of which several may be of one observation: `clusters` (n,)."""
    known = ~np.isnan(outcomes)
    clusters = np.arange(len(outcomes)) if clusters is None else clusters
    k, n = int(outcomes[known].sum()), int(known.sum())
    method = "wilson" if len(np.unique(clusters[known])) == n else "clustered wilson"
    ci = clustered_wilson(outcomes, clusters) if n else None
    return metric(name, labels, k / n if n else None, n, ci, method, category)


def harmonic(
    name: str,
    labels: str,
    answerable: Outcomes,
    unanswerable: Outcomes,
    seed: int,
    clusters: tuple[Ints, Ints] | None = None,
) -> Metric:
    """The harmonic mean of two accuracies, where both sets have answers; `clusters` are the observations of either."""
    sides = answerable, unanswerable
    one, other = (side[~np.isnan(side)] for side in sides)

    def value() -> tuple[float, Interval]:
        found = harmonic_mean(float(one.mean()), float(other.mean()))
        return found, harmonic_mean_interval(*sides, seed=seed, clusters=clusters)

    n = len(one) + len(other) if len(one) and len(other) else 0
    return number(name, labels, "all", n, value, "bootstrap")


def strata(seen: Observations) -> NDArray[np.int64]:
    """Which birds are drawn from among one another (n,): answerable ones, 0, and unanswerable ones, 1."""
    return (~seen.answerable).astype(np.int64)


def sides_of(seen: Observations) -> tuple[Ints, Ints]:
    """The observations of the answerable images, and of the unanswerable ones."""
    return seen.clusters[seen.answerable], seen.clusters[~seen.answerable]


def drawn_birds(seen: Observations, seed: int) -> Iterator[NDArray[np.int64]]:
    """How often each image of a split is taken, resample by resample, the same for every model and number.

    Observations are drawn, with all their images.
    """
    return drawn(len(seen.answerable), TIMES, seed, strata(seen), seen.clusters)


def harmonic_draw(right: Outcomes, seen: Observations, seed: int) -> Draw:
    """How the harmonic mean of the two sets' accuracies is drawn, of each bird's outcome (n,), NaN for none."""
    return lambda: harmonic_mean_draws(right, ~seen.answerable, drawn_birds(seen, seed))
