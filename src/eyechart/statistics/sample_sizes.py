"""How many samples a verdict needs, for a test of a fixed number of samples and for one that may stop early."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from eyechart.statistics._checks import check_whole_number, require
from eyechart.statistics.e_values import loss_log_e_value, margin_log_e_value

_ABOVE = 0.01  # share of further samples with which the power must hold as well, since it is a saw of n
_PRECISION = 0.002  # of the number of samples
_MOST = 2**24
_PATHS = 400


def samples_for_power(power: Callable[[int], float], target: float = 0.8) -> int | None:
    """Return the smallest number of samples from which a test keeps its power.

    The power of an exact test is a saw of the number of samples, so that it must hold with one percent more as well.

    Args:
        power: The power of a number of samples, from 0 to 1.
        target: In (0, 1).

    Returns:
        The number, found to 0.2 %; None if 16 million samples do not suffice.

    Raises:
        ValueError: If the target is out of range.

    Source: `loss_power` and `margin_power` have those of the tests.

    >>> from eyechart.statistics.noninferiority import margin_power
    >>> samples_for_power(lambda n: margin_power(n, 0.05, 0.05, 0.05))
    158
    """
    require(0 < target < 1, "samples_for_power", "target", "between 0 and 1", target)
    low, high = 0, 16
    while power(high) < target:
        low, high = high, 2 * high
        if high > _MOST:
            return None
    while high - low > max(1, _PRECISION * high):
        middle = (low + high) // 2
        enough = power(middle) >= target and power(int(middle * (1 + _ABOVE)) + 1) >= target
        low, high = (low, middle) if enough else (middle, high)
    return high


def sequential_samples(
    looks: Sequence[int], discordance: float, loss: float, alpha: float, margin: float | None = None, seed: int = 0
) -> tuple[float, float]:
    """Return how many samples a sequential test asks for, by simulation.

    Args:
        looks: The ascending numbers of samples after which it is looked at; the last one ends it.
        discordance: In [0, 1], the share of samples whose outcome changes.
        loss: In [0, discordance], the true loss.
        alpha: In (0, 1).
        margin: The margin that is to be excluded; None to find a loss.
        seed: Of the simulation.

    Returns:
        The median number of samples of 400 simulated sessions, and the share of sessions that were decided.

    Raises:
        ValueError: If an argument is out of range.

    Source: `loss_log_e_value` and `margin_log_e_value` are the tests.

    >>> sequential_samples(range(100, 5001, 100), 0.05, 0.03, 0.05)[1]
    1.0
    """
    counts = np.array([check_whole_number("sequential_samples", "looks", look) for look in looks])
    ascending = bool(len(counts)) and bool((np.diff(counts, prepend=0) > 0).all())
    require(ascending, "sequential_samples", "looks", "ascending from 1 on", looks)
    require(0 <= loss <= discordance <= 1, "sequential_samples", "loss", f"in [0, {discordance}]", loss)
    require(0 < alpha < 1, "sequential_samples", "alpha", "between 0 and 1", alpha)
    generator = np.random.default_rng(seed)
    shares = [(discordance + loss) / 2, (discordance - loss) / 2, 1 - discordance]
    drawn = generator.multinomial(np.diff(counts, prepend=0), shares, (_PATHS, len(counts))).cumsum(axis=1)
    lost, gained = drawn[..., 0], drawn[..., 1]
    evidence = loss_log_e_value(lost, gained) if margin is None else margin_log_e_value(lost, gained, counts, margin)
    decided: NDArray[np.bool_] = np.asarray(evidence) >= -np.log(alpha)
    first = np.where(decided.any(axis=1), decided.argmax(axis=1), len(counts) - 1)
    return float(np.median(counts[first])), float(decided.any(axis=1).mean())
