"""Comparison of models between two sets: variance ratio, correlation and Monte Carlo p-value."""

from math import inf, nan, sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import fdtrc, stdtr

from eyechart.statistics._checks import require
from eyechart.statistics.intervals import Interval, fisher_interval

Floats = NDArray[np.float64]
_TIE = 1e-12  # apart by rounding alone


class _FTest(NamedTuple):
    """The ratio of two variances, its degrees of freedom and the p-value."""

    f: float
    df1: int
    df2: int
    p: float


class _Correlation(NamedTuple):
    """Pearson's and Spearman's correlation over n pairs, each with its two-sided p-value and 95 % interval."""

    pearson: float
    pearson_p: float
    pearson_ci: Interval
    spearman: float
    spearman_p: float
    spearman_ci: Interval
    n: int


def f_test(first: ArrayLike, second: ArrayLike) -> _FTest:
    """Test whether the first values vary more than the second (F-test of two variances).

    Limits: the test is for two independent normal samples. Falls of the same models on two sets are neither for sure:
    where they are correlated, either way, the p-value is not exact.

    Args:
        first: (m,), such as each model's fall on one set; NaN is left out.
        second: (n,), the same on another set, in the same unit; NaN is left out.

    Returns:
        FTest: f = the ratio of the variances (each over its number of values less one), df1 and df2, and the one-sided
        p-value, the upper tail's. f is infinite and p 0 where only the second is constant; both are NaN where both are
        constant or either has fewer than two values.

    Raises:
        ValueError: If an argument is not a vector or holds an infinite value.

    Source: arXiv 2602.18094, Eq. (28), F(8, 8) = 4.59.

    >>> f, df1, df2, p = f_test([0.1, 0.3, 0.5, 0.9], [0.2, 0.3, 0.3, 0.4])
    >>> round(f, 2), df1, df2, round(p, 4)
    (17.5, 3, 3, 0.021)
    """
    first_values, second_values = (
        _vector("f_test", name, values) for name, values in (("first", first), ("second", second))
    )
    first_values, second_values = first_values[~np.isnan(first_values)], second_values[~np.isnan(second_values)]
    df1, df2 = max(0, len(first_values) - 1), max(0, len(second_values) - 1)
    above, below = (_variance(values) for values in (first_values, second_values))
    if not below:
        return _FTest(inf, df1, df2, 0.0) if above > 0 else _FTest(nan, df1, df2, nan)
    f = above / below
    return _FTest(f, df1, df2, float(fdtrc(df1, df2, f)))


def correlation(x: ArrayLike, y: ArrayLike) -> _Correlation:
    """Return Pearson's and Spearman's correlation of two vectors, with p-values and intervals.

    Limits: Spearman's p-value takes Student's distribution for the ranks', which is close from about ten pairs on.

    Args:
        x: (n,), such as each model's fall on two sets; a pair with NaN is left out.
        y: (n,), such as each model's fall on two sets; a pair with NaN is left out.

    Returns:
        Correlation: both coefficients in [-1, 1], their two-sided p-values, by t = r √((n - 2) / (1 - r²)) with n - 2
        degrees of freedom, and Fisher's 95 % intervals. Coefficients are NaN where x or y is constant, p-values also
        with fewer than 3 pairs, intervals with fewer than 4.

    Raises:
        ValueError: If an argument is not a vector or holds an infinite value, or the lengths differ.

    Source: arXiv 2602.18094, Eq. (29).

    >>> found = correlation([0.1, 0.2, 0.3, 0.4, 0.5], [0.5, 0.6, 0.2, 0.3, 0.1])
    >>> round(found.pearson, 3), round(found.pearson_p, 3), found.spearman, found.n
    (-0.839, 0.076, -0.8, 5)
    """
    from scipy.stats import rankdata  # half a second that few runs need

    x_values, y_values = (_vector("correlation", name, values) for name, values in (("x", x), ("y", y)))
    require(len(x_values) == len(y_values), "correlation", "y", f"of length {len(x_values)}, as x", y_values)
    both = ~np.isnan(x_values) & ~np.isnan(y_values)
    x_values, y_values, n = x_values[both], y_values[both], int(both.sum())
    r, rho = _correlated(x_values, y_values), _correlated(rankdata(x_values), rankdata(y_values))
    return _Correlation(r, _p(r, n), fisher_interval(r, n), rho, _p(rho, n), fisher_interval(rho, n, "spearman"), n)


def monte_carlo_p_value(observed: float, baseline: ArrayLike, tail: Literal["left", "right"] = "left") -> float:
    """Return the one-sided Monte Carlo p-value of a value in a baseline of resampled values.

    Args:
        observed: The value.
        baseline: (B,), the resampled ones, NaN where one could not be computed.
        tail: "left" where small values speak against the baseline, "right" where large ones do.

    Returns:
        (1 + #{baseline at least as far out}) / (B + 1), never 0; a NaN in the baseline counts as as far out, and values
        that differ by rounding alone are equal. 1 with an empty baseline; NaN where `observed` is NaN.

    Raises:
        ValueError: If `baseline` is not a vector or `tail` is unknown.

    Source: arXiv 2602.18094, Section C.1, evidence 3 and 4, with the correction of its Eq. (22); the paper's own values
    there are given as below 1 / (B + 1), which is the least this can be.

    >>> monte_carlo_p_value(-0.65, [0.91, 0.95, 0.97, 0.99])
    0.2
    """
    require(tail in ("left", "right"), "monte_carlo_p_value", "tail", "'left' or 'right'", tail)
    values = np.asarray(baseline, dtype=np.float64)
    require(values.ndim == 1, "monte_carlo_p_value", "baseline", "an array of 1 dimension", values)
    if np.isnan(observed):
        return nan
    sign = 1 if tail == "left" else -1
    nearer = sign * values > sign * observed + _TIE * max(1.0, abs(observed))
    return (1 + len(values) - int(nearer.sum())) / (len(values) + 1)


def _vector(function: str, parameter: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    require(array.ndim == 1, function, parameter, "an array of 1 dimension", array)
    require(not np.isinf(array).any(), function, parameter, "finite or NaN", inf)
    return array


def _variance(values: Floats) -> float:
    """Return the variance: exactly 0 for constant values, NaN for fewer than two values."""
    if len(values) < 2:
        return nan
    return float(values.var(ddof=1)) if np.ptp(values) else 0.0


def _correlated(x: Floats, y: Floats) -> float:
    if not (len(x) and np.ptp(x) and np.ptp(y)):
        return nan
    a, b = x - x.mean(), y - y.mean()
    return float(np.clip((a / np.linalg.norm(a)) @ (b / np.linalg.norm(b)), -1, 1))


def _p(r: float, n: int) -> float:
    if n < 3 or np.isnan(r):
        return nan
    return float(2 * stdtr(n - 2, -abs(r) * sqrt((n - 2) / (1 - r * r)))) if abs(r) < 1 else 0.0
