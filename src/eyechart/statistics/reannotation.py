"""Accuracy under new labels of some of the images, by prediction-powered inference: the published outcome of every
image is known and says much about the new one.

The images are drawn by chance, uniformly or from strata. Few published labels are wrong as a rule, and Student's t
fails where few drawn outcomes change. The images are therefore grouped by their published outcome and their stratum:
each group has a proportion with an interval of its own, and these are joined. With more changes, the difference of two
models is a mean of residuals about the tuned published outcome (PPI++).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, betaln, ndtri, stdtrit

from eyechart.statistics._checks import check_booleans, check_integers, check_length, check_outcomes, require
from eyechart.statistics.intervals import Interval, effective_wilson
from eyechart.statistics.noninferiority import loss_upper_limit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FOLDS = 5
MANY = 10  # drawn outcomes that changed, from which the residuals are enough for Student's t
POST_STRATIFIED, PREDICTION_POWERED = "post-stratified", "PPI++"


@dataclass(frozen=True)
class Reannotated:
    """A mean under new labels.

    Args:
        value: The estimate.
        ci: Its interval as the mean of these images.
        population: Its interval as the mean of the images that these were drawn from.
        plain: How many labels of uniformly drawn images make an interval as short as `ci` without published outcomes.
        changed: How many labelled outcomes differ from the published ones.
        method: "post-stratified" or "PPI++".
    """

    value: float
    ci: Interval
    population: Interval
    plain: float
    changed: int
    method: str


def reannotated_mean(
    outcomes: ArrayLike,
    published: ArrayLike,
    strata: ArrayLike | None = None,
    units: ArrayLike | None = None,
    level: float = 0.95,
) -> Reannotated:
    """Return the accuracy of a model under new labels of images that were drawn by chance.

    The images are grouped by stratum and published outcome. Each group has Jeffreys's interval of its proportion, at
    the effective number of labels of a finite group, or the exact hypergeometric one if more than half of the group is
    labelled; a group without a label has the published outcome, from 0 to 1. They are joined by their distances from
    the estimate (MOVER).

    Limits: the number of labels must not depend on them; `mean_sequence` is for looking before all are there.
    Simulated coverage at 0.95 is 0.94 to 1, lowest where many labels change and highest where few do.

    Args:
        outcomes: (n,) of 1, 0 and NaN, under the new labels; NaN for images without one.
        published: (n,) of 1 and 0, under the published labels.
        strata: (n,) ints of at least 0, from which images were drawn with different probabilities; one without it.
        units: (n,) ints of at least 0, the sampling unit of each image, for the interval of the population.
        level: In (0, 1).

    Returns:
        The estimate and its intervals.

    Raises:
        ValueError: If the lengths differ, an outcome is something else, no image is labelled or the level is no level.

    Source: W. G. Cochran, Sampling Techniques, 1977, section 5A.9, post-stratification; G. Y. Zou and A. Donner,
    Statistics in Medicine 27 (2008) 1693-1702, the joined intervals; L. D. Brown, T. T. Cai and A. DasGupta,
    Statistical Science 16 (2001) 101-133, Jeffreys's interval. For outcomes of 0 and 1 it is prediction-powered
    inference with tuned lambda: A. N. Angelopoulos, J. C. Duchi and T. Zrnic, arXiv 2311.01453.

    >>> labelled = [1] * 29 + [0] + [0] * 9 + [1]
    >>> found = reannotated_mean(labelled + [float("nan")] * 160, [1] * 30 + [0] * 10 + [1] * 120 + [0] * 40)
    >>> round(found.value, 3), [round(end, 3) for end in found.ci], round(found.plain)
    (0.75, [0.675, 0.816], 84)
    """
    function = "reannotated_mean"
    new, old, stratum = _check(function, (outcomes,), (published,), strata, level)
    cells = [*_cells(2 * stratum + old[0].astype(np.int64), ~np.isnan(new[0]))]
    parts = [_proportion(new[0][rows], size, old[0][of][0], level) for of, rows, size in cells]
    value, ci = _join(parts, [size / len(stratum) for _, _, size in cells])
    changed = int((np.abs(new[0] - old[0]) > 0).sum())
    effective = len(stratum) / _design_effect(function, old[0], units)
    drawn = effective_wilson(min(max(value, 0.0), 1.0), effective, level)
    return _describe(value, ci, drawn, value * (1 - value), len(stratum), changed, POST_STRATIFIED, level)


def reannotated_difference(
    first: ArrayLike,
    second: ArrayLike,
    published_first: ArrayLike,
    published_second: ArrayLike,
    same: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    units: ArrayLike | None = None,
    level: float = 0.95,
) -> Reannotated:
    """Return the difference of two models' accuracies under new labels, the first minus the second.

    The images to which both gave the same answer have a difference of 0 under any label. The others are grouped by
    stratum and both published outcomes; each group has Tango's interval of a paired difference, or bounds from two
    exact intervals if more than half of it is labelled, and they are joined as in `reannotated_mean`. If at least 10
    labelled differences changed, and there are no strata, `prediction_powered_mean` gives the interval instead.

    Limits: as `reannotated_mean`.

    Args:
        first: (n,) of 1, 0 and NaN, the first model's outcomes under the new labels.
        second: (n,) as `first`, NaN for the same images.
        published_first: (n,) of 1 and 0, the first model's outcomes under the published labels.
        published_second: (n,) as `published_first`.
        same: (n,) bool, the images to which both models gave the same answer; none without it.
        strata: As in `reannotated_mean`.
        units: As in `reannotated_mean`.
        level: In (0, 1).

    Returns:
        The estimate and its intervals.

    Raises:
        ValueError: As in `reannotated_mean`.

    Source: as `reannotated_mean`; T. Tango, Statistics in Medicine 17 (1998) 891-908, of a group.

    >>> nan, old = float("nan"), [1] * 150 + [0] * 50
    >>> found = reannotated_difference([1] * 40 + [nan] * 160, [1] * 36 + [0] * 4 + [nan] * 160, old, old)
    >>> round(found.value, 3), [round(end, 3) for end in found.ci]
    (0.075, [-0.181, 0.338])
    """
    function = "reannotated_difference"
    new, old, stratum = _check(function, (first, second), (published_first, published_second), strata, level)
    difference, proxy = new[0] - new[1], old[0] - old[1]
    labelled = ~np.isnan(difference)
    changed = int((np.abs(difference - proxy) > 0).sum())
    # 1. Samples are grouped by stratum and by the outcomes of both models under the published labels. Samples on which
    #    the models answer alike are a group of their own, which has no difference under any labels.
    group = 4 * stratum + (2 * old[0] + old[1]).astype(np.int64)
    if same is not None:
        equal = check_booleans(function, "same", same, len(group))
        require(
            not (proxy[equal].any() or difference[equal & labelled].any()), function, "same", "of equal outcomes", same
        )
        group[equal] = -1
    # 2. Each group has a value and an interval of its own, and counts by its share of all samples. With many changed
    #    differences in a plain sample, the prediction-powered mean is shorter and covers as well.
    cells = [*_cells(group, labelled)]
    weights = [size / len(stratum) for _, _, size in cells]
    value, ci = _join([_paired(difference[rows], size, proxy[of][0], level) for of, rows, size in cells], weights)
    method = POST_STRATIFIED
    if changed >= MANY and strata is None and labelled.sum() < len(stratum):
        value, ci, method = *prediction_powered_mean(difference, proxy, level), PREDICTION_POWERED
    # 3. What the published labels alone would give for as many samples: the mean square of a difference, and the value,
    #    give the numbers of samples that were lost and gained, and these give Tango's interval.
    square = sum(
        weight * (np.abs(difference[rows]).mean() if len(rows) else abs(proxy[of][0]))
        for weight, (of, rows, _) in zip(weights, cells, strict=True)
    )
    effective = len(stratum) / _design_effect(function, proxy, units)
    up, down = (max(float(square) + sign * value, 0.0) / 2 * effective for sign in (1, -1))
    drawn = _tango(up, down, max(effective, up + down), level)
    return _describe(value, ci, drawn, float(square) - value**2, len(stratum), changed, method, level)


def prediction_powered_mean(
    outcomes: ArrayLike, proxies: ArrayLike, level: float = 0.95, weight: float | None = None
) -> tuple[float, Interval]:
    """Return the mean of n images of which some, drawn uniformly, are labelled, with a proxy of each image (PPI++).

    The mean of y - λ (f - mean f) over the labelled images, with Student's interval for a finite number of images.
    λ is tuned on other labelled images (five folds) and drawn towards 1, so that few labels do not mislead it.
    Limits: its coverage is far below its level if only a few of the labelled images have a residual.

    Args:
        outcomes: (n,) finite numbers, NaN for images without a label.
        proxies: (n,) finite numbers.
        level: In (0, 1).
        weight: λ, if it was set before; tuned without it.

    Returns:
        The estimate and its interval as the mean of these images; the interval is NaN with fewer than two labels.

    Raises:
        ValueError: If the lengths differ, a number is not finite, no image is labelled or the level is no level.

    Source: A. N. Angelopoulos, J. C. Duchi and T. Zrnic, arXiv 2311.01453, with λ (N - n) / N for their λ; it is the
    regression estimator of W. G. Cochran, Sampling Techniques, 1977, section 7.

    >>> value, ci = prediction_powered_mean([1, 0, 1, 1] + [float("nan")] * 4, [0.9, 0.2, 0.7, 0.8, 0.9, 0.1, 0.6, 0.7])
    >>> round(value, 3), [round(end, 2) for end in ci]
    (0.693, [0.45, 0.93])
    """
    function = "prediction_powered_mean"
    y, f = np.asarray(outcomes, np.float64), np.asarray(proxies, np.float64)
    require(y.ndim == 1 and not np.isinf(y).any(), function, "outcomes", "a vector of finite numbers and NaN", y)
    require(f.ndim == 1 and bool(np.isfinite(f).all()), function, "proxies", "a vector of finite numbers", f)
    check_length(function, "proxies", f, len(y))
    require(0 < level < 1, function, "level", "between 0 and 1", level)
    labelled = np.flatnonzero(~np.isnan(y))
    n = len(labelled)
    require(n > 0, function, "outcomes", "known for at least one image", y)
    known, proxy = y[labelled], f[labelled]
    slopes = _cross_fitted_slopes(known, proxy) if weight is None else np.full(n, weight)
    residuals = known - slopes * (proxy - f.mean())
    value = float(residuals.mean())
    if n < 2:
        return value, Interval(nan, nan)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * sqrt((1 - n / len(y)) * float(residuals.var(ddof=1)) / n)
    return value, Interval(value - half, value + half)


def _check(
    function: str,
    outcomes: tuple[ArrayLike, ...],
    published: tuple[ArrayLike, ...],
    strata: ArrayLike | None,
    level: float,
) -> tuple[list[Floats], list[Floats], Ints]:
    """Return the new and the published outcomes of each model, and the stratum of each image."""
    names = ("outcomes",) if len(outcomes) == 1 else ("first", "second")
    new = [check_outcomes(function, name, values, ndim=1) for name, values in zip(names, outcomes, strict=True)]
    names = ("published",) if len(published) == 1 else ("published_first", "published_second")
    old = [check_outcomes(function, name, values, ndim=1) for name, values in zip(names, published, strict=True)]
    for name, values in zip(names, old, strict=True):
        check_length(function, name, values, len(new[0]))
        require(not np.isnan(values).any(), function, name, "without NaN", values)
    for other in new[1:]:
        same = len(other) == len(new[0]) and bool((np.isnan(other) == np.isnan(new[0])).all())
        require(same, function, "second", "known for the same images as first", other)
    require(not np.isnan(new[0]).all(), function, "outcomes", "known for at least one image", new[0])
    require(0 < level < 1, function, "level", "between 0 and 1", level)
    count = len(new[0])
    stratum = np.zeros(count, np.int64)
    if strata is not None:
        stratum = check_integers(function, "strata", strata, ndim=1, least=0)
        check_length(function, "strata", stratum, count)
    return new, old, stratum


def _cells(group: Ints, labelled: NDArray[np.bool_]) -> Iterator[tuple[Ints, Ints, int]]:
    """Yield the images of each group, its labelled images, and its size; images with the number -1 are in none."""
    for number in np.unique(group[group >= 0]):
        images = np.flatnonzero(group == number)
        yield images, images[labelled[images]], len(images)


def _proportion(outcomes: Floats, size: int, published: float, level: float) -> tuple[float, Interval]:
    """Return the proportion of a group of `size` images from the labelled ones, and its interval."""
    n, right = len(outcomes), int(outcomes.sum())
    if not n:
        return float(published), Interval(0.0, 1.0)
    tail = (1 - level) / 2
    if 2 * n > size:
        return right / n, _hypergeometric(right, n, size, tail)
    rest = (size - n) / (size - 1)
    hits, misses = right / rest + 0.5, (n - right) / rest + 0.5
    low = float(betaincinv(hits, misses, tail)) if right else 0.0
    high = float(betaincinv(hits, misses, 1 - tail)) if right < n else 1.0
    return right / n, Interval(min(low, right / n), max(high, right / n))


def _paired(differences: Floats, size: int, published: float, level: float) -> tuple[float, Interval]:
    """Return the mean difference of a group of `size` images from the labelled ones, and its interval."""
    n, up, down = len(differences), int((differences > 0).sum()), int((differences < 0).sum())
    if not n:
        return float(published), Interval(-1.0, 1.0)
    tail, value = (1 - level) / 2, (up - down) / n
    if 2 * n > size:
        more, fewer = (_hypergeometric(count, n, size, tail / 2) for count in (up, down))
        return value, Interval(more.low - fewer.high, more.high - fewer.low)
    rest = (size - n) / (size - 1)
    return value, _tango(up / rest, down / rest, n / rest, level)


def _tango(up: float, down: float, n: float, level: float) -> Interval:
    tail = (1 - level) / 2
    return Interval(-loss_upper_limit(down, up, n, tail), loss_upper_limit(up, down, n, tail))


def _hypergeometric(right: int, n: int, size: int, tail: float) -> Interval:
    """Return the exact interval of the proportion of a group of `size` images of which n are labelled.

    Its ends are half an image beyond the last numbers that are not excluded, since joined intervals of several groups
    would otherwise be too short.
    """

    def at_most(count: int, total: int) -> float:
        """Return the probability of `count` or fewer among n labelled images, if `total` of the group are right."""
        seen = np.arange(max(0, n - size + total), count + 1)
        logs = _log_binomial(total, seen) + _log_binomial(size - total, n - seen) - _log_binomial(size, np.array([n]))
        return float(np.exp(logs).sum())

    least, most = right, size - n + right
    low, high = least, most  # the smallest total under which so many right ones are not too many
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if 1 - at_most(right - 1, middle) > tail else (middle + 1, high)
    smallest, low, high = low, least, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if at_most(right, middle) > tail else (low, middle - 1)
    return Interval(max(smallest - 0.5, least) / size, min(low + 0.5, most) / size)


def _log_binomial(total: int, count: Ints) -> Floats:
    result: Floats = -betaln(total - count + 1, count + 1) - np.log(total + 1)
    return result


def _join(parts: list[tuple[float, Interval]], weights: list[float]) -> tuple[float, Interval]:
    """Return the weighted mean of the groups, and its interval from theirs."""
    value = sum(weight * mean for weight, (mean, _) in zip(weights, parts, strict=True))
    below = sum((weight * (mean - ci.low)) ** 2 for weight, (mean, ci) in zip(weights, parts, strict=True))
    above = sum((weight * (ci.high - mean)) ** 2 for weight, (mean, ci) in zip(weights, parts, strict=True))
    return value, Interval(value - sqrt(below), value + sqrt(above))


def _cross_fitted_slopes(y: Floats, f: Floats) -> Floats:
    """Return λ for each labelled image, from the images of the other folds."""
    n = len(y)
    folds = min(FOLDS, n)
    fold = np.random.default_rng(0).permutation(n) % folds
    slopes = []
    for other in (fold != number for number in range(folds)):
        if not other.any():
            slopes.append(1.0)
            continue
        deviation = f[other] - f[other].mean()
        slopes.append((float((y[other] - y[other].mean()) @ deviation) + 1) / (float(deviation @ deviation) + 1))
    return np.array(slopes)[fold]


def _design_effect(function: str, published: Floats, units: ArrayLike | None) -> float:
    """Return how many times the variance of the published mean is as large as without clusters, at least 1."""
    deviation = published - published.mean()
    if units is None or not deviation.any():
        return 1.0
    unit = check_integers(function, "units", units, ndim=1, least=0)
    check_length(function, "units", unit, len(published))
    sums = np.bincount(np.unique(unit, return_inverse=True)[1], deviation)
    return max(1.0, float(sums @ sums) / float(deviation @ deviation))


def _describe(
    value: float, ci: Interval, drawn: Interval, variance: float, n: int, changed: int, method: str, level: float
) -> Reannotated:
    """Return the result with its second interval and its worth.

    `drawn` is the interval of the population if all images are labelled, and `variance` that of an image's outcome.
    """
    low = sqrt((value - ci.low) ** 2 + (value - drawn.low) ** 2)
    high = sqrt((ci.high - value) ** 2 + (drawn.high - value) ** 2)
    noise = ((ci.high - ci.low) / 2 / float(ndtri((1 + level) / 2))) ** 2 + variance / n
    plain = min(variance / noise, float(n)) if noise > 0 else float(n)
    return Reannotated(value, ci, Interval(value - low, value + high), plain, changed, method)
