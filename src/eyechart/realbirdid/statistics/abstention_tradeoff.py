"""Abstention: whether uncertainty separates unanswerable from answerable images."""

from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_booleans, check_length, check_outcomes, require
from eyechart.statistics._sweeps import (
    Samples,
    check_vector,
    coverage_steps,
    run_ends,
    take_at,
    total_resamples,
)
from eyechart.statistics.bootstrap_samples import Seed
from eyechart.statistics.degenerate_intervals import ROUNDING, share_interval
from eyechart.statistics.draws_cache import cached_array, cached_tuple
from eyechart.statistics.intervals import Interval
from eyechart.statistics.measures import Measure, clusters_of
from eyechart.statistics.resampling import cluster_bootstrap_totals, ratios

Criterion = Literal["max_probability", "entropy", "margin"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
Floats = NDArray[np.float64]
_NONE = Interval(float("nan"), float("nan"))


class _AbstentionCurve(NamedTuple):
    """Shares of answerable and unanswerable images abstained from at each threshold, from (0, 0) to (1, 1)."""

    thresholds: Floats
    answerable: Floats
    unanswerable: Floats


def uncertainty(
    criterion: Criterion,
    probability: ArrayLike,
    second: ArrayLike,
    entropy: ArrayLike,
    rest: ArrayLike | None = None,
) -> Floats:
    """Return the uncertainty of predicted distributions; a model abstains from images of high uncertainty first.

    Args:
        criterion: One of CRITERIA.
        probability: (n,), the two largest of each image's distribution.
        second: (n,), the two largest of each image's distribution.
        entropy: (n,) of it, in any unit.
        rest: (n,), the sum of all but the largest, which is 1 - p1 by default: where p1 is almost 1, a sum of small
            numbers distinguishes more of them than a difference from 1.

    Returns:
        (n,) 1 - p1 for "max_probability", the entropy, or 1 - (p1 - p2) for "margin"; NaN where an image has none.

    Raises:
        ValueError: If the criterion is unknown or the lengths differ.

    Source: RealBirdID, arXiv 2603.27033, Section 4 and Section A.

    >>> uncertainty("margin", [0.75, 0.5], [0.25, 0.5], [0.6, 0.7]).tolist()
    [0.5, 1.0]
    """
    require(criterion in CRITERIA, "uncertainty", "criterion", f"one of {CRITERIA}", criterion)
    first, other, spread = (
        check_vector("uncertainty", name, values)
        for name, values in (("probability", probability), ("second", second), ("entropy", entropy))
    )
    check_length("uncertainty", "second", other, len(first))
    check_length("uncertainty", "entropy", spread, len(first))
    others = 1 - first if rest is None else check_vector("uncertainty", "rest", rest)
    check_length("uncertainty", "rest", others, len(first))
    uncertainties = {"max_probability": others, "entropy": spread, "margin": others + other}
    return uncertainties[criterion]


def abstention_curve(uncertainty: ArrayLike, unanswerable: ArrayLike) -> _AbstentionCurve:
    """Return the shares of answerable and unanswerable images abstained from at every threshold.

    An image is abstained from where its uncertainty is at least the threshold; equal ones are so together.

    Args:
        uncertainty: (n,) numbers below infinity, NaN for an image that is left out.
        unanswerable: (n,) booleans.

    Returns:
        AbstentionCurve of (points,) arrays: infinity, where none is abstained from, then each distinct uncertainty,
        falling; the share of the answerable at or above it, x, and of the unanswerable, y, neither ever falling. NaN
        throughout for a share of no images.

    Raises:
        ValueError: If the lengths differ or an uncertainty is infinity.

    Source: RealBirdID, arXiv 2603.27033, Section 4, Metric 1, and Figure 5 (c).

    >>> curve = abstention_curve([0.9, 0.5, 0.5, 0.1], [True, True, False, False])
    >>> curve.thresholds.tolist(), curve.answerable.tolist(), curve.unanswerable.tolist()
    ([inf, 0.9, 0.5, 0.1], [0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    unsure, without, _ = _ordered("abstention_curve", uncertainty, unanswerable)
    last = run_ends(unsure)
    shares = [_share(np.append(0, np.cumsum(kind)[last])) for kind in (~without, without)]
    return _AbstentionCurve(np.append(np.inf, unsure[last]), *shares)


def abstention_rate_at(uncertainty: ArrayLike, unanswerable: ArrayLike, share: float = 0.95) -> Measure:
    """Return the abstention rate on answerable images if it is at least `share` on unanswerable images.

    Args:
        uncertainty: As for `abstention_curve`.
        unanswerable: As for `abstention_curve`.
        share: Above 0 and at most 1, which may be less than one image.

    Returns:
        Measure, at the highest threshold that does it, with answerable and unanswerable images resampled separately;
        NaN without answerable or unanswerable images.

    Raises:
        ValueError: As `abstention_curve` does, and where the share is out of range.

    Source: the false positive rate at 95 % true positives of S. Liang, Y. Li and R. Srikant, arXiv 1706.02690.

    >>> abstention_rate_at([0.9, 0.5, 0.5, 0.1], [True, True, False, False]).value
    0.5
    """
    name = "abstention_rate_at"
    require(0 < share <= 1, name, "share", "above 0 and at most 1", share)
    unsure, without, rows = _ordered(name, uncertainty, unanswerable)
    reached = partial(_reached, without, run_ends(unsure), share)
    return Measure(
        (name, share, unsure, without), len(np.asarray(uncertainty)), rows, reached, without.astype(np.int64)
    )


def ua_a(uncertainty: ArrayLike, unanswerable: ArrayLike) -> Measure:
    """Return UA/A, the area under the abstention curve: the probability that uncertainty ranks a pair correctly.

    It is the chance that an unanswerable image is the less certain one of a pair, ties a half: the AUROC.

    Args:
        uncertainty: As for `abstention_curve`.
        unanswerable: As for `abstention_curve`.

    Returns:
        Measure, 0.5 where uncertainty is uninformative, with answerable and unanswerable images resampled separately;
        NaN without answerable or unanswerable images.

    Raises:
        ValueError: As `abstention_curve` does.

    Source: RealBirdID, arXiv 2603.27033, Section 4, Metric 1; J. A. Hanley and B. J. McNeil, Radiology 143 (1982)
    29-36.

    >>> area = ua_a([0.9, 0.5, 0.5, 0.1], [True, True, False, False])
    >>> area.value, area.resample([[1, 1, 1, 1], [0, 2, 2, 0]]).tolist()
    (0.875, [0.875, 0.5])
    >>> low, high = ua_a([0.9, 0.7, 0.5, 0.5, 0.2, 0.1], [True, False, True, False, False, False]).interval()
    >>> round(low, 3), round(high, 3)
    (0.375, 1.0)
    """
    unsure, without, rows = _ordered("ua_a", uncertainty, unanswerable)
    concordance, kinds = partial(_concordance, without, run_ends(unsure)), without.astype(np.int64)
    return Measure(("ua_a", unsure, without), len(np.asarray(uncertainty)), rows, concordance, kinds)


def harmonic_mean(a: float, b: float) -> float:
    """Return the harmonic mean of two accuracies; it is high only if both are high.

    Args:
        a: Fractions, of the answerable and of the unanswerable images.
        b: Fractions, of the answerable and of the unanswerable images.

    Returns:
        A fraction, 0 where either is 0; NaN where either is NaN.

    Raises:
        ValueError: If one is negative.

    Source: RealBirdID, arXiv 2603.27033, Figure 4, HM.

    >>> harmonic_mean(0.2, 0.6)
    0.3
    """
    for name, value in (("a", a), ("b", b)):
        require(not value < 0, "harmonic_mean", name, "at least 0 or NaN", value)
    return float(_harmonic(np.float64(a), np.float64(b)))


@cached_tuple
def harmonic_mean_interval(
    correct_a: ArrayLike,
    correct_ua: ArrayLike,
    times: int = 1000,
    seed: Seed = 0,
    level: float = 0.95,
    clusters: tuple[ArrayLike, ArrayLike] | None = None,
) -> Interval:
    """Return the percentile interval of the harmonic mean of two accuracies, each resampled over its own images.

    Args:
        correct_a: (n,) of 1, 0 and NaN, which is left out: the answerable images.
        correct_ua: (m,) of 1, 0 and NaN, which is left out: the unanswerable images.
        times: How many resamples.
        seed: A whole number or a numpy Generator.
        level: The confidence level, in (0, 1).
        clusters: (n,) and (m,), the cluster of each image, such as its observation, whose images are drawn all or none.

    Returns:
        Interval of fractions; where no resample differs, the harmonic means of both accuracies' lower and upper ends,
        by `share_interval`; NaN where either has no image or without resamples.

    Raises:
        ValueError: If an outcome is something else, `times` is negative or the level is no level.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26, in two strata.

    >>> low, high = harmonic_mean_interval([1, 0, 0, 0] * 50, [1, 1, 1, 0] * 50)
    >>> round(low, 2), round(high, 2)
    (0.3, 0.44)
    """
    require(0 < level < 1, "harmonic_mean_interval", "level", "between 0 and 1", level)
    sides = [
        check_outcomes("harmonic_mean_interval", name, values, ndim=1)
        for name, values in (("correct_a", correct_a), ("correct_ua", correct_ua))
    ]
    rows, random = [np.flatnonzero(~np.isnan(side)) for side in sides], np.random.default_rng(seed)
    cluster_pair = clusters or (np.arange(len(sides[0])), np.arange(len(sides[1])))
    units = [
        clusters_of("harmonic_mean_interval", kept, len(side), cluster)
        for cluster, side, kept in zip(cluster_pair, sides, rows, strict=True)
    ]
    sides = [side[kept] for side, kept in zip(sides, rows, strict=True)]
    if not all(side.size for side in sides):
        return _NONE
    tables = [np.stack([side, np.ones(len(side))], axis=1).astype(np.int64) for side in sides]
    totals = [cluster_bootstrap_totals(table, unit, times, random) for table, unit in zip(tables, units, strict=True)]
    draws = [ratios(total[:, 0], total[:, 1]) for total in totals]
    return _harmonic_interval(draws, sides, [len(np.unique(unit)) for unit in units], level)


@cached_array
def harmonic_mean_bootstrap(correct: ArrayLike, unanswerable: ArrayLike, samples: Samples) -> Floats:
    """Return the harmonic mean of the accuracies of answerable and unanswerable images in given resamples.

    Args:
        correct: (n,) of 1, 0 and NaN, which is left out.
        unanswerable: (n,) booleans.
        samples: Resample by resample how often each image is taken, (n,) whole numbers, as
            `resampling.bootstrap_counts` has them.

    Returns:
        A fraction for each resample, NaN where it has no answerable or no unanswerable images.

    Raises:
        ValueError: If an outcome is something else, the lengths differ or a resample has another length.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26; the mean as `harmonic_mean`.

    >>> harmonic_mean_bootstrap([1, 0, 1], [False, False, True], [[1, 1, 1], [0, 2, 1], [2, 1, 0]]).round(3).tolist()
    [0.667, 0.0, nan]
    """
    outcome = check_outcomes("harmonic_mean_bootstrap", "correct", correct, ndim=1)
    without = check_booleans("harmonic_mean_bootstrap", "unanswerable", unanswerable, len(outcome))
    kinds = np.stack([~without, without], axis=1) & ~np.isnan(outcome)[:, None]
    sides = np.concatenate([kinds & (outcome == 1)[:, None], kinds], axis=1, dtype=np.float64)
    totals = total_resamples("harmonic_mean_bootstrap", samples, sides)
    accuracies = ratios(totals[:, :2], totals[:, 2:])
    return _harmonic(accuracies[:, 0], accuracies[:, 1])


def _ordered(
    function: str, uncertainty: ArrayLike, unanswerable: ArrayLike
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]:
    """Return uncertainty, whether there is no answer, and indices, the least certain image first."""
    unsure = check_vector(function, "uncertainty", uncertainty)
    without = check_booleans(function, "unanswerable", unanswerable, len(unsure))
    require(not np.isposinf(unsure).any(), function, "uncertainty", "below infinity or NaN", np.inf)
    known = np.flatnonzero(~np.isnan(unsure))
    order = known[np.argsort(-unsure[known], kind="stable")]
    return unsure[order], without[order], order


def _concordance(without: NDArray[np.bool_], last: NDArray[np.int64], counts: NDArray[np.int64]) -> Floats:
    """Return the share of pairs in the right order, ties as a half, for images taken `counts` (..., n) times.

    NaN where there is no pair. The least certain come first; `last` has the last index of each run of equally certain
    ones.
    """
    positive, total = (take_at(np.cumsum(values, axis=-1), last) for values in (counts * without, counts))
    negative = total - positive
    # a product by BLAS waits for threads
    twice = (coverage_steps(negative) * (2 * positive - coverage_steps(positive))).sum(axis=-1)
    pairs = positive[..., -1:].sum(axis=-1) * negative[..., -1:].sum(axis=-1)  # none where there is no image
    shares: Floats = np.where(pairs > 0, twice / np.maximum(2 * pairs, 1), np.nan)
    return shares


def _reached(without: NDArray[np.bool_], last: NDArray[np.int64], share: float, counts: NDArray[np.int64]) -> Floats:
    """Return the abstention rate on answerable images at the first threshold with `share` of the unanswerable."""
    abstained, total = (take_at(np.cumsum(values, axis=-1), last) for values in (counts * without, counts))
    kept = total - abstained
    if not last.size:
        return np.full(counts.shape[:-1], np.nan)
    of_all = abstained / np.maximum(abstained[..., -1:], 1)  # compared, not counted: floor(share * n) may be 0
    enough = np.take_along_axis(kept, (of_all >= share).argmax(axis=-1, keepdims=True), axis=-1)[..., 0]
    both = (abstained[..., -1] > 0) & (kept[..., -1] > 0)
    return np.where(both, enough / np.maximum(kept[..., -1], 1), np.nan)


def _share(totals: NDArray[np.int64]) -> Floats:
    return totals / totals[-1] if totals[-1] else np.full(len(totals), np.nan)


def _harmonic(a: Floats | np.float64, b: Floats | np.float64) -> Floats:
    total = np.asarray(a + b)
    return np.divide(2 * a * b, total, out=np.zeros(total.shape), where=total != 0)


def _harmonic_interval(draws: list[Floats], sides: list[Floats], units: list[int], level: float) -> Interval:
    means = [float(side.mean()) for side in sides]
    samples = _harmonic(draws[0], draws[1])
    if not samples.size:
        return _NONE
    if np.ptp(samples) > ROUNDING:
        return share_interval(samples, harmonic_mean(*means), min(units), level)
    own = [share_interval(d, m, n, level) for d, m, n in zip(draws, means, units, strict=True)]
    return Interval(harmonic_mean(own[0].low, own[1].low), harmonic_mean(own[0].high, own[1].high))
