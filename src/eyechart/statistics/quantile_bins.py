"""Cuts numbers into bins at their quantiles, and groups variables that order the samples alike."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_whole_number, require

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_MOST_DIGITS = 9
_SHIFTED = 0.02  # of the values, which a rounded edge may put into another bin


def quantile_bins(values: ArrayLike, parts: int = 4, least: int = 30) -> tuple[Ints, tuple[float, ...]]:
    """Return the bin of each value, of about equal sizes, and the edges between bins.

    Equal values are in one bin, so that there are fewer bins if many values are equal. A value is in the first bin
    whose edge it does not exceed. The edges are rounded to 3 digits if that moves few values, else to more.

    Args:
        values: (n,) numbers, NaN for a sample without one.
        parts: How many bins there are at most, at least 2.
        least: With fewer values, there are no bins.

    Returns:
        (n,) ints from 0, -1 for a sample without a value; and the ascending edges, one fewer than there are bins. All
        bins are -1 and there are no edges if the values are constant or few.

    Raises:
        ValueError: If the values are no vector, or there are too few bins.

    Source: own definition; the quantiles follow R. J. Hyndman and Y. Fan, The American Statistician 50 (1996)
    361-365, type 7.

    >>> quantile_bins([1, 2, 2, 3, 9, 9, 9, 9], least=4)
    (array([0, 0, 0, 1, 2, 2, 2, 2]), (2.0, 6.0))
    """
    numbers = np.asarray(values, np.float64)
    require(numbers.ndim == 1, "quantile_bins", "values", "an array of 1 dimension", numbers)
    require(check_whole_number("quantile_bins", "parts", parts) >= 2, "quantile_bins", "parts", "at least 2", parts)
    known = np.isfinite(numbers)
    codes = np.full(len(numbers), -1, np.int64)
    if known.sum() < max(1, least):
        return codes, ()
    some = numbers[known]
    edges = np.unique(np.quantile(some, np.arange(1, parts) / parts))
    edges = edges[edges < some.max()]
    edges = edges[np.diff(np.searchsorted(np.sort(some), edges, side="right"), prepend=0) > 0]  # no bin is empty
    exact = np.searchsorted(edges, some, side="left")
    for digits in range(3, _MOST_DIGITS):
        rounded = np.array([float(f"{edge:.{digits}g}") for edge in edges])
        cut = np.searchsorted(rounded, some, side="left")
        if (cut != exact).mean() <= _SHIFTED and len(np.unique(cut)) == len(np.unique(exact)):
            edges, exact = rounded, cut
            break
    if len(edges) == 0:
        return codes, ()
    codes[known] = exact
    return codes, tuple(edges.tolist())


def correlated_groups(values: Sequence[ArrayLike], least: float = 0.5) -> list[list[int]]:
    """Return groups of variables, in each of which every two have a rank correlation of some size.

    Groups are joined as long as all variables of both are so correlated, the most similar ones first (complete
    linkage).

    Args:
        values: v variables of n samples each, NaN for a sample without a value.
        least: The least absolute value of Spearman's correlation, over the samples that have both values.

    Returns:
        The indices of the variables of each group, ascending; a variable that is like no other is a group of its own.

    Raises:
        ValueError: If the variables have other shapes.

    Source: C. Spearman, The American Journal of Psychology 15 (1904) 72-101; T. Sørensen, Biologiske Skrifter 5 (1948)
    1-34, complete linkage.

    >>> correlated_groups([[1, 2, 3, 4, 5], [5, 1, 4, 2, 3], [9, 7, 6, 3, 1]])
    [[0, 2], [1]]
    """
    arrays = [np.asarray(variable, np.float64) for variable in values]
    same = len({array.shape for array in arrays}) <= 1 and all(array.ndim == 1 for array in arrays)
    require(same, "correlated_groups", "values", "vectors of one length", [array.shape for array in arrays])
    groups = [[index] for index in range(len(arrays))]
    size = np.array([[_rank_correlation(first, second) for second in arrays] for first in arrays])
    while len(groups) > 1:
        closeness, first, second = max(
            (float(size[np.ix_(groups[i], groups[j])].min()), -i, -j) for j in range(len(groups)) for i in range(j)
        )
        if closeness < least:
            break
        groups[-first] = sorted(groups[-first] + groups.pop(-second))
    return groups


def _rank_correlation(first: Floats, second: Floats) -> float:
    """Return the absolute value of Spearman's correlation, 0 if one of the two is constant."""
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < 3:
        return 0.0
    x, y = (_ranks(array[both]) for array in (first, second))
    spread = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return abs(float((x * y).sum())) / spread if spread else 0.0


def _ranks(values: Floats) -> Floats:
    """Return ranks minus their mean; equal values have the mean of their ranks."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts + 1) / 2)[index]
    return np.asarray(ranks - ranks.mean(), np.float64)
