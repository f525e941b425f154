"""Whether a change between two runs over the same samples is more than chance, over all the metrics of a session.

Before and after are exchangeable where nothing changed, so that every p-value here is two-sided: exchanging the runs
turns the change and its interval around and keeps p.
"""

from collections.abc import Callable
from math import ceil, hypot, isnan, log2, nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, ndtr, ndtri, stdtr

from eyechart.statistics._checks import (
    check_fractions,
    check_integers,
    check_length,
    check_outcomes,
    check_whole_number,
    require,
)
from eyechart.statistics.degenerate_intervals import ROUNDING, max_unseen_share
from eyechart.statistics.intervals import Interval
from eyechart.statistics.resampling import percentile_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_FAR = 10  # standard deviations of a count beyond which nothing is left to add up


class McNemar(NamedTuple):
    """Numbers of samples that became wrong, that became correct and that were scored in both runs, and the p-value."""

    lost: int
    gained: int
    n: int
    p: float


class Change(NamedTuple):
    """After minus before, its interval in the same unit, and the p-value."""

    delta: float
    ci: Interval
    p: float


_NONE = Interval(nan, nan)


def mcnemar(before: ArrayLike, after: ArrayLike) -> McNemar:
    """Test the change of a share with McNemar's exact test: whether half of the changed samples were lost.

    Limits: p takes few values where few samples changed, and none below 2^(1 - lost - gained), so that where nothing is
    different p ≤ alpha comes up less often than in a share alpha of runs, never more.

    Args:
        before: (n,) of 1, 0 and NaN, the same samples in one order; those count that have both.
        after: (n,) of 1, 0 and NaN, the same samples in one order; those count that have both.

    Returns:
        McNemar(lost, gained, n, p), counts and the two-sided p-value; p is 1 where no outcome changed and NaN where no
        sample counts.

    Raises:
        ValueError: If the lengths differ or an outcome is something else.

    Source: Q. McNemar, Psychometrika 12 (1947) 153-157, with the binomial distribution instead of its approximation.

    >>> mcnemar([1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1, 0, 1])
    McNemar(lost=5, gained=1, n=8, p=0.21875)
    """
    first, second = (check_outcomes("mcnemar", name, v, ndim=1) for name, v in (("before", before), ("after", after)))
    check_length("mcnemar", "after", second, len(first))
    moved = (second - first)[~np.isnan(second - first)]
    lost, gained = int((moved < 0).sum()), int((moved > 0).sum())
    return McNemar(lost, gained, moved.size, float(_two_sided(lost, gained)) if moved.size else nan)


def mcnemar_p(lost: ArrayLike, gained: ArrayLike) -> Floats:
    """Return the p-values of `mcnemar` from the numbers of changed samples.

    Args:
        lost: (m,) whole numbers of at least 0.
        gained: (m,) whole numbers of at least 0.

    Returns:
        (m,) two-sided p-values, 1 where nothing changed; 0 where they are below the smallest float.

    Raises:
        ValueError: If the lengths differ or a value is no whole number of at least 0.

    Source: as `mcnemar`.

    >>> mcnemar_p([5, 0, 7], [1, 0, 7]).tolist()
    [0.21875, 1.0, 1.0]
    """
    down, up = (
        check_integers("mcnemar_p", name, v, ndim=1, least=0) for name, v in (("lost", lost), ("gained", gained))
    )
    require(len(up) == len(down), "mcnemar_p", "gained", f"of length {len(down)}, as lost", up)
    return _two_sided(down, up)


def bootstrap_change(
    before: float,
    after: float,
    draws_before: ArrayLike,
    draws_after: ArrayLike,
    n: int | None = None,
    level: float = 0.95,
) -> Change:
    """Return the change of any metric from bootstrap resamples that are paired between both runs.

    The resamples' changes have a standard error. If nothing is different the changes of single samples have mean 0, so
    that what the observed change itself adds to their variance, its square over n, belongs to it: this keeps the test
    from rejecting too often where few samples, or all of them, changed.
    Limits: the number is taken to be nearly normal, and strata to be large; the standard error is estimated from that
    many draws, which Student's distribution allows for. Without n, few units reject too often: 12 normal ones, in
    simulation, at alpha 0.01 in 3 of 100 runs without a change, but in less than 1 with n. Where fewer than about 10
    units changed, all in one direction, p can be half of that of the sign test (7 of 54 units: 0.008, not 0.016); over
    all runs without a change, simulated with 2 to 13 % of 54 to 2,000 units changed, the level holds.

    Args:
        before: The number over all samples, NaN where it has none.
        after: The number over all samples, NaN where it has none.
        draws_before: (times,), the number in each resample, in one order, a pair with NaN is left out.
        draws_after: (times,), the number in each resample, in one order, a pair with NaN is left out.
        n: How many units were drawn from (images, or clusters of questions), None if unknown.
        level: In (0, 1).

    Returns:
        Change: delta and ci in the number's unit, ci the percentile interval of the draws' change, and around delta; p
        two-sided. With fewer than two draws there is no ci. If no draw differs, ci is a rule-of-three bound: the
        largest share of units that could change although none was seen (`max_unseen_share`), by 1 in either direction.
        p is then 1 where delta is 0, else twice the chance (1 + |delta|)^-n to see none of the units that would have
        made up for delta, which is the sign test where all changed by 1; without n there is no ci, and p is 1. All are
        NaN where before or after is NaN, p also where delta is not 0 and there are fewer than two draws.

    Raises:
        ValueError: If the draws are no vectors of one length, a value is infinite, n is no whole number of at least 0
            or the level is no level.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26, over pairs; the variance under no change is from B. Efron,
    Journal of the American Statistical Association 64 (1969) 1278-1302, which is conservative for changes that are
    symmetric around 0.

    >>> delta, ci, p = bootstrap_change(0.5, 0.25, [0.25, 0.5, 0.5, 0.75], [0.25, 0.0, 0.5, 0.25])
    >>> delta, [round(end, 2) for end in ci], round(p, 3)
    (-0.25, [-0.5, 0.0], 0.45)
    >>> bootstrap_change(1.0, 0.0, [1.0, 1.0], [0.0, 0.0], n=10).p == 2 * 0.5**10  # every sample lost
    True
    """
    require(0 < level < 1, "bootstrap_change", "level", "between 0 and 1", level)
    units = None if n is None else check_whole_number("bootstrap_change", "n", n)
    delta = _delta("bootstrap_change", before, after)
    draws = _differences(draws_before, draws_after)
    if isnan(delta) or len(draws) < 2:
        return Change(delta, _NONE, 1.0 if abs(delta) <= ROUNDING else nan)
    if np.ptp(draws) <= ROUNDING:
        return Change(delta, *_unseen_change(delta, units, level))
    low, high = percentile_interval(draws, level)
    error = hypot(draws.std(ddof=1), delta / sqrt(units) if units else 0.0)
    p = 1.0 if abs(delta) <= ROUNDING else float(2 * stdtr(len(draws) - 1, -abs(delta) / error))
    return Change(delta, Interval(min(low, delta), max(high, delta)), p)


def interval_change(
    before: float, before_ci: tuple[float, float], after: float, after_ci: tuple[float, float], level: float = 0.95
) -> Change:
    """Return the change of any metric from two values and their intervals.

    Limits: the runs are taken to be independent, which over the same samples finds less than pairs would; p stretches
    the interval until it reaches 0, as if it were normal on that side.

    Args:
        before: The value before, NaN if there is none.
        before_ci: Its interval (low, high); one that does not reach its number is taken to end there.
        after: The value after, NaN if there is none.
        after_ci: Its interval, as `before_ci`.
        level: The level of both intervals, in (0, 1).

    Returns:
        Change: delta and ci in the numbers' unit, p two-sided; ci and p NaN where a number or an end is NaN, and p also
        where both intervals are points that differ, which do not say how sure they are; p is 1 where delta is 0.

    Raises:
        ValueError: If an interval's ends are the wrong way round, a value is infinite or the level is no level.

    Source: G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008) 1693-1702, the variance recovered from limits.

    >>> delta, ci, p = interval_change(0.75, (0.72, 0.78), 0.65, (0.61, 0.69))
    >>> round(delta, 3), [round(end, 3) for end in ci], round(p, 3)
    (-0.1, [-0.15, -0.05], 0.0)
    """
    require(0 < level < 1, "interval_change", "level", "between 0 and 1", level)
    delta = _delta("interval_change", before, after)
    for name, (low, high) in (("before_ci", before_ci), ("after_ci", after_ci)):
        require(not low > high and not np.isinf([low, high]).any(), "interval_change", name, "low, high", (low, high))
    known = not isnan(sum((delta, *before_ci, *after_ci)))
    ci = _recovered(before, after, before_ci, after_ci) if known else _NONE
    if abs(delta) <= ROUNDING:
        return Change(delta, ci, 1.0)
    reach = (ci.high - delta if delta < 0 else delta - ci.low) / float(ndtri((1 + level) / 2))
    return Change(delta, ci, float(2 * ndtr(-abs(delta) / reach)) if reach else nan)


def holm(p: ArrayLike) -> Floats:
    """Return Holm-adjusted p-values, which can all be compared with alpha at once.

    Whatever the tests have to do with one another, the chance that any of those without an effect is at most alpha is
    then at most alpha. A test more never lowers the adjusted p-value of another.

    Args:
        p: (m,) in [0, 1], NaN where there was no test.

    Returns:
        (m,) adjusted p-values, each at least its p, in the same order of size; NaN stays NaN and does not count.

    Raises:
        ValueError: If p is not a vector or a value is out of range.

    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979) 65-70.

    >>> holm([0.01, 0.04, float("nan"), 0.03]).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    values = check_fractions("holm", "p", p, ndim=1)
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    raised = values[order] * np.arange(len(order), 0, -1)
    adjusted = np.full(len(values), nan)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(raised))
    return adjusted


def minimum_detectable_loss(n: int, discordance: float, alpha: float, power: float = 0.8) -> float:
    """Return the smallest true loss of a share that `mcnemar` detects with the given power.

    A loss is found where p ≤ alpha and more samples were lost than gained. In a session of m tests alpha / m is what
    Holm's correction asks of each in the worst case.

    Args:
        n: Samples.
        discordance: In [0, 1], the share whose outcome changes either way. A loss is a part of it, so that a greater
            loss makes a greater discordance.
        alpha: In (0, 1).
        power: Above alpha and below 1, the chance to find the loss.

    Returns:
        The loss, a fraction of the samples, by the exact power of the exact test; NaN where there are too few samples
        for any p to be as small as alpha.

    Raises:
        ValueError: If an argument is out of range.

    Source: S. W. Duffy, Biometrics 40 (1984) 1005-1015, the test's unconditional power.

    >>> [round(minimum_detectable_loss(n, 0.05, 0.01 / 200), 4) for n in (1000, 50000)]
    [0.0337, 0.0049]
    """
    n = check_whole_number("minimum_detectable_loss", "n", n)
    require(0 <= discordance <= 1, "minimum_detectable_loss", "discordance", "in [0, 1]", discordance)
    require(0 < alpha < 1, "minimum_detectable_loss", "alpha", "between 0 and 1", alpha)
    require(alpha < power < 1, "minimum_detectable_loss", "power", f"above alpha, {alpha}, and below 1", power)
    least = ceil(1 - log2(alpha))  # so many losses, without a gain, have a p of at most alpha
    if least > n:
        return nan
    alone = float(betaincinv(least, n - least + 1, power))
    return alone if alone >= discordance - ROUNDING else _loss(n, discordance, alpha, power)


def loss_power(n: int, discordance: float, loss: float, alpha: float) -> float:
    """Return the probability that `mcnemar` finds a loss: p ≤ alpha, and more samples were lost than gained.

    Args:
        n: Samples.
        discordance: In [0, 1], the share of samples whose outcome changes.
        loss: In [0, discordance], the true loss, a share of all samples.
        alpha: In (0, 1).

    Returns:
        The exact power of the exact test.

    Raises:
        ValueError: If an argument is out of range.

    Source: as `minimum_detectable_loss`, which inverts it.

    >>> round(loss_power(200, 0.1, 0.05, 0.05), 4)
    0.5433
    """
    n = check_whole_number("loss_power", "n", n)
    require(0 <= discordance <= 1, "loss_power", "discordance", "in [0, 1]", discordance)
    require(0 <= loss <= discordance, "loss_power", "loss", f"in [0, {discordance}]", loss)
    require(0 < alpha < 1, "loss_power", "alpha", "between 0 and 1", alpha)
    return _power(n, discordance, alpha)(loss) if n and discordance else 0.0


def _two_sided(lost: ArrayLike, gained: ArrayLike) -> Floats:
    """Return twice the tail of the binomial distribution, as an incomplete beta function, which cannot overflow."""
    fewer, more = np.minimum(lost, gained), np.maximum(np.maximum(lost, gained), 1)
    return np.asarray(np.minimum(1.0, 2 * betainc(more, fewer + 1, 0.5)), dtype=np.float64)


def _delta(function: str, before: float, after: float) -> float:
    for name, value in (("before", before), ("after", after)):
        require(not np.isinf(value), function, name, "finite or NaN", value)
    return float(after) - float(before)


def _differences(before: ArrayLike, after: ArrayLike) -> Floats:
    """Return the bootstrap samples of the change where both runs have a value."""
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    for name, draws in (("draws_before", first), ("draws_after", second)):
        require(draws.ndim == 1, "bootstrap_change", name, "an array of 1 dimension", draws)
        require(not np.isinf(draws).any(), "bootstrap_change", name, "finite or NaN", np.inf)
    require(
        len(second) == len(first), "bootstrap_change", "draws_after", f"of length {len(first)}, as draws_before", second
    )
    change: Floats = second - first
    kept: Floats = change[~np.isnan(change)]
    return kept


def _unseen_change(delta: float, n: int | None, level: float) -> tuple[Interval, float]:
    """Return the interval and p-value for the case that no resample differs."""
    if not n:
        return _NONE, 1.0
    other, size = max_unseen_share(n, level), min(1.0, abs(delta))
    ends = Interval(min(delta, (1 - other) * delta - other), max(delta, (1 - other) * delta + other))
    return ends, 1.0 if size <= ROUNDING else min(1.0, 2 * (1 + size) ** -n)


def _recovered(
    before: float, after: float, before_interval: tuple[float, float], after_interval: tuple[float, float]
) -> Interval:
    delta = float(after - before)
    falls = hypot(max(0.0, after - after_interval[0]), max(0.0, before_interval[1] - before))
    rises = hypot(max(0.0, after_interval[1] - after), max(0.0, before - before_interval[0]))
    return Interval(delta - falls, delta + rises)


def _loss(n: int, discordance: float, alpha: float, power: float) -> float:
    """Return the loss that is detected with the given power, for a given share of changed samples."""
    from scipy.optimize import brentq

    reached = _power(n, discordance, alpha)
    return float(brentq(lambda loss: power - reached(loss), 0.0, discordance, xtol=1e-12))


def _power(n: int, discordance: float, alpha: float) -> Callable[[float], float]:
    """Return the power of the test as a function of the loss, for a given share of changed samples."""
    from scipy.stats import binom  # with it half a second that few runs need

    changed = _changed(n, discordance)
    chances, needed = binom.pmf(changed, n, discordance), _needed(changed, alpha)
    return lambda loss: float(chances @ binom.sf(needed - 1, changed, (1 + loss / discordance) / 2))


def _changed(n: int, discordance: float) -> Ints:
    """Return the numbers of changed samples whose probability is not negligible."""
    mean, far = n * discordance, _FAR * (1 + sqrt(n * discordance * (1 - discordance)))
    return np.arange(max(0, int(mean - far)), min(n, ceil(mean + far)) + 1)


def _needed(changed: Ints, alpha: float) -> Ints:
    """Return the smallest number of losses, among the changed samples, at which p ≤ alpha; changed + 1 if none is."""
    from scipy.stats import binom

    quantile = np.nan_to_num(binom.isf(alpha / 2, changed, 0.5)).astype(np.int64)
    tried = np.maximum(quantile, changed // 2) + np.arange(4)[:, None]  # it may be off where the test's p is alpha
    enough = (_two_sided(tried, np.maximum(0, changed - tried)) <= alpha) & (tried <= changed)
    return np.where(enough.any(axis=0), tried[enough.argmax(axis=0), np.arange(len(changed))], changed + 1)
