"""Sequential tests of a loss between two scorings of the same images, valid whenever the asking stops.

Each test is a betting e-process: the wealth of a player who bets against the null hypothesis at fair odds. Under the
null hypothesis the wealth exceeds 1/alpha at any time with a probability of at most alpha.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from eyechart.statistics._checks import require

Floats = NDArray[np.float64]
BETS = np.geomspace(0.05, 0.7, 10)  # shares of the wealth that are bet; the wealth is their mean
_STEPS = 40  # halvings of [-1, 1]


def loss_log_e_value(lost: ArrayLike, gained: ArrayLike) -> Any:
    """Return the logarithm of the e-value against the hypothesis that there is no loss.

    Args:
        lost: The numbers of samples that became wrong and correct so far, of any shape (...), at least 0.
        gained: The numbers of samples that became wrong and correct so far, of any shape (...), at least 0.

    Returns:
        Numbers (...); log(1 / alpha) or more rejects the hypothesis at the level alpha.

    Raises:
        ValueError: For a negative number.

    Source: I. Waudby-Smith and A. Ramdas, Journal of the Royal Statistical Society B 86 (2024) 1-27, betting on a mean
    of 0; the bets are a fixed mixture, so that only the numbers matter and not their order.

    >>> round(float(loss_log_e_value(20, 2)), 2), float(loss_log_e_value(0, 0))
    (6.23, 0.0)
    """
    return _log_wealth(lost, gained, 0, (1.0, -1.0, 0.0))


def margin_log_e_value(lost: ArrayLike, gained: ArrayLike, n: ArrayLike, margin: float) -> Any:
    """Return the logarithm of the e-value against the hypothesis that the loss is at least the margin.

    Args:
        lost: As in `loss_log_e_value`.
        gained: As in `loss_log_e_value`.
        n: The numbers of samples so far (...).
        margin: In [-1, 1], a fraction.

    Returns:
        Numbers (...); log(1 / alpha) or more shows at the level alpha that the loss is below the margin.

    Raises:
        ValueError: If a number is out of range.

    Source: that of `loss_log_e_value`, betting on a mean of the margin.

    >>> round(float(margin_log_e_value(10, 10, 1000, 0.02)), 2)
    5.95
    """
    require(-1 <= margin <= 1, "margin_log_e_value", "margin", "in [-1, 1]", margin)
    unchanged = np.asarray(n, np.float64) - np.asarray(lost, np.float64) - np.asarray(gained, np.float64)
    require(bool(np.all(unchanged >= 0)), "margin_log_e_value", "n", "at least lost and gained", n)
    most = max(1.0, 1 - margin)  # of a sample's gain below 0, so that no bet loses more than its stake
    return _log_wealth(lost, gained, unchanged, ((margin - 1) / most, (margin + 1) / most, margin / most))


def sequential_loss_limit(lost: int, gained: int, n: int, alpha: float) -> float:
    """Return the upper confidence limit of the loss, one-sided at 1 - alpha, valid whenever the asking stops.

    Args:
        lost: As for `margin_log_e_value`.
        gained: As for `margin_log_e_value`.
        n: As for `margin_log_e_value`.
        alpha: The significance level, in (0, 1).

    Returns:
        The smallest loss that `margin_log_e_value` rejects, a fraction in [-1, 1]; 1 if it rejects none.

    Raises:
        ValueError: If a number is out of range.

    Source: that of `loss_log_e_value`, a confidence sequence.

    >>> round(sequential_loss_limit(10, 10, 1000, 0.05), 4)
    0.0141
    """
    require(0 < alpha < 1, "sequential_loss_limit", "alpha", "between 0 and 1", alpha)
    # The wealth against "the loss is at least the margin" grows with the margin, so that bisection finds the smallest
    # margin that is rejected. The upper end is always one that is rejected, or 1.
    low, high = -1.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if margin_log_e_value(lost, gained, n, middle) < -np.log(alpha):
            low = middle
        else:
            high = middle
    return high


def _log_wealth(lost: ArrayLike, gained: ArrayLike, unchanged: ArrayLike, gains: tuple[float, ...]) -> Any:
    """Return the logarithm of the mean wealth (...) of bets with a gain for each sample lost, gained and unchanged."""
    counts = [np.asarray(count, np.float64)[..., None] for count in (lost, gained, unchanged)]
    least = min(float(count.min(initial=0)) for count in counts)
    require(least >= 0, "loss_log_e_value", "lost", "at least 0, as gained", lost)
    # A bet multiplies the wealth by 1 + bet * gain at each sample. Only the counts matter, since a product does not
    # depend on its order. The mean over the bets is a fair bet, too: no bet has to be chosen after the data are seen.
    wealth = sum(count * np.log1p(BETS * gain) for count, gain in zip(counts, gains, strict=True))
    return logsumexp(wealth, axis=-1) - np.log(len(BETS))
