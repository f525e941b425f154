"""Degradation from an ID set to an OOD set: size, permutation test, and equivalence with reference models."""

from collections.abc import Iterable, Mapping
from math import hypot
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_integers, check_length, check_whole_number, require
from eyechart.statistics.bootstrap_samples import Counts
from eyechart.statistics.degenerate_intervals import is_constant, measure_intervals
from eyechart.statistics.intervals import Interval, clopper_pearson
from eyechart.statistics.resampling import (
    Strata,
    bootstrap_totals,
    cluster_sums,
    exchange_totals,
    percentile_interval,
    permutation_totals,
)
from eyechart.statistics.yes_no import MEASURES, confusion_measures

Floats = NDArray[np.float64]
_CELLS = 4  # of a pair's table
_NONE = Interval(float("nan"), float("nan"))
_TIE = 1e-12  # apart by rounding alone


class Degradation(NamedTuple):
    """The degradation of one measure: interval, p-value with its interval, bootstrap and null samples (times,)."""

    delta: float
    ci: Interval
    p: float
    p_ci: Interval
    bootstrap_samples: Floats
    null_samples: Floats


class Equivalence(NamedTuple):
    """The difference from the reference models' mean degradation, its 90 % interval and bootstrap samples (times,)."""

    delta: float
    ci: Interval
    eta: float
    equivalent: bool
    bootstrap_samples: Floats


def degradation(
    id: ArrayLike,  # noqa: A002
    ood: ArrayLike,
    times: int = 2000,
    seed: int = 0,
    strata: Strata | None = None,
    clusters: Strata | None = None,
) -> dict[str, Degradation]:
    """Return by how much each measure falls from the ID to the OOD set, with interval and permutation p-value.

    The unit that is drawn is a cluster of pairs, such as an image, with all its pairs of both sets. In a permutation
    the clusters that are in one set alone are shuffled between the sets as wholes, and a cluster that is in both
    exchanges its pairs of one set for those of the other with even chances. A permutation in which a set has no answer
    counts as one that falls as much, and falls that differ by rounding alone are equal.
    Limits: the interval's level is approximate: at 0.95, simulated coverage is 0.93 to 0.97 from 100 clusters a set on,
    and as low as 0.75 with 30 that are nearly all right. Where the resamples of a measure do not differ in a set
    (every answer right, say), the interval is put together of the two sets' own (`alike.measure_intervals`) as MOVER
    does. The p-value is exact, or too large, where the clusters of both sets are exchangeable; where the sets differ
    otherwise (in how many pairs an image has, say) but not in the measure, it is approximate.

    Args:
        id: (m, 4), each pair's true positives, false positives, false negatives and true negatives, as
            `yes_no.confusion_tables` gives them.
        ood: (n, 4), the same of the other set.
        times: The number of resamples and of permutations, at least 1.
        seed: A whole number or a numpy Generator.
        strata: (m,) and (n,), the stratum of each pair, such as its data set, within which clusters are resampled and
            shuffled.
        clusters: (m,) and (n,), the cluster of each pair, the same number in both sets for the same image of a stratum;
            None if every pair is a cluster of its own.

    Returns:
        For each of MEASURES: delta = ID - OOD; its 95 % interval, the percentile one; the one-sided p-value (1 + #{null
        >= delta}) / (times + 1) with the 95 % Clopper-Pearson interval of what more permutations would make of it; the
        resamples' draws and the permutations' null. All NaN where a set has no answer.

    Raises:
        ValueError: If a table is no table of counts or `times` is less than 1.

    Source: arXiv 2602.18094, Eqs. (17), (18), (21) and (22), B = 2000; MOVER is G. Y. Zou and A. Donner, Statistics in
    Medicine 27 (2008) 1693-1702.

    >>> found = degradation([[1, 0, 0, 1]] * 40, [[1, 0, 0, 1]] * 20 + [[0, 0, 1, 1]] * 20, times=999)
    >>> found["acc"].delta, found["acc"].p, [round(end, 2) for end in found["acc"].ci]
    (0.25, 0.001, [0.13, 0.33])
    """
    times = check_whole_number("degradation", "times", times, least=1)
    id_tables, ood_tables = (_tables("degradation", name, rows, 2) for name, rows in (("id", id), ("ood", ood)))
    random = np.random.default_rng(seed)
    observed = _falls(id_tables.sum(axis=0), ood_tables.sum(axis=0))
    units = _units("degradation", id_tables, ood_tables, strata, clusters)
    totals = np.split(bootstrap_totals(units.rows, times, random, units.strata), 2, axis=1)
    draws = _falls(*totals)
    null = _falls(*_shuffled(units, times, random))
    ends = _ends((id_tables, ood_tables), totals, units.indices)
    return {name: _tested(float(observed[name]), draws[name], null[name], ends.get(name)) for name in MEASURES}


def degradation_band(intervals: Iterable[tuple[float, float]]) -> Interval:
    """Return the band of several models' degradations: from the lowest lower to the highest upper end.

    Limits: a band of intervals has no level of its own, and can only grow with more models.

    Args:
        intervals: The models' intervals of one measure's fall; those that are NaN are left out.

    Returns:
        Interval in the fall's unit; NaN where none is left.

    Raises:
        ValueError: If something else than pairs of ends came, or a lower end is above its upper one.

    Source: arXiv 2602.18094, Eqs. (19) and (20).

    >>> degradation_band([(0.1, 0.3), (0.2, 0.5), (float("nan"), float("nan"))])
    Interval(low=0.1, high=0.5)
    """
    ends = np.array(list(intervals), dtype=np.float64)
    ends = ends.reshape(0, 2) if ends.size == 0 else ends
    require(ends.ndim == 2 and ends.shape[1] == 2, "degradation_band", "intervals", "pairs of ends", ends)
    ends = ends[~np.isnan(ends).any(axis=1)]
    require(
        bool((ends[:, 0] <= ends[:, 1]).all()), "degradation_band", "intervals", "lower ends before upper ones", ends
    )
    return Interval(float(ends[:, 0].min()), float(ends[:, 1].max())) if len(ends) else _NONE


def is_equivalent(interval: tuple[float, float], eta: float) -> bool:
    """Return whether a 90 % interval of a difference lies strictly inside (-eta, eta): two one-sided tests at 5 %.

    Args:
        interval: Lower and upper end of the difference.
        eta: The largest difference that does not matter.

    Returns:
        The decision; False where an end or `eta` is NaN or where `eta` is 0 or less.

    Raises:
        ValueError: If there are not two ends.

    Source: D. J. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680; arXiv 2602.18094,
    Eq. (26).

    >>> is_equivalent((0.0467, 0.0609), 0.0704), is_equivalent((0.0467, 0.0704), 0.0704)
    (True, False)
    """
    require(len(interval) == 2, "is_equivalent", "interval", "two ends", interval)
    return bool(-eta < interval[0] and interval[1] < eta)


def tost(
    id: ArrayLike,  # noqa: A002
    ood: ArrayLike,
    times: int = 2000,
    seed: int = 0,
    strata: Strata | None = None,
    clusters: Strata | None = None,
) -> dict[str, Equivalence]:
    """Test whether a model degrades from the ID to the OOD set as reference models do on average.

    Every resample draws the same clusters of pairs, such as images, for all models and both sets. The margin eta is the
    reference models' natural fluctuation: the standard deviation of their draws, all models' pooled, which has in it
    how the models differ and what resampling adds. With one reference model it is that model's resampling error alone,
    and the difference is hardly ever
    equivalent: take two or more.
    Limits: eta is estimated and then taken for given, so that the size of 5 % holds for a given eta only; reference
    models that differ much make everything equivalent.

    Args:
        id: (models, m, 4), each model's tables as for `degradation`; the first model is the one in question, the
            others, at least one, are the reference.
        ood: (models, n, 4), the same of the other set, with the same pairs in the same order for every model.
        times: At least 1.
        seed: A whole number or a numpy Generator.
        strata: As for `degradation`.
        clusters: As for `degradation`.

    Returns:
        For each of MEASURES: delta = the model's fall - the mean of the others'; its 90 % percentile interval; eta
        (divided by the number of draws); whether that interval is inside (-eta, eta), ends excluded; the draws of
        delta. NaN and not equivalent where a set has no answer.

    Raises:
        ValueError: If the models or tables do not fit or `times` is less than 1.

    Source: arXiv 2602.18094, Eqs. (23) to (26), eta = sigma of the open models; with two of those there.

    >>> good, fair, poor = ([[1, 0, 0, 1]] * (60 - k) + [[0, 0, 1, 1]] * k for k in (0, 25, 40))
    >>> found = tost([good, good, good], [fair, good, poor], times=500)["acc"]
    >>> round(found.delta, 3), found.eta > 0.15, found.equivalent
    (0.042, True, True)
    """
    times = check_whole_number("tost", "times", times, least=1)
    id_tables, ood_tables = (_tables("tost", name, rows, 3) for name, rows in (("id", id), ("ood", ood)))
    models = len(id_tables)
    require(models > 1, "tost", "id", "of two models or more, the others being the reference", id_tables)
    require(len(ood_tables) == models, "tost", "ood", f"of {models} models, as id", ood_tables)
    random = np.random.default_rng(seed)
    observed = _falls(id_tables.sum(axis=1), ood_tables.sum(axis=1))
    units = _units("tost", _side_by_side(id_tables), _side_by_side(ood_tables), strata, clusters)
    totals = bootstrap_totals(units.rows, times, random, units.strata).reshape(times, 2, models, _CELLS)
    draws = _falls(totals[:, 0], totals[:, 1])
    return {name: _compared(observed[name], draws[name]) for name in MEASURES}


def _tables(function: str, parameter: str, rows: ArrayLike, ndim: int) -> NDArray[np.int64]:
    table = np.asarray(rows)
    if table.size == 0 and table.ndim < ndim:  # no pair at all, as a plain list
        table = np.zeros((*table.shape[: ndim - 2], 0, 4), np.int64)
    table = check_integers(function, parameter, table, ndim=ndim, least=0)
    wanted = f"of shape ({'models, ' * (ndim == 3)}pairs, 4)"
    require(table.shape[-1] == 4, function, parameter, wanted, table)
    return table


def _falls(id_totals: NDArray[np.int64], ood_totals: NDArray[np.int64]) -> dict[str, Floats]:
    first, second = confusion_measures(id_totals), confusion_measures(ood_totals)
    return {name: first[name] - second[name] for name in MEASURES}


class _Units(NamedTuple):
    """The units that are drawn: their counts in the first set and, beside them, in the second, and their strata.

    `indices` are the units of the rows of either set.
    """

    rows: Counts
    strata: Counts
    indices: tuple[Counts, Counts]


def _units(
    function: str, first_rows: Counts, second_rows: Counts, strata: Strata | None, clusters: Strata | None
) -> _Units:
    """Combine the rows of both sets by stratum and cluster."""
    sizes = len(first_rows), len(second_rows)
    apart = np.split(np.arange(sum(sizes)), [sizes[0]])
    of = [_sides(function, "strata", strata, sizes), _sides(function, "clusters", clusters or (*apart,), sizes)]
    names, indices = np.unique(np.stack([np.concatenate(sides) for sides in of], axis=1), axis=0, return_inverse=True)
    first, second = np.split(indices.ravel(), [sizes[0]])
    sums = [
        cluster_sums(rows, index, len(names))
        for rows, index in zip((first_rows, second_rows), (first, second), strict=True)
    ]
    return _Units(np.concatenate(sums, axis=1), names[:, 0], (first, second))


def _sides(function: str, parameter: str, values: Strata | None, sizes: tuple[int, int]) -> list[Counts]:
    sides = [np.zeros(size, np.int64) for size in sizes] if values is None else values
    arrays = [check_integers(function, parameter, side, ndim=1, least=0) for side in sides]
    for side, size in zip(arrays, sizes, strict=True):
        check_length(function, parameter, side, size)
    return arrays


def _shuffled(units: _Units, times: int, random: np.random.Generator) -> list[Counts]:
    """Return the totals (times, 4) of both sets after permutations of the units."""
    inside = np.zeros((2, len(units.rows)), np.bool_)
    for side, index in zip(inside, units.indices, strict=True):
        side[index] = True
    (only_first, only_second), both = inside & ~inside.all(axis=0), inside.all(axis=0)
    first, second = np.split(units.rows, 2, axis=1)
    moved = permutation_totals(
        first[only_first], second[only_second], times, random, (units.strata[only_first], units.strata[only_second])
    )
    turned = exchange_totals(first[both], second[both], times, random)
    return [only_first + only_second for only_first, only_second in zip(moved, turned, strict=True)]


def _ends(
    sides: tuple[Counts, Counts], totals: Iterable[Counts], indices: tuple[Counts, Counts]
) -> Mapping[str, Interval]:
    """Return the MOVER interval of the degradation for each measure whose resamples agree in one of the sets."""
    drawn = [confusion_measures(total) for total in totals]
    point = [name for name in MEASURES if any(is_constant(draws[name]) for draws in drawn)]
    if not point:
        return {}
    values = [confusion_measures(rows.sum(axis=0)) for rows in sides]
    intervals = [
        measure_intervals(rows, draws, clusters=index) for rows, draws, index in zip(sides, drawn, indices, strict=True)
    ]
    return {name: _mover([float(side[name]) for side in values], [side[name] for side in intervals]) for name in point}


def _mover(values: list[float], intervals: list[Interval]) -> Interval:
    """Return the interval of the first value minus the second."""
    (first_value, second_value), (first, second) = values, intervals
    low, high = (
        hypot(first_value - first.low, second.high - second_value),
        hypot(first.high - first_value, second_value - second.low),
    )
    return Interval(first_value - second_value - low, first_value - second_value + high)


def _tested(delta: float, draws: Floats, null: Floats, ends: Interval | None) -> Degradation:
    if np.isnan(delta):
        return Degradation(delta, _NONE, delta, _NONE, draws, null)
    times = len(null)
    as_much = times - int((null < delta - _TIE).sum())
    p_ci = clopper_pearson(as_much, times)
    return Degradation(
        delta, percentile_interval(draws) if ends is None else ends, (1 + as_much) / (times + 1), p_ci, draws, null
    )


def _side_by_side(rows: Counts) -> Counts:
    """Reshape tables (models, pairs, 4) to rows (pairs, models * 4), so that a pair is drawn for all models at once."""
    models, pairs, cells = rows.shape
    return rows.transpose(1, 0, 2).reshape(pairs, models * cells)


def _compared(observed: Floats, draws: Floats) -> Equivalence:
    """Return the equivalence result of degradations (models,) and their bootstrap samples (times, models)."""
    apart = draws[:, 0] - draws[:, 1:].mean(axis=1)
    pooled = draws[:, 1:][~np.isnan(draws[:, 1:])]
    eta = float(pooled.std()) if pooled.size else float("nan")
    delta = float(observed[0] - observed[1:].mean())
    ci = _NONE if np.isnan(delta) else percentile_interval(apart, 0.9)
    return Equivalence(delta, ci, eta, is_equivalent(ci, eta), apart)
