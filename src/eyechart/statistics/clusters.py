"""Intervals and tests of shares for clustered samples, such as photographs of one bird.

Every function gives the plain interval or test where each sample is a unit of its own.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, stdtrit, xlogy

from eyechart.statistics._checks import check_integers, check_length, check_outcomes, require
from eyechart.statistics.intervals import Interval, effective_wilson, stratified_interval, wilson
from eyechart.statistics.paired import change_interval, change_interval_from_counts
from eyechart.statistics.recall import per_class_recall
from eyechart.statistics.significance import McNemar, mcnemar, mcnemar_p

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NONE = Interval(float("nan"), float("nan"))
_LEAST = 1e-40  # a chance below it adds nothing to a p-value that anybody reads
_ANY = -(2**62)  # no change is smaller


def effective_sample_size(values: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> float:
    """Return the effective sample size of clustered samples: n divided by the design effect.

    The design effect is the variance of the mean over clusters by that over samples, times the ratio of the squared
    quantiles of Student's distribution, whose degrees of freedom say how few clusters each variance is known from (the
    squared sum of squares by the sum of fourth powers). It is at least 1, and at most that of clusters whose samples
    are all alike, which is also taken where the values do not vary.

    Args:
        values: (n,) finite numbers, NaN for a sample that does not count.
        clusters: (n,) which cluster a sample is in, whole numbers of at least 0.
        level: In (0, 1).

    Returns:
        A number in [n² / Σ m², n] for clusters of m samples, n where every cluster has one; NaN without a sample.

    Raises:
        ValueError: If the lengths differ, a cluster is no whole number of at least 0 or the level is no level.

    Source: L. Kish, Survey Sampling (1965), Section 8.2, the design effect; E. L. Korn and B. I. Graubard, Survey
    Methodology 24 (1998) 193-201, the ratio of quantiles; the degrees of freedom are F. E. Satterthwaite's, Biometrics
    Bulletin 2 (1946) 110-114, from the fourth moment.

    >>> effective_sample_size([1, 0, 1, 1], [0, 1, 2, 3]), effective_sample_size([1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2])
    (4.0, 3.0)
    """
    require(0 < level < 1, "effective_sample_size", "level", "between 0 and 1", level)
    array = np.asarray(values, np.float64)
    require(array.ndim == 1 and not np.isinf(array).any(), "effective_sample_size", "values", "a finite vector", array)
    cluster = _clusters("effective_sample_size", clusters, len(array))
    known = ~np.isnan(array)
    n = int(known.sum())
    if not n:
        return float("nan")
    _, index, sizes = np.unique(cluster[known], return_inverse=True, return_counts=True)
    most = float((sizes.astype(np.float64) ** 2).sum() / n)
    apart = array[known] - array[known].mean()
    single, whole = _spread(apart), _spread(np.bincount(index, apart).astype(np.float64))
    if len(sizes) == n or single[0] <= 1e-12 * n or whole[0] <= 1e-12 * n:
        return n / most
    quantiles = [float(stdtrit(freedom, (1 + level) / 2)) for _, freedom in (whole, single)]
    effect = whole[0] / single[0] * (quantiles[0] / quantiles[1]) ** 2
    return n / min(max(1.0, effect), most)


def design_effect_of_changes(changes: ArrayLike, changed: int, level: float = 0.95) -> float:
    """Return the design effect of paired changes of clustered samples, from the clusters that changed.

    It is the sum of squares over clusters by that over samples, times the ratio of the squared quantiles of Student's
    distribution, as in `effective_sample_size`. The sums are around 0, which overstates the effect by a large change.

    Args:
        changes: (c,) whole numbers, after minus before of each cluster.
        changed: The number of samples that became wrong or correct, at least the sum of the absolute changes.
        level: In (0, 1).

    Returns:
        A number of at least 1.

    Raises:
        ValueError: If a change is no whole number, there are fewer changed samples than changes, or the level is no
            level.

    Source: as `effective_sample_size`.

    >>> design_effect_of_changes([1, -1, 1], 3), round(design_effect_of_changes([2, -2, 2] * 100, 600), 2)
    (1.0, 2.01)
    """
    require(0 < level < 1, "design_effect_of_changes", "level", "between 0 and 1", level)
    whole = check_integers("design_effect_of_changes", "changes", changes, ndim=1, least=_ANY)
    least = int(np.abs(whole).sum())
    require(changed >= least, "design_effect_of_changes", "changed", f"at least {least}", changed)
    squares, freedom = _spread(whole.astype(np.float64))
    if not squares:
        return 1.0
    quantiles = [float(stdtrit(size, (1 + level) / 2)) for size in (freedom, float(changed))]
    return max(1.0, squares / changed * (quantiles[0] / quantiles[1]) ** 2)


def clustered_wilson(correct: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a share at the effective sample size.

    Limits: the level is approximate. At 0.95, simulated coverage is 0.94 to 0.98 with 50 clusters on, also of shares of
    0.9 to 0.98, where a bootstrap over clusters covers 0.89 to 0.94 and may be a point.

    Args:
        correct: (n,) of 1, 0 and NaN.
        clusters: (n,) which cluster a sample is in.
        level: In (0, 1).

    Returns:
        Interval of fractions, inside [0, 1] and around the share: Wilson's of n where every cluster has one sample, and
        of the number of clusters where all samples of a cluster agree and all are of one size; NaN without a sample.

    Raises:
        ValueError: If the lengths differ, an outcome is something else or the level is no level.

    Source: N. Dean and M. Pagano, Journal of Survey Statistics and Methodology 3 (2015) 484-503.

    >>> low, high = clustered_wilson([1] * 1550 + [0] * 124, [image for image in range(54) for _ in range(31)])
    >>> round(low, 3), round(high, 3)  # 31 repeats of 54 images: Wilson's of 50 / 54
    (0.824, 0.971)
    """
    outcome = check_outcomes("clustered_wilson", "correct", correct, ndim=1)
    cluster = _clusters("clustered_wilson", clusters, len(outcome))
    known = ~np.isnan(outcome)
    k, n = int(np.nansum(outcome)), int(known.sum())
    if not n:
        return _NONE
    if _all_differ(cluster[known]):
        return wilson(k, n, level)
    return effective_wilson(k / n, effective_sample_size(outcome, cluster, level), level)


def _all_differ(cluster: Ints) -> bool:
    """Return whether no two samples are in one cluster; ascending numbers need no search."""
    return bool((cluster[1:] > cluster[:-1]).all()) or len(np.unique(cluster)) == len(cluster)


def clustered_stratified_interval(
    correct: ArrayLike, classes: ArrayLike, clusters: ArrayLike, level: float = 0.95
) -> Interval:
    """Return the interval of mean per-class recall at the effective sample size of clustered images.

    Args:
        correct: (n,) of 1, 0 and NaN.
        classes: (n,) each image's class, -1 for none.
        clusters: (n,) which cluster an image is in.
        level: In (0, 1).

    Returns:
        Interval of fractions, that of `stratified_interval` where every cluster has one image; NaN where no image is
        scored.

    Raises:
        ValueError: If the lengths differ, an outcome is something else or the level is no level.

    Source: `stratified_interval`, its effective number divided by the design effect of the outcomes less their class's
    recall.

    >>> plain = stratified_interval([1, 1, 0, 0], [0, 0, 1, 1])
    >>> clustered_stratified_interval([1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]) == plain
    True
    """
    outcome = check_outcomes("clustered_stratified_interval", "correct", correct, ndim=1)
    label = check_integers("clustered_stratified_interval", "classes", classes, ndim=1)
    check_length("clustered_stratified_interval", "classes", label, len(outcome))
    cluster = _clusters("clustered_stratified_interval", clusters, len(outcome))
    scored = (label >= 0) & ~np.isnan(outcome)
    if not scored.any():
        return stratified_interval(outcome, label, level)
    recall = per_class_recall(outcome, label, int(label.max()) + 1).values
    apart = np.where(scored, outcome - recall[np.maximum(label, 0)], np.nan)
    effect = float(scored.sum()) / effective_sample_size(apart, cluster, level)
    return stratified_interval(outcome, label, level, max(1.0, effect))


def clustered_change_interval(
    before: ArrayLike, after: ArrayLike, clusters: ArrayLike, level: float = 0.95
) -> Interval:
    """Return the interval of the change of a share between two scorings of clustered samples.

    Args:
        before: (n,) of 1, 0 and NaN; samples scored in both count.
        after: (n,) of 1, 0 and NaN; samples scored in both count.
        clusters: (n,) which cluster a sample is in.
        level: In (0, 1).

    Returns:
        Interval of fractions, inside [-1, 1] and around the mean of after - before, that of `change_interval` where
        every cluster has one sample; NaN where no sample counts.

    Raises:
        ValueError: If the lengths differ, an outcome is something else or the level is no level.

    Source: `change_interval` with the numbers of samples divided by the design effect of the changes, as
    `clustered_wilson` does.

    >>> low, high = clustered_change_interval([1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 2, 2])
    >>> (low, high) == change_interval([1, 1, 0], [0, 1, 0])
    True
    """
    plain = change_interval(before, after, level)
    moved = np.asarray(after, np.float64) - np.asarray(before, np.float64)
    cluster = _clusters("clustered_change_interval", clusters, len(moved))
    n = int((~np.isnan(moved)).sum())
    if not n or _all_differ(cluster[~np.isnan(moved)]):
        return plain
    share = effective_sample_size(moved, cluster, level) / n
    return change_interval_from_counts(share * (moved > 0).sum(), share * (moved < 0).sum(), share * n, level)


def clustered_t_interval(values: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Interval:
    """Return Student's interval of the mean of clustered values: mean ± t(G - 1) · s, s² from the totals of G clusters.

    Args:
        values: (n,), NaN for a sample that does not count.
        clusters: (n,) which cluster a sample is in.
        level: In (0, 1).

    Returns:
        Interval in the values' unit, around their mean, that of `t_interval` where every cluster has one sample, and
        that of the clusters' values where all samples of a cluster agree and all are of one size; NaN with fewer than
        two clusters.

    Raises:
        ValueError: If the lengths differ, a value is infinite, a cluster is no whole number of at least 0 or the level
            is no level.

    Source: W. G. Cochran, Sampling Techniques (1977), Section 9A, the ratio estimator of a mean over clusters, with the
    variance G / (G - 1) · Σ (total - size · mean)² / n².

    >>> low, high = clustered_t_interval([1, 1, 2, 2, 6, 6], [0, 0, 1, 1, 2, 2])
    >>> round(low, 3), round(high, 3)  # Student's of 1, 2 and 6
    (-3.572, 9.572)
    """
    require(0 < level < 1, "clustered_t_interval", "level", "between 0 and 1", level)
    array = np.asarray(values, np.float64)
    require(array.ndim == 1 and not np.isinf(array).any(), "clustered_t_interval", "values", "a finite vector", array)
    cluster = _clusters("clustered_t_interval", clusters, len(array))
    known = ~np.isnan(array)
    _, index = np.unique(cluster[known], return_inverse=True)
    count = int(index.max(initial=-1)) + 1
    if count < 2:
        return _NONE
    mean = float(array[known].mean())
    squares = float((np.bincount(index, array[known] - mean) ** 2).sum())
    half = float(stdtrit(count - 1, (1 + level) / 2)) * (count / (count - 1) * squares) ** 0.5 / int(known.sum())
    return Interval(mean - half, mean + half)


def clustered_mcnemar(before: ArrayLike, after: ArrayLike, clusters: ArrayLike) -> McNemar:
    """Test the change of a share exactly by sign flips of whole clusters; without clusters it is McNemar's test.

    If nothing is different the two runs may be exchanged in any cluster, which turns the sign of its change. p is the
    chance that so drawn signs change the sum as much as observed, either way.

    Args:
        before: (n,) of 1, 0 and NaN, the same samples in one order; those count that have both.
        after: (n,) of 1, 0 and NaN, the same samples in one order; those count that have both.
        clusters: (n,) which cluster a sample is in.

    Returns:
        McNemar(lost, gained, n, p): samples lost, gained and compared, and the two-sided p-value; p is 1 where no
        cluster changed and NaN where no sample counts.

    Raises:
        ValueError: If the lengths differ, an outcome is something else or a cluster no whole number of at least 0.

    Source: R. A. Fisher, The Design of Experiments (1935), Section 21, with the distribution of all signs.

    >>> clustered_mcnemar([1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 2])
    McNemar(lost=6, gained=0, n=6, p=0.25)
    """
    plain = mcnemar(before, after)
    moved = np.asarray(after, np.float64) - np.asarray(before, np.float64)
    cluster = _clusters("clustered_mcnemar", clusters, len(moved))
    if not plain.n:
        return plain
    _, index = np.unique(cluster, return_inverse=True)
    sums = np.rint(np.bincount(index, np.nan_to_num(moved))).astype(np.int64)
    return plain._replace(p=sign_flip_p(sums))


def sign_flip_p(changes: ArrayLike, negative: float = 0.5) -> float:
    """Test the sum of the changes of clusters exactly, by all signs.

    Args:
        changes: (c,) whole numbers, after minus before of each cluster.
        negative: In [0, 1], the probability of a negative sign; it is 1/2 where before and after are exchangeable.

    Returns:
        The two-sided p-value, twice the chance that randomly signed changes have a sum at least as far on the observed
        side, at most 1; with equal signs, the chance of a sum as far from 0. It is 1 where no cluster changed.

    Raises:
        ValueError: If a change is no whole number, or the probability is out of range.

    Source: as `clustered_mcnemar`.

    >>> sign_flip_p([-3, -2, -1, 0]), sign_flip_p([-1, -1, -1, -1, -1, 1])
    (0.25, 0.21875)
    """
    whole = check_integers("sign_flip_p", "changes", changes, ndim=1, least=_ANY)
    require(0 <= negative <= 1, "sign_flip_p", "negative", "in [0, 1]", negative)
    return _sign_flips(whole[whole != 0], negative)


def _sign_flips(changes: Ints, negative: float) -> float:
    """Return the probability that randomly signed changes have a sum as extreme as observed, two-sided."""
    sizes, counts = np.unique(np.abs(changes), return_counts=True)
    if len(sizes) <= 1 and negative == 0.5:
        return float(mcnemar_p([int((changes < 0).sum())], [int((changes > 0).sum())])[0])
    chances: Floats = np.ones(1)  # of sums from `first` on, of those whose sign is +
    first = 0
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        binomial = _binomial(count, 1 - negative)
        likely = np.flatnonzero(binomial > _LEAST)
        spaced = np.zeros(size * (likely[-1] - likely[0]) + 1)
        spaced[::size] = binomial[likely[0] : likely[-1] + 1]
        chances = np.convolve(chances, spaced).astype(np.float64)
        first += size * int(likely[0])
    sums = 2 * (first + np.arange(len(chances))) - int(np.abs(changes).sum())
    observed = int(changes.sum())
    return float(min(1.0, 2 * min(chances[sums <= observed].sum(), chances[sums >= observed].sum())))


def _binomial(n: int, positive: float) -> Floats:
    """Return the probabilities of 0 to n heads in n coin tosses."""
    heads = np.arange(n + 1)
    logs = gammaln(n + 1) - gammaln(heads + 1) - gammaln(n - heads + 1)
    return np.asarray(np.exp(logs + xlogy(heads, positive) + xlogy(n - heads, 1 - positive)), np.float64)


def _spread(apart: Floats) -> tuple[float, float]:
    """Return the sum of squares and its effective degrees of freedom."""
    squares = float((apart**2).sum())
    fourth = float((apart**4).sum())
    return squares, squares**2 / fourth if fourth else 1.0


def _clusters(function: str, clusters: ArrayLike, n: int) -> Ints:
    cluster = check_integers(function, "clusters", clusters, ndim=1, least=0)
    check_length(function, "clusters", cluster, n)
    return cluster
