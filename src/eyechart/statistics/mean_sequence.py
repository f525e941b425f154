"""A confidence sequence: intervals of a mean that may be looked at after every label, and stopped by what they show."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_fractions, check_length, check_whole_number, require

Floats = NDArray[np.float64]
WEIGHT = 0.9  # of the published outcome, set before any label is known
_GRID = 1001  # means that are tested
_LARGEST_BET = 0.75  # as a share of the bet that may lose everything
_FIRST_VARIANCE, _LEAST_VARIANCE = 0.05, 1e-4
_PRIOR = 4  # labels that the first variance counts as


def mean_sequence(
    outcomes: ArrayLike,
    proxies: ArrayLike,
    size: int,
    proxy_mean: float,
    horizon: int,
    level: float = 0.95,
    weight: float = WEIGHT,
) -> Floats:
    """Return an interval of the mean of `size` images after each label; with the probability `level` all of them hold.

    The images were drawn uniformly, without replacement and in this order. For each possible mean, two players bet
    that the next outcome is higher or lower than is expected under it, given the labels so far. What the proxy of an
    image differs from the mean of those that remain is subtracted at a fixed weight. A mean is excluded when a player
    has made 2 / (1 - level) times the stake; a fair game seldom allows that.

    Limits: about twice as many labels as an interval of a number that was set before, for the same width.

    Args:
        outcomes: (n,) in [0, 1], in the order of the draw.
        proxies: (n,) in [0, 1], of the same images.
        size: The number of images from which they were drawn, at least n.
        proxy_mean: The mean proxy of all these images.
        horizon: The number of labels at which the intervals are shortest.
        level: In (0, 1).
        weight: λ, in [0, 1], set before the labels.

    Returns:
        (n, 2) the ends of the interval after each label; none is wider than one before it.

    Raises:
        ValueError: If the lengths differ or a number is out of range.

    Source: I. Waudby-Smith and A. Ramdas, Advances in Neural Information Processing Systems 33 (2020), sampling
    without replacement, and Journal of the Royal Statistical Society B 86 (2024) 1-27, bets that are hedged; the
    published outcome as in A. N. Angelopoulos, J. C. Duchi and T. Zrnic, arXiv 2311.01453.

    >>> low, high = mean_sequence([1, 1, 1, 0] * 40, [1, 1, 1, 0] * 40, 1000, 0.8, 160)[-1]
    >>> round(float(low), 2), round(float(high), 2)
    (0.77, 0.82)
    """
    function = "mean_sequence"
    y = check_fractions(function, "outcomes", outcomes, ndim=1)
    f = check_fractions(function, "proxies", proxies, ndim=1)
    check_length(function, "proxies", f, len(y))
    require(not np.isnan(y).any(), function, "outcomes", "without NaN", y)
    require(not np.isnan(f).any(), function, "proxies", "without NaN", f)
    size = check_whole_number(function, "size", size, least=len(y))
    horizon = check_whole_number(function, "horizon", horizon, least=1)
    require(0 <= proxy_mean <= 1, function, "proxy_mean", "in [0, 1]", proxy_mean)
    require(0 < level < 1, function, "level", "between 0 and 1", level)
    require(0 <= weight <= 1, function, "weight", "in [0, 1]", weight)

    means = np.linspace(0, 1, _GRID)
    limit = np.log(2 / (1 - level))
    higher, lower, excluded = np.zeros(_GRID), np.zeros(_GRID), np.zeros(_GRID, np.bool_)
    result = np.empty((len(y), 2))
    total, proxy_total, mean, variance = size * means, size * proxy_mean, 0.0, _FIRST_VARIANCE
    low, high = 0.0, 1.0
    for index, (outcome, proxy) in enumerate(zip(y, f, strict=True)):
        expected = total / (size - index)  # of the next outcome, under each mean
        excluded |= (expected < -1e-9) | (expected > 1 + 1e-9)
        expected = np.clip(expected, 0, 1)
        expected_proxy = proxy_total / (size - index)
        gain = (outcome - expected) - weight * (proxy - expected_proxy)
        bet = np.sqrt(2 * limit / (variance * horizon))
        most_lost = np.maximum(expected + weight * (1 - expected_proxy), 1e-9)
        higher += np.log1p(np.minimum(bet, _LARGEST_BET / most_lost) * gain)
        most_lost = np.maximum(1 - expected + weight * expected_proxy, 1e-9)
        lower += np.log1p(-np.minimum(bet, _LARGEST_BET / most_lost) * gain)
        excluded |= np.maximum(higher, lower) >= limit
        total, proxy_total = total - outcome, proxy_total - proxy
        if not excluded.all():  # a mean between two of the grid may hold where both are excluded
            inside = np.flatnonzero(~excluded)
            low, high = means[max(inside[0] - 1, 0)], means[min(inside[-1] + 1, _GRID - 1)]
        result[index] = low, high
        residual = outcome - weight * proxy
        deviation = residual - mean if index else 0.0
        mean += (residual - mean) / (index + 1)
        variance = max(variance + (deviation * (residual - mean) - variance) / (index + 1 + _PRIOR), _LEAST_VARIANCE)
    return result
