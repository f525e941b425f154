"""Whether a loss between two scorings of the same images is surely below a margin, and how many images show it."""

from math import ceil, sqrt

import numpy as np
from scipy.special import ndtri

from eyechart.statistics._checks import check_whole_number, require

_TAIL = 1e-9  # probability of numbers of changed samples that are left out, on each side
_STEPS = 60  # halvings of [-1, 1], more than a double can distinguish


def loss_upper_limit(lost: float, gained: float, n: float, alpha: float) -> float:
    """Return the one-sided upper confidence limit of the loss of a share, from paired outcomes.

    It is the largest loss that the score test does not reject. Unlike Wald's limit it is above 0 where nothing changed.
    Limits: the level is approximate. Simulated coverage at alpha 0.01 is 0.989 to 1 for 10 to 2,000 samples if 1 to
    20 % of them change.

    Args:
        lost: The numbers of samples that became wrong and correct, at least 0 and not always whole.
        gained: The numbers of samples that became wrong and correct, at least 0 and not always whole.
        n: The number of samples, at least their sum and above 0.
        alpha: In (0, 0.5], the chance of a limit that is too low.

    Returns:
        A fraction in [(lost - gained) / n, 1].

    Raises:
        ValueError: If a number is out of range.

    Source: T. Tango, Statistics in Medicine 17 (1998) 891-908, the score interval of the difference of paired
    proportions.

    >>> round(loss_upper_limit(0, 0, 100, 0.05), 4), round(loss_upper_limit(12, 9, 100, 0.025), 4)
    (0.0263, 0.1245)
    """
    require(lost >= 0 and gained >= 0, "loss_upper_limit", "lost", "at least 0, as gained", (lost, gained))
    require(lost + gained <= n * (1 + 1e-9) and n > 0, "loss_upper_limit", "n", "at least lost and gained", n)
    require(0 < alpha <= 0.5, "loss_upper_limit", "alpha", "above 0 and at most 0.5", alpha)
    z = -float(ndtri(alpha))
    low, high = (lost - gained) / n, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _score(lost, gained, n, middle) > -z:
            low = middle
        else:
            high = middle
    return high


def samples_for_margin(discordance: float, margin: float, alpha: float, power: float = 0.8) -> int:
    """Return how many samples show that a loss is below a margin, if there is none.

    Args:
        discordance: The share of samples whose outcome changes, in [0, 1].
        margin: In (0, 1), a fraction.
        alpha: That of `loss_upper_limit`.
        power: The chance that the limit is below the margin, in (0, 1).

    Returns:
        A number of samples, at least that with which the limit is below the margin where no outcome changed.

    Raises:
        ValueError: If a number is out of range.

    Source: J.-P. Liu, H.-M. Hsueh, E. Hsieh and J. J. Chen, Statistics in Medicine 21 (2002) 231-245: the power of
    Tango's test, n = (z_alpha · s₀ + z_power · s₁)² / margin², with s₀² and s₁² the variance of a sample's change if
    the loss is the margin and if it is 0.

    >>> samples_for_margin(0.05, 0.01, 0.01), samples_for_margin(0.0, 0.01, 0.01)
    (5146, 536)
    """
    require(0 <= discordance <= 1, "samples_for_margin", "discordance", "in [0, 1]", discordance)
    require(0 < margin < 1, "samples_for_margin", "margin", "between 0 and 1", margin)
    require(0 < alpha < 0.5, "samples_for_margin", "alpha", "between 0 and 0.5", alpha)
    require(0 < power < 1, "samples_for_margin", "power", "between 0 and 1", power)
    return ceil(_samples(discordance, margin, alpha, power))


def margin_power(n: int, discordance: float, margin: float, alpha: float) -> float:
    """Return the probability that samples show that a loss is below a margin, if there is none.

    Args:
        n: The number of samples.
        discordance: The share of samples whose outcome changes, in [0, 1].
        margin: In (0, 1), a fraction.
        alpha: That of `loss_upper_limit`.

    Returns:
        The exact power of the score test, over all numbers of samples that became wrong and correct.

    Raises:
        ValueError: If a number is out of range.

    Source: as `loss_upper_limit`, Equations 6 and 7; `samples_for_margin` is its normal limit.

    >>> round(margin_power(500, 0.05, 0.03, 0.05), 4)
    0.8926
    """
    n = check_whole_number("margin_power", "n", n)
    require(0 <= discordance <= 1, "margin_power", "discordance", "in [0, 1]", discordance)
    require(0 < margin < 1, "margin_power", "margin", "between 0 and 1", margin)
    require(0 < alpha < 0.5, "margin_power", "alpha", "between 0 and 0.5", alpha)
    if not n:
        return 0.0
    from scipy.stats import binom  # with it half a second that few runs need

    least, most = binom.ppf([_TAIL, 1 - _TAIL], n, discordance).astype(np.int64)
    changed = np.arange(least, most + 1)
    # The more of the changed samples are lost, the smaller is the statistic: halve until the most that is allowed.
    low, high = np.full(len(changed), -1), changed.copy()
    while (low < high).any():
        middle = (low + high + 1) // 2
        shown = [
            _score(float(lost), float(all_changed - lost), n, margin) < float(ndtri(alpha)) if lost >= 0 else True
            for lost, all_changed in zip(middle, changed, strict=True)
        ]
        low, high = np.where(shown, middle, low), np.where(shown, high, middle - 1)
    return float(binom.pmf(changed, n, discordance) @ binom.cdf(low, changed, 0.5))


def smallest_margin(n: float, discordance: float, alpha: float, power: float = 0.8) -> float:
    """Return the smallest margin that so many samples exclude, if there is no loss: `samples_for_margin` inverted.

    Args:
        n: The number of samples, above 0 and not always whole.
        discordance: The share of samples whose outcome changes, in [0, 1].
        alpha: That of `loss_upper_limit`.
        power: The chance that the limit is below the margin, in (0, 1).

    Returns:
        A fraction; NaN where no margin below 1 is excluded.

    Raises:
        ValueError: If a number is out of range.

    Source: as `samples_for_margin`.

    >>> round(smallest_margin(5146, 0.05, 0.01), 4), round(smallest_margin(536, 0.0, 0.01), 4)
    (0.01, 0.01)
    """
    require(n > 0, "smallest_margin", "n", "above 0", n)
    require(0 <= discordance <= 1, "smallest_margin", "discordance", "in [0, 1]", discordance)
    require(0 < alpha < 0.5, "smallest_margin", "alpha", "between 0 and 0.5", alpha)
    require(0 < power < 1, "smallest_margin", "power", "between 0 and 1", power)
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _samples(discordance, middle, alpha, power) > n else (low, middle)
    return high if high < 1 else float("nan")


def _samples(discordance: float, margin: float, alpha: float, power: float) -> float:
    """Return the number of samples, not rounded, that show that a loss is below a margin, if there is none."""
    apart = -float(ndtri(alpha)) * sqrt(_variance(discordance / 2, discordance / 2, margin))
    return float(((apart + float(ndtri(power)) * sqrt(discordance)) / margin) ** 2)


def _score(lost: float, gained: float, n: float, loss: float) -> float:
    """Return the score statistic of a supposed loss: normal around 0 if it is the true one."""
    variance = n * _variance(lost / n, gained / n, loss)
    return (lost - gained - n * loss) / sqrt(variance) if variance > 0 else 0.0


def _variance(lost: float, gained: float, loss: float) -> float:
    """Return the variance of one sample's change if a supposed loss is the true one, from the observed shares."""
    linear = -lost - gained + (2 - lost + gained) * loss
    constant = -gained * loss * (1 - loss)
    fewer = (sqrt(max(0.0, linear**2 - 8 * constant)) - linear) / 4  # share of gained samples, given the loss
    return 2 * fewer + loss * (1 - loss)
