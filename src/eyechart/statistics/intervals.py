"""Confidence intervals of proportions, means and correlations."""

from math import atanh, inf, isnan, nan, sqrt, tanh
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, stdtrit

from eyechart.statistics._checks import check_integers, check_length, check_outcomes, check_whole_number, require
from eyechart.statistics.recall import per_class_recall


class Interval(NamedTuple):
    """The two ends of an interval, in the unit of the estimate; both NaN if there is none."""

    low: float
    high: float


_NONE = Interval(nan, nan)


def wilson(k: float, n: float, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion.

    Args:
        k: The number of successes, a whole number.
        n: The number of trials, a whole number.
        level: The confidence level, in (0, 1).

    Returns:
        Interval of fractions, inside [0, 1] and around k / n; NaN where n is 0.

    Raises:
        ValueError: If k is not in [0, n] or the level is no level.

    Source: E. B. Wilson, JASA 22 (1927) 209-212.

    >>> low, high = wilson(49, 50)
    >>> round(low, 4), round(high, 4)
    (0.895, 0.9965)
    """
    n = check_whole_number("wilson", "n", n)
    k = check_whole_number("wilson", "k", k, most=n)
    return _score_interval(k / n, n, _normal("wilson", level)) if n else _NONE


def effective_wilson(p: float, n: float, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a fraction at an effective number of trials.

    Args:
        p: In [0, 1], estimated in whatever way.
        n: Above 0, the effective number of trials, such as p (1 - p) / variance, not always whole.
        level: In (0, 1).

    Returns:
        Interval of fractions, inside [0, 1] and around p.

    Raises:
        ValueError: If p, n or the level is out of range.

    Source: N. Dean and M. Pagano, Journal of Survey Statistics and Methodology 3 (2015) 484-503.

    >>> effective_wilson(0.98, 50) == wilson(49, 50)
    True
    """
    require(0 <= p <= 1, "effective_wilson", "p", "in [0, 1]", p)
    require(0 < n < inf, "effective_wilson", "n", "above 0 and finite", n)
    return _score_interval(p, n, _normal("effective_wilson", level))


def clopper_pearson(k: float, n: float, level: float = 0.95) -> Interval:
    """Return the exact interval of a proportion; its coverage is never below its level.

    Args:
        k: The number of successes, a whole number.
        n: The number of trials, a whole number.
        level: The confidence level, in (0, 1).

    Returns:
        Interval of fractions, inside [0, 1] and around k / n; NaN where n is 0.

    Raises:
        ValueError: If k is not in [0, n] or the level is no level.

    Source: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404-413.

    >>> round(clopper_pearson(49, 50).low, 4), round(clopper_pearson(27, 50).low, 4)
    (0.8935, 0.3932)
    """
    n = check_whole_number("clopper_pearson", "n", n)
    k = check_whole_number("clopper_pearson", "k", k, most=n)
    tail = (1 - _level("clopper_pearson", level)) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return Interval(low, high) if n else _NONE


def stratified_interval(correct: ArrayLike, classes: ArrayLike, level: float = 0.95, effect: float = 1.0) -> Interval:
    """Return the interval of mean per-class recall: Wilson's, at the effective number of images.

    The mean of K recalls p has variance sum(p (1 - p) / n) / K². A class with few images says little about its own p,
    so each p in it is first drawn towards the mean by z² imaginary images. The effective number of images is the one at
    which a plain proportion of that size has this variance.
    Limits: the classes are fixed, other images of the same classes are what varies; the level is approximate (at
    0.95, simulated coverage is 0.93 to 0.97), highest where classes with few images differ much from one another.

    Args:
        correct: (n,) of 1, 0 and NaN.
        classes: (n,) each image's class, -1 for none.
        level: In (0, 1).
        effect: The design effect of images that are not independent, by which the effective number is divided.

    Returns:
        Interval of fractions, inside [0, 1] and around the mean; NaN where no image is scored.

    Raises:
        ValueError: If the lengths differ or an outcome is something else.

    Source: own combination of stratified sampling's variance with Wilson's interval at an effective sample size, as
    N. Dean and M. Pagano, Journal of Survey Statistics and Methodology 3 (2015) 484-503, use it for surveys.

    >>> low, high = stratified_interval([1, 1, 0, 1, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1])
    >>> round(low, 3), round(high, 3)
    (0.308, 0.862)
    """
    outcome = check_outcomes("stratified_interval", "correct", correct, ndim=1)
    label = check_integers("stratified_interval", "classes", classes, ndim=1)
    check_length("stratified_interval", "classes", label, len(outcome))
    recall = per_class_recall(outcome, label, int(label.max(initial=-1)) + 1)
    occupied = recall.counts > 0
    require(1 <= effect < inf, "stratified_interval", "effect", "at least 1 and finite", effect)
    z = _normal("stratified_interval", level)
    return _around_mean(recall.values[occupied], recall.counts[occupied], z, effect) if occupied.any() else _NONE


def fisher_interval(
    r: float, n: float, kind: Literal["pearson", "spearman"] = "pearson", level: float = 0.95
) -> Interval:
    """Return the interval of a correlation, by Fisher's transformation.

    Args:
        r: The correlation, in [-1, 1] or NaN.
        n: The number of pairs.
        kind: Which correlation it is.
        level: The confidence level, in (0, 1).

    Returns:
        Interval inside [-1, 1] and around r; NaN where r is NaN or n is less than 4.

    Raises:
        ValueError: If r, n, kind or level is out of range.

    Source: R. A. Fisher, Metron 1 (1921) 3-32; for Spearman D. G. Bonett and T. A. Wright, Psychometrika 65 (2000)
    23-28, whose variance is (1 + r²/2) / (n - 3).

    >>> low, high = fisher_interval(0.5, 28)
    >>> round(low, 3), round(high, 3)
    (0.156, 0.736)
    """
    n = check_whole_number("fisher_interval", "n", n)
    require(kind in ("pearson", "spearman"), "fisher_interval", "kind", "'pearson' or 'spearman'", kind)
    require(isnan(r) or -1 <= r <= 1, "fisher_interval", "r", "in [-1, 1] or NaN", r)
    z = _normal("fisher_interval", level)
    if isnan(r) or n < 4:
        return _NONE
    if abs(r) == 1:
        return Interval(float(r), float(r))
    half = z * sqrt((1 + (r * r / 2 if kind == "spearman" else 0)) / (n - 3))
    return Interval(min(tanh(atanh(r) - half), r), max(tanh(atanh(r) + half), r))


def t_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Return Student's interval of the mean of repeated runs: mean ± t(R - 1) · s / √R.

    Args:
        values: (R,), one of each run, NaN where a run gave none.
        level: In (0, 1).

    Returns:
        Interval in the values' unit, around their mean; NaN with fewer than two values.

    Raises:
        ValueError: If `values` is not a vector or the level is no level.

    Source: Student, Biometrika 6 (1908) 1-25; over R = 31 runs in arXiv 2603.06578, Tables 7, 17 and 19.

    >>> low, high = t_interval([1 / 36] + [0] * 30)  # its Table 7, first row, S-: 0.09 ± 0.18 per cent
    >>> round(50 * (low + high), 2), round(50 * (high - low), 2)
    (0.09, 0.18)
    """
    runs = np.asarray(values, dtype=np.float64)
    require(runs.ndim == 1, "t_interval", "values", "an array of 1 dimension", runs)
    level = _level("t_interval", level)
    runs = runs[~np.isnan(runs)]
    if len(runs) < 2:
        return _NONE
    mean = float(runs.mean())
    half = float(stdtrit(len(runs) - 1, (1 + level) / 2) * runs.std(ddof=1)) / sqrt(len(runs))
    return Interval(mean - half, mean + half)


def _level(function: str, level: float) -> float:
    require(0 < level < 1, function, "level", "between 0 and 1", level)
    return level


def _normal(function: str, level: float) -> float:
    return float(ndtri((1 + _level(function, level)) / 2))


def _score_interval(p: float, n: float, z: float) -> Interval:
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return Interval(max(0.0, min(centre - half, p)), min(1.0, max(centre + half, p)))


def _around_mean(p: np.ndarray, n: np.ndarray, z: float, effect: float) -> Interval:
    mean, weight = float(p.mean()), z * z
    drawn = (p * n + weight * mean) / (n + weight)
    # Where every image is right, or none, all classes are alike and only their sizes count.
    spread = drawn * (1 - drawn) / (mean * (1 - mean)) if 0 < mean < 1 else np.ones_like(p)
    return _score_interval(mean, len(p) ** 2 / float((spread / n).sum()) / effect, z)
