"""How much worse a model is on one set than on another, whether that is chance, and whether models fall alike."""

from collections.abc import Iterable, Sequence
from math import hypot
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics._checks import demand, integers, whole
from eyechart.metrics.alike import measure_intervals
from eyechart.metrics.intervals import Interval, clopper_pearson
from eyechart.metrics.resampling import Strata, percentile, permuted, resampled
from eyechart.metrics.yes_no import MEASURES, measures

Floats = NDArray[np.float64]
_NONE = Interval(float("nan"), float("nan"))
_TIE = 1e-12  # apart by rounding alone


class Degradation(NamedTuple):
    """A measure's fall from one set to another: its interval, its p-value with that one's, and all draws (times,)."""

    delta: float
    ci: Interval
    p: float
    p_ci: Interval
    draws: Floats
    null: Floats


class Equivalence(NamedTuple):
    """How far a model's fall is from the reference models' mean fall, with its 90 % interval and draws (times,)."""

    delta: float
    ci: Interval
    eta: float
    equivalent: bool
    draws: Floats


def degradation(
    id: ArrayLike,  # noqa: A002
    ood: ArrayLike,
    times: int = 2000,
    seed: int = 0,
    strata: Strata | None = None,
) -> dict[str, Degradation]:
    """How much each measure falls from the ID set to the OOD set, and how often chance alone makes it fall as much.

    Pairs are resampled, and shuffled between the sets, with all their questions. A permutation in which a set has no
    answer counts as one that falls as much, and falls that differ by rounding alone are equal.
    Limits: pairs are taken for independent, although some share an image. The interval's level is approximate: at 0.95,
    simulated coverage is 0.93 to 0.97 from 100 pairs a set on, and as low as 0.75 with 30 pairs nearly all of which are
    right. Where all pairs of a set are alike (every answer right, say), its resamples cannot differ, and the interval
    is put together of the two sets' own (`alike.measure_intervals`) as MOVER does. The p-value is exact, or too large,
    where the pairs of both sets are exchangeable; where the sets differ otherwise (in how many answers are missing,
    say) but not in the measure, it is approximate.

    Args: `id` (m, 4) and `ood` (n, 4), each pair's true positives, false positives, false negatives and true negatives,
    as `yes_no.tables` gives them; `times` at least 1, of the resamples and of the permutations; `seed`; `strata`, (m,)
    and (n,), the stratum of each pair, such as its data set, within which pairs are resampled and shuffled.
    Returns: for each of MEASURES: delta = ID - OOD; its 95 % interval, the percentile one; the one-sided p-value
    (1 + #{null >= delta}) / (times + 1) with the 95 % Clopper-Pearson interval of what more permutations would make of
    it; the resamples' draws and the permutations' null. All NaN where a set has no answer.
    Raises: ValueError where a table is no table of counts or `times` is less than 1.
    Source: arXiv 2602.18094, Eqs. (17), (18), (21) and (22), B = 2000; MOVER is G. Y. Zou and A. Donner, Statistics in
    Medicine 27 (2008) 1693-1702.

    >>> found = degradation([[1, 0, 0, 1]] * 40, [[1, 0, 0, 1]] * 20 + [[0, 0, 1, 1]] * 20, times=999)
    >>> found["acc"].delta, found["acc"].p, [round(end, 2) for end in found["acc"].ci]
    (0.25, 0.001, [0.13, 0.32])
    """
    times = whole("degradation", "times", times, least=1)
    one, other = (_tables("degradation", name, rows, 2) for name, rows in (("id", id), ("ood", ood)))
    random = np.random.default_rng(seed)
    observed = _falls(one.sum(axis=0), other.sum(axis=0))
    inside = strata or (None, None)
    totals = [resampled(rows, times, random, side) for rows, side in zip((one, other), inside, strict=True)]
    draws = _falls(*totals)
    null = _falls(*permuted(one, other, times, random, strata))
    ends = _ends([one, other], totals) if any(map(_alike, (one, other))) else {}
    return {name: _tested(float(observed[name]), draws[name], null[name], ends.get(name)) for name in MEASURES}


def signature(intervals: Iterable[tuple[float, float]]) -> Interval:
    """The band of the falls of several models: from their lowest lower to their highest upper end.

    Limits: a band of intervals has no level of its own, and can only grow with more models.

    Args: `intervals`, the models' intervals of one measure's fall; those that are NaN are left out.
    Returns: Interval in the fall's unit; NaN where none is left.
    Raises: ValueError where something else than pairs of ends came, or a lower end is above its upper one.
    Source: arXiv 2602.18094, Eqs. (19) and (20).

    >>> signature([(0.1, 0.3), (0.2, 0.5), (float("nan"), float("nan"))])
    Interval(low=0.1, high=0.5)
    """
    ends = np.array(list(intervals), dtype=np.float64)
    ends = ends.reshape(-1, 2) if ends.size == 0 else ends
    demand(ends.ndim == 2 and ends.shape[1] == 2, "signature", "intervals", "pairs of ends", ends)
    ends = ends[~np.isnan(ends).any(axis=1)]
    demand(bool((ends[:, 0] <= ends[:, 1]).all()), "signature", "intervals", "lower ends before upper ones", ends)
    return Interval(float(ends[:, 0].min()), float(ends[:, 1].max())) if len(ends) else _NONE


def equivalent(interval: tuple[float, float], eta: float) -> bool:
    """Whether a 90 % interval of a difference lies strictly inside (-eta, eta): two one-sided tests at 5 %.

    Args: `interval`, lower and upper end of the difference; `eta`, the largest difference that does not matter.
    Returns: the decision; False where an end or `eta` is NaN or where `eta` is 0 or less.
    Raises: ValueError where there are not two ends.
    Source: D. J. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680; arXiv 2602.18094,
    Eq. (26).

    >>> equivalent((0.0467, 0.0609), 0.0704), equivalent((0.0467, 0.0704), 0.0704)
    (True, False)
    """
    demand(len(interval) == 2, "equivalent", "interval", "two ends", interval)
    return bool(-eta < interval[0] and interval[1] < eta)


def tost(
    id: ArrayLike,  # noqa: A002
    ood: ArrayLike,
    times: int = 2000,
    seed: int = 0,
    strata: Strata | None = None,
) -> dict[str, Equivalence]:
    """Whether a model falls from the ID set to the OOD set as reference models do on average.

    Every resample draws the same pairs for all models. The margin eta is the reference models' natural fluctuation: the
    standard deviation of their draws, all models' pooled, which has in it how the models differ and what resampling
    adds. With one reference model it is that model's resampling error alone, and the difference is hardly ever
    equivalent: take two or more.
    Limits: eta is estimated and then taken for given, so that the size of 5 % holds for a given eta only; reference
    models that differ much make everything equivalent.

    Args: `id` (models, m, 4) and `ood` (models, n, 4), each model's tables as for `degradation`, of the same pairs in
    the same order; the first model is the one in question, the others, at least one, are the reference; `times` at
    least 1; `seed`; `strata` as for `degradation`.
    Returns: for each of MEASURES: delta = the model's fall - the mean of the others'; its 90 % percentile interval; eta
    (divided by the number of draws); whether that interval is inside (-eta, eta), ends excluded; the draws of delta.
    NaN and not equivalent where a set has no answer.
    Raises: ValueError where the models or tables do not fit or `times` is less than 1.
    Source: arXiv 2602.18094, Eqs. (23) to (26), eta = sigma of the open models; with two of those there.

    >>> good, fair, poor = ([[1, 0, 0, 1]] * (60 - k) + [[0, 0, 1, 1]] * k for k in (0, 25, 40))
    >>> found = tost([good, good, good], [fair, good, poor], times=500)["acc"]
    >>> round(found.delta, 3), found.eta > 0.15, found.equivalent
    (0.042, True, True)
    """
    times = whole("tost", "times", times, least=1)
    one, other = (_tables("tost", name, rows, 3) for name, rows in (("id", id), ("ood", ood)))
    models = len(one)
    demand(models > 1, "tost", "id", "of two models or more, the others being the reference", one)
    demand(len(other) == models, "tost", "ood", f"of {models} models, as id", other)
    random = np.random.default_rng(seed)
    observed = _falls(one.sum(axis=1), other.sum(axis=1))
    sides = zip((one, other), strata or (None, None), strict=True)
    draws = _falls(*(_together(rows, times, random, side) for rows, side in sides))
    return {name: _compared(observed[name], draws[name]) for name in MEASURES}


def _tables(function: str, parameter: str, rows: ArrayLike, ndim: int) -> NDArray[np.int64]:
    table = np.asarray(rows)
    if table.size == 0 and table.ndim < ndim:  # no pair at all, as a plain list
        table = np.zeros((*table.shape[: ndim - 2], 0, 4), np.int64)
    table = integers(function, parameter, table, ndim=ndim, least=0)
    wanted = f"of shape ({'models, ' * (ndim == 3)}pairs, 4)"
    demand(table.shape[-1] == 4, function, parameter, wanted, table)
    return table


def _falls(one: NDArray[np.int64], other: NDArray[np.int64]) -> dict[str, Floats]:
    first, second = measures(one), measures(other)
    return {name: first[name] - second[name] for name in MEASURES}


def _alike(rows: NDArray[np.int64]) -> bool:
    """Whether all pairs that have an answer were answered in one way."""
    answered = rows[rows.sum(axis=1) > 0]
    return len(answered) > 0 and not (answered != answered[0]).any()


def _ends(sides: Sequence[NDArray[np.int64]], totals: Sequence[NDArray[np.int64]]) -> dict[str, Interval]:
    """The fall's interval from those of both sides."""
    values = [measures(rows.sum(axis=0)) for rows in sides]
    found = [measure_intervals(rows, measures(drawn)) for rows, drawn in zip(sides, totals, strict=True)]
    return {name: _mover([float(each[name]) for each in values], [each[name] for each in found]) for name in MEASURES}


def _mover(values: Sequence[float], found: Sequence[Interval]) -> Interval:
    """The interval of the first value less the second."""
    (one, other), (first, second) = values, found
    low, high = hypot(one - first.low, second.high - other), hypot(first.high - one, other - second.low)
    return Interval(one - other - low, one - other + high)


def _tested(delta: float, draws: Floats, null: Floats, ends: Interval | None) -> Degradation:
    if np.isnan(delta):
        return Degradation(delta, _NONE, delta, _NONE, draws, null)
    times = len(null)
    as_much = times - int((null < delta - _TIE).sum())
    p_ci = clopper_pearson(as_much, times)
    return Degradation(
        delta, percentile(draws) if ends is None else ends, (1 + as_much) / (times + 1), p_ci, draws, null
    )


def _together(
    rows: NDArray[np.int64], times: int, random: np.random.Generator, strata: ArrayLike | None
) -> NDArray[np.int64]:
    """Totals (times, models, 4) of the same pairs for all models."""
    models, pairs, cells = rows.shape
    wide = rows.transpose(1, 0, 2).reshape(pairs, models * cells)
    return resampled(wide, times, random, strata).reshape(times, models, cells)


def _compared(observed: Floats, draws: Floats) -> Equivalence:
    """Of falls (models,) and their draws (times, models)."""
    apart = draws[:, 0] - draws[:, 1:].mean(axis=1)
    pooled = draws[:, 1:][~np.isnan(draws[:, 1:])]
    eta = float(pooled.std()) if pooled.size else float("nan")
    delta = float(observed[0] - observed[1:].mean())
    ci = _NONE if np.isnan(delta) else percentile(apart, 0.9)
    return Equivalence(delta, ci, eta, equivalent(ci, eta), apart)
