"""Calibration: whether stated confidence agrees with accuracy."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

from eyechart.statistics._checks import check_fractions, check_length, check_outcomes, check_whole_number, require
from eyechart.statistics._sweeps import Samples, check_outcome_columns, count_blocks, total_resamples
from eyechart.statistics.clusters import effective_sample_size
from eyechart.statistics.draws_cache import cached_array
from eyechart.statistics.intervals import Interval, wilson
from eyechart.statistics.resampling import ratios

Binning = Literal["width", "mass"]
Vector = NDArray[np.float64]


class _Reliability(NamedTuple):
    """The bins of a reliability diagram with their bounds; values of an empty bin are NaN."""

    low: Vector
    high: Vector
    counts: NDArray[np.int64]
    confidence: Vector
    accuracy: Vector
    ci_low: Vector
    ci_high: Vector


def reliability(
    confidences: ArrayLike, correct: ArrayLike, bins: int = 15, binning: Binning = "width", level: float = 0.95
) -> _Reliability:
    """Return the mean confidence and the accuracy in bins of confidence.

    Args:
        confidences: (n,) in [0, 1], the probability given to the answer.
        correct: (n,) of 1, 0 and NaN; an image where either is NaN is left out.
        bins: How many, at least 1.
        binning: "width" cuts [0, 1] into bins of equal width, "mass" at the confidences' quantiles, into bins of about
            as many images (equal confidences stay together, so that some may be empty).
        level: In (0, 1).

    Returns:
        Reliability of (bins,) arrays: a bin's bounds (a bin holds its upper one, and the first its lower one as well),
        images, mean confidence, accuracy, and Wilson's interval of the accuracy, all fractions.

    Raises:
        ValueError: If the lengths differ, a value is out of range or `binning` is unknown.

    Source: arXiv 1706.04599, Section 2, whose bins are of equal width; of equal mass in arXiv 1909.10155.

    >>> table = reliability([0.15, 0.35, 0.85, 0.95], [0, 1, 1, 1], bins=2)
    >>> table.counts.tolist(), table.confidence.round(3).tolist(), table.accuracy.tolist()
    ([2, 2], [0.25, 0.9], [0.5, 1.0])
    >>> table.ci_low.round(3).tolist(), table.ci_high.round(3).tolist()
    ([0.095, 0.342], [0.905, 1.0])
    """
    require(0 < level < 1, "reliability", "level", "between 0 and 1", level)
    edges, counts, confidence, right = _binned("reliability", confidences, correct, bins, binning)
    mean_confidence, rate = (
        np.divide(total, counts, out=np.full(len(counts), np.nan), where=counts > 0) for total in (confidence, right)
    )
    ends = np.array([wilson(k, n, level) for k, n in zip(right.tolist(), counts.tolist(), strict=True)])
    return _Reliability(edges[:-1], edges[1:], counts, mean_confidence, rate, ends[:, 0], ends[:, 1])


def calibration_error(confidences: ArrayLike, correct: ArrayLike, bins: int = 15, binning: Binning = "width") -> float:
    """Return the expected calibration error (ECE): the mean distance between confidence and accuracy over bins.

    Limits: chance alone makes it greater than 0, the more so the fewer images a bin has; and what cancels within a bin
    is not seen. Compare values of the same bins and about as many images.

    Args:
        confidences: As for `reliability`.
        correct: As for `reliability`.
        bins: As for `reliability`.
        binning: As for `reliability`.

    Returns:
        A fraction; NaN where no image is scored.

    Raises:
        ValueError: As `reliability` does.

    Source: arXiv 1706.04599, Eq. (3), with M = 15 bins of equal width.

    >>> round(calibration_error([0.15, 0.35, 0.85, 0.95], [0, 1, 1, 1], bins=2), 3)
    0.175
    """
    _, counts, confidence, right = _binned("calibration_error", confidences, correct, bins, binning)
    return float(np.abs(right - confidence).sum() / counts.sum()) if counts.any() else float("nan")


def calibration_error_interval(
    confidences: ArrayLike,
    correct: ArrayLike,
    bins: int = 15,
    binning: Binning = "width",
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> Interval:
    """Return the interval of the expected calibration error over other images in the same bins.

    Noise makes the gap of a bin larger whichever way it points. So the lower end gives back, besides the usual share of
    the standard error, the most that noise is expected to have added to the gaps that are not clearly gaps (a gap is
    taken for two standard errors smaller than it looks). A bin's accuracy is drawn towards a half by z² imaginary
    images. A percentile bootstrap adds the noise twice, and its interval hardly ever reaches the 0 of a calibrated
    model.
    Limits: the level is approximate; with gaps all large the interval is the normal one, otherwise it errs on the wide
    side (at 0.95, simulated coverage is 0.93 to 1.00). It is about the error in these bins, and finer bins can only
    show more.

    Args:
        confidences: As for `reliability`.
        correct: As for `reliability`.
        bins: As for `reliability`.
        binning: As for `reliability`.
        level: In (0, 1).
        clusters: (n,), the cluster of each image, such as its observation: variances are multiplied by the design
            effect of the difference of outcome and confidence (`clusters.effective_sample_size`).

    Returns:
        Interval of fractions, inside [0, 1] and around the error; NaN where no image is scored.

    Raises:
        ValueError: As `reliability` does.

    Source: own, from the mean of the folded normal distribution (F. C. Leone, L. S. Nelson and R. B. Nottingham,
    Technometrics 3 (1961) 543-550) in each bin; on the bias of ECE, arXiv 1909.10155.

    >>> low, high = calibration_error_interval([0.7] * 100, [1] * 40 + [0] * 60)
    >>> round(low, 3), round(high, 3)
    (0.204, 0.396)
    """
    require(0 < level < 1, "calibration_error_interval", "level", "between 0 and 1", level)
    _, counts, confidence, right = _binned("calibration_error_interval", confidences, correct, bins, binning)
    occupied = counts > 0
    if not occupied.any():
        return Interval(float("nan"), float("nan"))
    effect = 1.0
    if clusters is not None:
        gap = np.asarray(correct, np.float64) - np.asarray(confidences, np.float64)
        effect = float(counts.sum()) / effective_sample_size(gap, clusters, level)
    return _around_error(counts[occupied], confidence[occupied], right[occupied], float(ndtri((1 + level) / 2)), effect)


@cached_array
def calibration_error_bootstrap(
    confidences: ArrayLike, correct: ArrayLike, samples: Samples, bins: int = 15, binning: Binning = "width"
) -> Vector:
    """Return `calibration_error` of given resamples, so that two models can be compared on the same resamples.

    Limits: chance is added to that of the images, so that most draws are above the error; of the draws of two models it
    falls out of the difference.

    Args:
        confidences: As for `reliability`.
        correct: (n,), or (n, L) of L label sets that score the same images.
        samples: Resample by resample, how often each image is taken, (n,) whole numbers, as
            `resampling.bootstrap_counts` has them.
        bins: As for `reliability`; the bins are made from all images.
        binning: As for `reliability`.

    Returns:
        A fraction for each resample (times,), of several label sets (times, L); NaN where the resample has no scored
        image.

    Raises:
        ValueError: As `reliability` does, where a resample has another length, and where an image is NaN under some of
            the label sets only.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26; the error as `calibration_error`.

    >>> calibration_error_bootstrap([0.15, 0.35, 0.85, 0.95], [0, 1, 1, 1], [[1] * 4, [4, 0, 0, 0]], bins=2).round(3)
    array([0.175, 0.15 ])
    """
    function = "calibration_error_bootstrap"
    columns = check_outcome_columns(function, "correct", correct)
    _, index, confidence, _, rows = _placed(function, confidences, columns[:, 0], bins, binning)
    order = np.argsort(index, kind="stable")  # bin by bin
    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
    gaps = np.ascontiguousarray((columns[rows] - confidence[:, None])[order].T)
    distances, totals = [np.zeros((0, len(gaps)))], [np.zeros(0)]
    for block in count_blocks(function, samples, len(columns), rows[order]):
        sums = np.add.reduceat(block[:, None].astype(np.float64) * gaps, starts, axis=-1)
        distances.append(np.abs(sums).sum(axis=-1))
        totals.append(block.sum(axis=-1))
    return _column_ratios(np.concatenate(distances), np.concatenate(totals), correct)


def brier_score(confidences: ArrayLike, correct: ArrayLike) -> float:
    """Return the Brier score: the mean squared difference between confidence and correctness.

    It scores the probability given to the one answer, as scikit-learn's `brier_score_loss(correct, confidences)`; not
    the probabilities of all classes, which an image with several right labels does not say how to score.

    Args:
        confidences: (n,) in [0, 1].
        correct: (n,) of 1, 0 and NaN; an image where either is NaN is left out.

    Returns:
        From 0, the best, to 1; NaN where no image is scored.

    Raises:
        ValueError: If the lengths differ or a value is out of range.

    Source: G. W. Brier, Monthly Weather Review 78 (1950) 1-3, for two outcomes and halved, as is usual today.

    >>> round(brier_score([0.9, 0.6], [1, 0]), 3)
    0.185
    """
    confidence, outcome = _pairs("brier_score", confidences, correct)
    error = (confidence - outcome) ** 2
    known = error[~np.isnan(error)]
    return float(known.mean()) if known.size else float("nan")


def brier_interval(confidences: ArrayLike, correct: ArrayLike, level: float = 0.95) -> Interval:
    """Return the interval of the Brier score: Student's interval of the mean with z² pseudo-observations added.

    Half of those are right and half are wrong, all at the mean confidence, and only the variance sees them: that every
    image seen is right, and surely so, does not show that all others are.
    Limits: the level is approximate (at 0.95, simulated coverage is 0.91 to 1.00 from 10 images on).

    Args:
        confidences: As for `brier_score`.
        correct: As for `brier_score`.
        level: In (0, 1).

    Returns:
        Interval inside [0, 1] and around the score; NaN where no image is scored.

    Raises:
        ValueError: If the lengths differ or a value is out of range.

    Source: own: n degrees of freedom, and imaginary images in the manner of A. Agresti and B. A. Coull, The American
    Statistician 52 (1998) 119-126.

    >>> low, high = brier_interval([0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0])
    >>> round(low, 3), round(high, 3)
    (0.0, 0.442)
    """
    require(0 < level < 1, "brier_interval", "level", "between 0 and 1", level)
    confidence, outcome = _pairs("brier_interval", confidences, correct)
    errors = (confidence - outcome) ** 2
    known = ~np.isnan(errors)
    if not known.any():
        return Interval(float("nan"), float("nan"))
    n, z = int(known.sum()), float(ndtri((1 + level) / 2))
    imagined = (confidence[known].mean() - np.array([0, 1])) ** 2
    half = float(stdtrit(n, (1 + level) / 2)) * _standard_error(errors[known], imagined, z * z / 2)
    score = float(errors[known].mean())
    return Interval(max(0.0, score - half), min(1.0, score + half))


@cached_array
def brier_score_bootstrap(confidences: ArrayLike, correct: ArrayLike, samples: Samples) -> Vector:
    """Return `brier_score` of given resamples, so that two models can be compared on the same resamples.

    Args:
        confidences: As for `brier_score`.
        correct: As for `calibration_error_bootstrap`.
        samples: As for `calibration_error_bootstrap`.

    Returns:
        A number from 0, the best, to 1 for each resample (times,), of several label sets (times, L); NaN where the
        resample has no scored image.

    Raises:
        ValueError: If the lengths differ, also of a resample, a value is out of range, or an image is NaN under some of
            the label sets only.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26; the score as `brier_score`.

    >>> brier_score_bootstrap([0.9, 0.6], [1, 0], [[1, 1], [2, 0]]).round(3)
    array([0.185, 0.01 ])
    """
    function = "brier_score_bootstrap"
    columns = check_outcome_columns(function, "correct", correct)
    confidence, outcome = _pairs(function, confidences, columns[:, 0])
    known = ~np.isnan(confidence - outcome)
    errors = np.where(known[:, None], (confidence[:, None] - columns) ** 2, 0)
    totals = total_resamples(function, samples, np.column_stack([errors, known]))
    return _column_ratios(totals[:, :-1], totals[:, -1], correct)


def _column_ratios(parts: Vector, whole: Vector, correct: ArrayLike) -> Vector:
    """Return the ratios (times,) or (times, L) of parts (times, L) to the whole (times,), as outcomes have columns."""
    shares = ratios(parts, np.broadcast_to(whole[:, None], parts.shape))
    return shares.reshape(len(parts), *np.shape(correct)[1:])


def _pairs(function: str, confidences: ArrayLike, correct: ArrayLike) -> tuple[Vector, Vector]:
    confidence = check_fractions(function, "confidences", confidences, ndim=1)
    outcome = check_outcomes(function, "correct", correct, ndim=1)
    check_length(function, "correct", outcome, len(confidence))
    return confidence, outcome


def _standard_error(observed: Vector, imagined: Vector, times: float) -> float:
    """Return the standard error of a mean, with each pseudo-observation counted `times` times."""
    first, second = ((observed**power).sum() + times * (imagined**power).sum() for power in (1, 2))
    total = len(observed) + times * len(imagined)
    return float(np.sqrt(max(0.0, second / total - (first / total) ** 2) / len(observed)))


def _binned(
    function: str, confidences: ArrayLike, correct: ArrayLike, bins: int, binning: Binning
) -> tuple[Vector, NDArray[np.int64], Vector, Vector]:
    """Return the edges of the bins, and per bin the images, the sum of confidences and the correct answers."""
    edges, index, confidence, outcome, _ = _placed(function, confidences, correct, bins, binning)
    confidence_sums, right = (np.bincount(index, weights, bins).astype(np.float64) for weights in (confidence, outcome))
    return edges, np.bincount(index, minlength=bins).astype(np.int64), confidence_sums, right


def _placed(
    function: str, confidences: ArrayLike, correct: ArrayLike, bins: int, binning: Binning
) -> tuple[Vector, NDArray[np.int64], Vector, Vector, NDArray[np.int64]]:
    """Return the edges of the bins, and for each scored image its bin, confidence, correctness and index."""
    bins = check_whole_number(function, "bins", bins, least=1)
    require(binning in ("width", "mass"), function, "binning", "'width' or 'mass'", binning)
    confidence, outcome = _pairs(function, confidences, correct)
    rows = np.flatnonzero(~np.isnan(confidence) & ~np.isnan(outcome))
    confidence, outcome = confidence[rows], outcome[rows]
    edges: Vector = np.linspace(0, 1, bins + 1)
    if binning == "mass":
        edges = np.asarray(np.quantile(confidence, edges) if confidence.size else np.full(bins + 1, np.nan), np.float64)
    return edges, np.searchsorted(edges[1:-1], confidence).astype(np.int64), confidence, outcome, rows


def _around_error(counts: NDArray[np.int64], confidence: Vector, right: Vector, z: float, effect: float) -> Interval:
    n, weight = counts.sum(), z * z
    gaps = np.abs(right - confidence) / n
    error = float(gaps.sum())
    drawn = (right + weight / 2) / (counts + weight)
    noise = np.sqrt(effect * counts * drawn * (1 - drawn)) / n
    between = (
        max(0.0, float((n * gaps**2 / counts).sum()) - error**2) * effect / n
    )  # which bins other images would fall in
    half = z * float(np.sqrt((noise**2).sum() + between))
    added = float((noise * _folded(np.maximum(gaps / noise - 2, 0))).sum())
    return Interval(max(0.0, error - added - half), min(1.0, error + half))


def _folded(mean: Vector) -> Vector:
    """Return by how much E|X| exceeds |mean| for a normal variable X of variance 1."""
    excess: Vector = np.sqrt(2 / np.pi) * np.exp(-(mean**2) / 2) - 2 * mean * ndtr(-mean)
    return excess
