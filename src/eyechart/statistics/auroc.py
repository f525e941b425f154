"""The area under the ROC curve (AUROC) of scores of two classes, DeLong's variance of it and the paired test.

Samples may be clustered, such as images of one patient: a cluster may have samples of both classes.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

from eyechart.statistics._checks import check_integers, check_length, check_outcomes, require
from eyechart.statistics._sweeps import check_vector
from eyechart.statistics.degenerate_intervals import ROUNDING, share_interval
from eyechart.statistics.intervals import Interval
from eyechart.statistics.significance import Change, bootstrap_change

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NONE = Interval(float("nan"), float("nan"))


def auroc(scores: ArrayLike, positive: ArrayLike) -> float:
    """Return the area under the ROC curve: how often a positive sample has a higher score than a negative one.

    Pairs of equal scores count half. The area is the same if the other class is called positive and the scores are
    negated.

    Args:
        scores: (n,) any numbers, also infinite ones, higher for a sample that is more likely positive.
        positive: (n,) of 1, 0 and NaN; a sample where either is NaN is left out.

    Returns:
        A fraction; NaN unless samples of both classes count.

    Raises:
        ValueError: If the lengths differ or `positive` has something else.

    Source: scikit-learn's roc_auc_score.

    >>> auroc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    0.75
    """
    table, outcome, _ = _check("auroc", [scores], positive, None)
    return float(_components(table, outcome)[0][0])


def delong_covariance(scores: ArrayLike, positive: ArrayLike, clusters: ArrayLike | None = None) -> Floats:
    """Return the covariance of the areas of several scorings of the same samples.

    Args:
        scores: (k, n), the scores of each scoring as for `auroc`; a sample that is NaN in one is left out of all.
        positive: (n,) as for `auroc`.
        clusters: (n,) which cluster a sample is in, whole numbers of at least 0; None if each is its own.

    Returns:
        (k, k) covariances; NaN unless samples of both classes are in two clusters or more.

    Raises:
        ValueError: If the lengths differ, `positive` has something else or a cluster is no whole number of at least 0.

    Source: E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, Biometrics 44 (1988) 837-845, computed from ranks as X.
    Sun and W. Xu, IEEE Signal Processing Letters 21 (2014) 1389-1393; for clusters N. A. Obuchowski, Biometrics 53
    (1997) 567-578.

    >>> delong_covariance([[0.1, 0.4, 0.35, 0.8]], [0, 0, 1, 1])
    array([[0.125]])
    """
    function = "delong_covariance"
    columns = np.asarray(scores, np.float64)
    require(columns.ndim == 2, function, "scores", "an array of 2 dimensions", columns)
    return _covariance(*_check(function, [*columns], positive, clusters))


def delong_interval(
    scores: ArrayLike, positive: ArrayLike, clusters: ArrayLike | None = None, *, level: float = 0.95
) -> Interval:
    """Return the interval of the area from DeLong's variance, on the scale of log odds.

    The plain interval, area ± z standard errors, covers 0.79 to 0.95 at the level 0.95 (simulated), least for areas
    near 1, and may end above 1. On the scale of log odds, with Student's quantile for one less than the clusters of the
    class that has fewer, it covers 0.92 to 0.99.
    Limits: with an area of 0.99 and a few hundred samples it covers 0.92.

    Args:
        scores: As for `auroc`.
        positive: As for `auroc`.
        clusters: As for `delong_covariance`.
        level: In (0, 1).

    Returns:
        Interval of fractions around the area. Where the variance is 0, as where all positive samples have higher scores
        than all others, it allows for samples of a kind that was not seen. NaN without samples of both classes in two
        clusters each, or the area.

    Raises:
        ValueError: As `delong_covariance`, and where the level is no level.

    Source: M. S. Pepe, The Statistical Evaluation of Medical Tests (2003), Section 5.2.5, the scale of log odds.

    >>> low, high = delong_interval([0.1, 0.4, 0.35, 0.8, 0.9, 0.2], [0, 0, 1, 1, 1, 0])
    >>> round(low, 3), round(high, 3)
    (0.008, 1.0)
    """
    require(0 < level < 1, "delong_interval", "level", "between 0 and 1", level)
    table, outcome, unit = _check("delong_interval", [scores], positive, clusters)
    area, variance = float(_components(table, outcome)[0][0]), float(_covariance(table, outcome, unit)[0, 0])
    if np.isnan(variance):
        return _NONE
    fewest = _fewest(outcome, unit)
    if variance <= ROUNDING**2:
        return share_interval([area], area, fewest, level)
    half = float(stdtrit(fewest - 1, (1 + level) / 2)) * np.sqrt(variance) / (area * (1 - area))
    low, high = expit(logit(area) + np.array([-half, half]))
    return Interval(float(low), float(high))


def delong_test(
    before: ArrayLike,
    after: ArrayLike,
    positive: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> Change:
    """Test the change of the area between two scorings of the same samples.

    Args:
        before: (n,) scores as for `auroc`; a sample that is NaN on one side is left out of both.
        after: (n,) scores of the same samples.
        positive: As for `auroc`.
        clusters: As for `delong_covariance`.
        level: In (0, 1).

    Returns:
        Change: the difference of the areas, its interval, difference ± z standard errors within [-1, 1], and the
        two-sided p-value. Where the difference has no variance `bootstrap_change` gives them, for equal draws.
        NaN without samples of both classes, interval and p also without two clusters of each.

    Raises:
        ValueError: As `delong_covariance`, and where the level is no level.

    Source: as `delong_covariance`.

    >>> before, after = [0.1, 0.4, 0.35, 0.8, 0.9, 0.2], [0.4, 0.3, 0.5, 0.2, 0.9, 0.6]
    >>> delta, _, p = delong_test(before, after, [0, 0, 1, 1, 1, 0])
    >>> round(delta, 3), round(p, 3)
    (-0.333, 0.386)
    """
    require(0 < level < 1, "delong_test", "level", "between 0 and 1", level)
    table, outcome, unit = _check("delong_test", [before, after], positive, clusters)
    first, second = _components(table, outcome)[0].tolist()
    covariance, delta = _covariance(table, outcome, unit), second - first
    if np.isnan(covariance).any():
        return Change(delta, _NONE, float("nan"))
    variance = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    if variance <= ROUNDING**2:
        return bootstrap_change(first, second, [first] * 2, [second] * 2, _fewest(outcome, unit), level)
    error = float(np.sqrt(variance))
    half = float(ndtri((1 + level) / 2)) * error
    ends = Interval(max(-1.0, delta - half), min(1.0, delta + half))
    return Change(delta, ends, float(2 * ndtr(-abs(delta) / error)))


def _check(
    function: str, scorings: list[ArrayLike], positive: ArrayLike, clusters: ArrayLike | None
) -> tuple[Floats, Floats, Ints]:
    """Return the scores (k, m), classes (m,) and clusters (m,) of the samples that count."""
    rows = [check_vector(function, "scores", scores) for scores in scorings]
    outcome = check_outcomes(function, "positive", positive, ndim=1)
    for row in rows:
        check_length(function, "scores", row, len(outcome))
    unit = np.arange(len(outcome)) if clusters is None else clusters
    whole = check_integers(function, "clusters", unit, ndim=1, least=0)
    check_length(function, "clusters", whole, len(outcome))
    table = np.array(rows).reshape(len(rows), len(outcome))
    counts = ~np.isnan(table).any(axis=0) & ~np.isnan(outcome)
    return table[:, counts], outcome[counts], whole[counts]


def _components(table: Floats, outcome: Floats) -> tuple[Floats, Floats]:
    """Return the areas (k,), and for each sample (k, m) the share of the other class on its right side."""
    positive = outcome == 1
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    shares = np.full(table.shape, np.nan)
    if not n_positive or not n_negative:
        return np.full(len(table), np.nan), shares
    for row, scores in zip(shares, table, strict=True):
        row[positive] = _below(scores[~positive], scores[positive]) / n_negative
        row[~positive] = 1 - _below(scores[positive], scores[~positive]) / n_positive
    return shares[:, positive].mean(axis=1), shares


def _below(others: Floats, scores: Floats) -> Floats:
    """Return for each score how many others are below it; equal ones count half."""
    ordered = np.sort(others)
    sides = np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")
    return np.asarray(sides / 2, np.float64)


def _covariance(table: Floats, outcome: Floats, unit: Ints) -> Floats:
    """Return the covariances (k, k) of the areas."""
    areas, shares = _components(table, outcome)
    fewest = _fewest(outcome, unit)
    if fewest < 2:
        return np.full((len(table), len(table)), np.nan)
    _, index = np.unique(unit, return_inverse=True)
    count = int(index.max()) + 1
    total, sums = np.zeros((len(table), len(table))), []
    for mine in (outcome == 0, outcome == 1):
        apart = (shares[:, mine] - areas[:, None]) / mine.sum()
        own = np.stack([np.bincount(index[mine], row, count) for row in apart])  # (k, clusters)
        clusters = len(np.unique(index[mine]))
        total += clusters / (clusters - 1) * (own @ own.T)
        sums.append(own)
    mixed = count / (count - 1) * (sums[1] @ sums[0].T)
    covariances: Floats = total + mixed + mixed.T
    return covariances


def _fewest(outcome: Floats, unit: Ints) -> int:
    """Return the number of clusters of the class that is in fewer of them."""
    return min(len(np.unique(unit[outcome == kind])) for kind in (0, 1))
