"""The false discovery rate of many tests: the expected proportion of wrong ones among those called significant."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_fractions, check_length, require

Floats = NDArray[np.float64]


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Return p-values adjusted for the false discovery rate.

    The expected proportion of tests without an effect among those with an adjusted p-value of at most alpha is at most
    alpha, for tests that are independent or positively dependent.

    Args:
        p: (m,) in [0, 1].

    Returns:
        (m,) adjusted p-values, each at least its p, in the same order of size.

    Raises:
        ValueError: If p is not a vector, or a value is NaN or out of range.

    Source: Y. Benjamini and Y. Hochberg, Journal of the Royal Statistical Society B 57 (1995) 289-300.

    >>> benjamini_hochberg([0.01, 0.04, 0.02, 0.5]).tolist()
    [0.04, 0.05333333333333334, 0.04, 0.5]
    """
    values = check_fractions("benjamini_hochberg", "p", p, ndim=1)
    require(not np.isnan(values).any(), "benjamini_hochberg", "p", "without NaN", p)
    order = np.argsort(values, kind="stable")
    raised = values[order] * len(values) / np.arange(1, len(values) + 1)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(raised[::-1])[::-1])
    return adjusted


def discrete_benjamini_hochberg(p: ArrayLike, least: ArrayLike, alpha: float) -> Floats:
    """Return p-values of exact tests, adjusted for the false discovery rate among the tests that can be significant.

    An exact test of few changes has a smallest possible p-value. Of K tests with the smallest possible p-value
    alpha / K at most, K or fewer are adjusted for; no other test can be significant.

    Args:
        p: (m,) in [0, 1].
        least: (m,), the smallest possible p-value of each test.
        alpha: The false discovery rate, in (0, 1).

    Returns:
        (m,) adjusted p-values, to be compared with `alpha` alone; 1 for a test that cannot be significant.

    Raises:
        ValueError: If the lengths differ or a value is NaN or out of range.

    Source: P. B. Gilbert, Journal of the Royal Statistical Society C 54 (2005) 143-158, Section 2.

    >>> discrete_benjamini_hochberg([0.004, 0.5, 1, 1], [0.002, 0.5, 0.5, 1], 0.01).tolist()
    [0.004, 1.0, 1.0, 1.0]
    """
    values, lowest = (
        check_fractions("discrete_benjamini_hochberg", name, v, ndim=1) for name, v in (("p", p), ("least", least))
    )
    check_length("discrete_benjamini_hochberg", "least", lowest, len(values))
    require(0 < alpha < 1, "discrete_benjamini_hochberg", "alpha", "between 0 and 1", alpha)
    ascending = np.sort(lowest)
    counts = np.arange(1, len(values) + 1)
    able = np.searchsorted(ascending, alpha / counts, side="right") <= counts
    divisor = int(counts[able][0]) if able.any() else 1
    tested = lowest <= alpha / divisor
    adjusted = np.ones(len(values))
    adjusted[tested] = benjamini_hochberg(values[tested])
    return adjusted
