"""How much two scorings of the same samples by the same model differ, and which losses that hides."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from eyechart.statistics._checks import check_length, check_outcomes, require
from eyechart.statistics.clusters import clustered_wilson, effective_sample_size
from eyechart.statistics.intervals import Interval
from eyechart.statistics.noninferiority import smallest_margin
from eyechart.statistics.significance import minimum_detectable_loss

_NONE = Interval(float("nan"), float("nan"))
_STEPS = 30  # halvings of [0, 1], more than any table prints


class FlipRate(NamedTuple):
    """The number of samples whose prediction changed, the number of samples, and the interval of the share."""

    changed: int
    n: int
    ci: Interval

    @property
    def rate(self) -> float:
        """The share of samples whose prediction changed, NaN without a sample."""
        return self.changed / self.n if self.n else float("nan")


class NoiseFloor(NamedTuple):
    """The losses that a test cannot decide about because outcomes change without a cause.

    `lost` and `gained` of the `n` samples became wrong and correct, and `discordance` is the interval of their share.
    `detectable` is the smallest loss that is detected, with `detectable_ci` at both ends of `discordance`. `excludable`
    is the smallest loss that is excluded. Losses are fractions.
    """

    lost: int
    gained: int
    n: int
    discordance: Interval
    detectable: float
    detectable_ci: Interval
    excludable: float


def flip_rate(before: ArrayLike, after: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> FlipRate:
    """Return how many predictions changed, with the interval of their share.

    Args:
        before: (n,) predictions of any kind that can be compared, in one order.
        after: (n,) predictions of any kind that can be compared, in one order.
        clusters: (n,) which cluster a sample is in.
        level: In (0, 1).

    Returns:
        FlipRate(changed, n, ci), ci that of `clustered_wilson`.

    Raises:
        ValueError: If the lengths differ or the level is no level.

    Source: E. B. Wilson, Journal of the American Statistical Association 22 (1927) 209-212; for clusters as
    `clustered_wilson`.

    >>> flips = flip_rate(["cat", "dog", "cup", "cup"], ["cat", "dog", "cup", "jug"], [0, 1, 2, 3])
    >>> flips.changed, flips.n, flips.rate, round(flips.ci.low, 3), round(flips.ci.high, 3)
    (1, 4, 0.25, 0.046, 0.699)
    """
    first, second = np.asarray(before), np.asarray(after)
    require(first.ndim == 1, "flip_rate", "before", "a vector", first)
    check_length("flip_rate", "after", second, len(first))
    changed = (first != second).astype(np.float64)
    return FlipRate(int(changed.sum()), len(first), clustered_wilson(changed, clusters, level))


def noise_floor(
    before: ArrayLike, after: ArrayLike, clusters: ArrayLike, alpha: float, power: float = 0.8, level: float = 0.95
) -> NoiseFloor:
    """Return which losses cannot be detected or excluded if as many outcomes change as between two scorings.

    Limits: clustered samples count as their effective number. The changes are taken to be as often losses as gains, and
    to be there beside those of a loss.

    Args:
        before: (n,) of 1, 0 and NaN, the same samples in one order; those count that have both.
        after: (n,) of 1, 0 and NaN, the same samples in one order; those count that have both.
        clusters: (n,) which cluster a sample is in.
        alpha: In (0, 0.5) of the test.
        power: Above alpha and below 1.
        level: In (0, 1), that of the intervals.

    Returns:
        NoiseFloor; its losses are NaN where no sample counts or where there are too few to detect a loss.

    Raises:
        ValueError: If the lengths differ, an outcome is something else or an argument is out of range.

    Source: `detectable_beside_noise`, `smallest_margin` and `clustered_wilson`.

    >>> floor = noise_floor([1] * 190 + [0] * 10, [1] * 188 + [0] * 10 + [1] * 2, range(200), alpha=0.01)
    >>> floor.lost, floor.gained, round(floor.detectable, 3), round(floor.excludable, 3)
    (2, 2, 0.073, 0.047)
    """
    first, second = (
        check_outcomes("noise_floor", name, values, ndim=1) for name, values in (("before", before), ("after", after))
    )
    check_length("noise_floor", "after", second, len(first))
    moved = second - first
    changed = np.abs(moved)
    n, lost, gained = int((~np.isnan(moved)).sum()), int((moved < 0).sum()), int((moved > 0).sum())
    share = clustered_wilson(changed, clusters, level)
    if not n:
        return NoiseFloor(0, 0, 0, share, float("nan"), _NONE, float("nan"))
    size = effective_sample_size(moved, clusters, level)
    rates = (share.low, (lost + gained) / n, share.high)
    low, value, high = (detectable_beside_noise(int(size), rate, alpha, power) for rate in rates)
    excludable = smallest_margin(size, rates[1], alpha, power)
    return NoiseFloor(lost, gained, n, share, value, Interval(low, high), excludable)


def detectable_beside_noise(n: int, noise: float, alpha: float, power: float = 0.8) -> float:
    """Return the smallest loss that `mcnemar` detects if, besides, a share of the outcomes changes either way.

    Args:
        n: Samples.
        noise: In [0, 1], the share of samples that change without a loss, half of them for the worse.
        alpha: In (0, 1).
        power: Above alpha and below 1.

    Returns:
        The loss, a fraction of the samples; NaN where none up to 1 - noise is detected.

    Raises:
        ValueError: If an argument is out of range.

    Source: as `minimum_detectable_loss`, whose discordance is here the sum of noise and loss.

    >>> [round(detectable_beside_noise(1000, noise, 0.01), 4) for noise in (0.0, 0.02, 0.05)]
    [0.0102, 0.0224, 0.0312]
    """
    require(0 <= noise <= 1, "detectable_beside_noise", "noise", "in [0, 1]", noise)

    def missing(loss: float) -> float:
        return minimum_detectable_loss(n, min(1.0, noise + loss), alpha, power) - loss

    if not missing(1 - noise) <= 0:
        return float("nan")
    low, high = 0.0, 1 - noise
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) > 0 else (low, middle)
    return high
