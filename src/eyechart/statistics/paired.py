"""The change of a share when the same images are scored in two ways."""

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from eyechart.statistics._checks import check_length, check_outcomes, require
from eyechart.statistics.intervals import Interval


def change_interval(before: ArrayLike, after: ArrayLike, level: float = 0.95) -> Interval:
    """Return the interval of the change of a share between two scorings of the same images.

    An image is added to those that became right and one to those that became wrong, so that no observed change is not
    taken for a proof that there is none.

    Args:
        before: (n,) of 1, 0 and NaN; images scored in both count.
        after: (n,) of 1, 0 and NaN; images scored in both count.
        level: In (0, 1).

    Returns:
        Interval of fractions, inside [-1, 1] and around the mean of after - before; NaN where no image counts.

    Raises:
        ValueError: If the lengths differ, an outcome is something else or the level is no level.

    Source: D. G. Bonett and R. M. Price, Journal of Educational and Behavioral Statistics 37 (2012) 479-488, the
    adjusted Wald interval for paired proportions.

    >>> low, high = change_interval([0, 0, 0, 1, 1, 1, 0, 1], [1, 1, 1, 1, 1, 1, 0, 0])
    >>> round(low, 3), round(high, 3)
    (-0.264, 0.664)
    """
    require(0 < level < 1, "change_interval", "level", "between 0 and 1", level)
    first, second = (
        check_outcomes("change_interval", name, values, ndim=1)
        for name, values in (("before", before), ("after", after))
    )
    check_length("change_interval", "after", second, len(first))
    moved = (second - first)[~np.isnan(second - first)]
    if not moved.size:
        return Interval(float("nan"), float("nan"))
    return change_interval_from_counts(int((moved > 0).sum()), int((moved < 0).sum()), moved.size, level)


def change_interval_from_counts(gained: float, lost: float, n: float, level: float = 0.95) -> Interval:
    """Return the interval of `change_interval` from the numbers of samples that became correct and wrong.

    Args:
        gained: At least 0 and not always whole.
        lost: At least 0 and not always whole.
        n: The number of samples, at least their sum and above 0.
        level: In (0, 1).

    Returns:
        Interval of fractions, inside [-1, 1] and around (gained - lost) / n.

    Raises:
        ValueError: If a number is out of range.

    Source: as `change_interval`.

    >>> low, high = change_interval_from_counts(4, 1, 8)
    >>> round(low, 3), round(high, 3)
    (-0.184, 0.784)
    """
    require(gained >= 0, "change_interval_from_counts", "gained", "at least 0", gained)
    require(lost >= 0, "change_interval_from_counts", "lost", "at least 0", lost)
    require(
        0 < n < np.inf and gained + lost <= n * (1 + 1e-9),
        "change_interval_from_counts",
        "n",
        "at least gained and lost",
        n,
    )
    require(0 < level < 1, "change_interval_from_counts", "level", "between 0 and 1", level)
    z = float(ndtri((1 + level) / 2))
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    half = z * sqrt((up + down - (up - down) ** 2) / (n + 2))
    change = (gained - lost) / n
    return Interval(float(max(-1.0, min(up - down - half, change))), float(min(1.0, max(up - down + half, change))))
