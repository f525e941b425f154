"""Measures: numbers that are computed from how often each sample is taken.

The value of a measure is its number when each sample is taken once. Its bootstrap samples are its numbers when each
sample is taken as often as a resample has it. Its interval and its paired change follow from these.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_integers, check_length, require
from eyechart.statistics._sweeps import Samples, count_blocks
from eyechart.statistics.bootstrap_samples import Seed
from eyechart.statistics.degenerate_intervals import max_unseen_share, share_interval
from eyechart.statistics.draws_cache import cached_array, cached_tuple
from eyechart.statistics.intervals import Interval
from eyechart.statistics.resampling import bootstrap_counts, percentile_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NONE = Interval(float("nan"), float("nan"))


class PairedChange(NamedTuple):
    """After minus before, with its paired interval; both fractions."""

    value: float
    interval: Interval


@dataclass(frozen=True, eq=False)
class Measure:
    """A fraction that is computed from how often each sample is taken.

    `key` names the measure and has all that it is computed from; equal keys have equal numbers, so that the cache of
    results (`draws_cache`) finds them. `rows` (m,) are the indices of those of the `n` samples that count. `of_counts`
    returns the numbers (k,) of counts (k, m), in the order of `rows`; NaN where they have no number. `strata` (m,) is
    the stratum of each, which is resampled by itself, None if there is one. `decimals` is to how many decimals the
    bootstrap samples of the interval are rounded, None for a measure whose sums do not depend on the order of samples.

    >>> mean = Measure(("mean",), 3, np.arange(3), lambda counts: counts @ np.array([1, 1, 0]) / counts.sum(axis=-1))
    >>> round(mean.value, 3), mean.resample([[2, 0, 2], [0, 3, 0]]).tolist()
    (0.667, [0.5, 1.0])
    """

    key: tuple[object, ...]
    n: int
    rows: Ints
    of_counts: Callable[[Ints], Floats] = field(compare=False)
    strata: Ints | None = None
    decimals: int | None = None

    @cached_property
    def value(self) -> float:
        """The number when each sample is taken once; NaN if it has none."""
        return float(self.of_counts(np.ones(len(self.rows), np.int64)))

    @cached_array
    def resample(self, samples: Samples) -> Floats:
        """Return the number of each of the given resamples, so that two models can be compared on the same ones.

        Args:
            samples: Resample by resample, how often each sample is taken, (n,) whole numbers, as
                `resampling.bootstrap_counts` has them.

        Returns:
            A number for each resample, NaN where it has none.

        Raises:
            ValueError: If a resample has another length.
        """
        return _numbers(self.of_counts, "Measure.resample", samples, self.n, self.rows)

    @cached_tuple
    def interval(
        self, times: int = 1000, seed: Seed = 0, level: float = 0.95, clusters: ArrayLike | None = None
    ) -> Interval:
        """Return the percentile interval over resampled samples, stretched to the value where it lies beside it.

        Args:
            times: How many resamples.
            seed: A whole number or a numpy Generator.
            level: In (0, 1).
            clusters: (n,), the cluster of each sample, such as the observation of an image, whose samples of one
                stratum are drawn all or none.

        Returns:
            Interval of fractions. Where no resample differs it is `share_interval`'s, for the stratum with the fewest
            clusters; NaN where the measure has no value or without resamples.

        Raises:
            ValueError: If `times` is negative, the level is no level, or clusters are no n whole numbers of at least 0.

        Source: B. Efron, The Annals of Statistics 7 (1979) 1-26.
        """
        name = "Measure.interval"
        require(0 < level < 1, name, "level", "between 0 and 1", level)
        units = clusters_of(name, self.rows, self.n, clusters)
        samples, value = bootstrap_counts(len(self.rows), times, seed, self.strata, units), self.value
        if np.isnan(value) or not times:
            return _NONE
        draws = _numbers(self.of_counts, name, samples, len(self.rows))
        if self.decimals is not None:
            draws = draws.round(self.decimals)
        low, high = share_interval(draws, min(1.0, value), _fewest(units, self.strata), level)
        return Interval(min(low, value), max(high, value))


@cached_tuple
def paired_change(
    before: Measure,
    after: Measure,
    *,
    times: int = 1000,
    seed: Seed = 0,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> PairedChange:
    """Return the change of a measure between two scorings of the same samples.

    Args:
        before: The measure before.
        after: The measure after, of the same samples.
        times: How many resamples, each of the same samples on both sides.
        seed: A whole number or a numpy Generator.
        level: In (0, 1).
        clusters: (n,), the cluster of each sample, as for `Measure.interval`.

    Returns:
        PairedChange with a percentile interval. If no resample differs, the interval is a rule-of-three bound for
        samples of a kind that was not seen. NaN where a side has no value, its interval also without resamples.

    Raises:
        ValueError: If the sides have other samples, `times` is negative or the level is no level.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26, over pairs; E. R. DeLong, D. M. DeLong and D. L.
    Clarke-Pearson, Biometrics 44 (1988) 837-845, for why areas of the same images are compared in pairs.

    >>> from eyechart.realbirdid.statistics.abstention_tradeoff import ua_a
    >>> sides = [ua_a(unsure, [False, False, True]) for unsure in ([0.1, 0.9, 0.5], [0.1, 0.2, 0.5])]
    >>> found = paired_change(*sides)
    >>> found.value, found.interval.high
    (0.5, 1.0)
    """
    name = "paired_change"
    require(0 < level < 1, name, "level", "between 0 and 1", level)
    # each side has its samples in an order of its own, so that resamples of sorted ones are put into that order
    orders = [np.argsort(side.rows, kind="stable") for side in (before, after)]
    rows, others = (side.rows[order] for side, order in zip((before, after), orders, strict=True))
    same = before.n == after.n and np.array_equal(rows, others)
    require(same, name, "after", f"a measure of the same {len(rows)} samples as before", len(others))
    positions = [np.argsort(order, kind="stable") for order in orders]

    def moved(counts: Ints) -> Floats:
        first, second = (
            side.of_counts(counts.take(position, axis=-1))
            for side, position in zip((before, after), positions, strict=True)
        )
        return second - first

    strata = None if before.strata is None else before.strata[orders[0]]
    units = clusters_of(name, rows, before.n, clusters)
    samples = bootstrap_counts(len(rows), times, seed, strata, units)
    value = float(moved(np.ones(len(rows), np.int64)))
    if np.isnan(value):
        return PairedChange(value, _NONE)
    draws = _numbers(moved, name, samples, len(rows)).round(12)
    if len({*draws[~np.isnan(draws)].tolist()}) != 1:
        return PairedChange(value, percentile_interval(draws, level))
    other = max_unseen_share(_fewest(units, strata), level)
    low, high = (1 - other) * value - other, (1 - other) * value + other
    return PairedChange(value, Interval(max(-1.0, low), min(1.0, high)))


def clusters_of(function: str, rows: Ints, n: int, clusters: ArrayLike | None) -> Ints:
    """Return the clusters of those of n samples that count; each sample is its own cluster if none are given.

    Args:
        function: The function that a refusal names.
        rows: (m,), the indices of the samples that count.
        n: The number of samples.
        clusters: (n,), the cluster of each sample, any whole number of at least 0.

    Returns:
        (m,) whole numbers.

    Raises:
        ValueError: If the clusters are no n whole numbers of at least 0.

    Source: own definition.

    >>> clusters_of("Measure.interval", np.array([2, 0]), 3, [7, 7, 5]).tolist()
    [5, 7]
    """
    if clusters is None:
        return rows
    cluster = check_integers(function, "clusters", clusters, ndim=1, least=0)
    check_length(function, "clusters", cluster, n)
    return cluster[rows]


def _numbers(
    of_counts: Callable[[Ints], Floats], function: str, samples: Samples, length: int, rows: Ints | None = None
) -> Floats:
    blocks = count_blocks(function, samples, length, slice(None) if rows is None else rows)
    nothing = of_counts(np.zeros((0, length if rows is None else len(rows)), np.int64))  # so that no block has a shape
    return np.concatenate([nothing, *map(of_counts, blocks)])


def _fewest(units: Ints, strata: Ints | None) -> int:
    """Return the number of clusters of the stratum that has the fewest."""
    stratum = np.zeros(len(units), np.int64) if strata is None else strata
    return min(len(np.unique(units[stratum == value])) for value in np.unique(stratum))
