"""One stopping threshold on tree probabilities, evaluated on answerable and unanswerable images."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.realbirdid.statistics.abstention_tradeoff import harmonic_mean
from eyechart.realbirdid.statistics.threshold_steps import ThresholdSteps
from eyechart.statistics._checks import check_booleans, check_integers, check_length, require
from eyechart.statistics._sweeps import check_vector

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class _ThresholdRange(NamedTuple):
    """The thresholds in (low, high] at which each image is correct; empty if both are equal."""

    low: Floats
    high: Floats


class _BestThreshold(NamedTuple):
    """A threshold, the accuracies of answerable and unanswerable images at it, and their harmonic mean."""

    threshold: float
    answerable: float
    unanswerable: float
    harmonic_mean: float


class _CrossFit(NamedTuple):
    """The result of cross-fitting: each image is scored at the threshold chosen on the other half."""

    thresholds: Floats
    correct: Floats
    harmonic_mean: float


def correct_range(steps: ThresholdSteps, truth: ArrayLike) -> _ThresholdRange:
    """Return the thresholds at which the predicted node is exactly the true node; a coarser node is wrong.

    A node is predicted for one span of thresholds or for none, since predictions only become more informative.

    Args:
        steps: `threshold_steps` of n images.
        truth: (n,), the true nodes: a species if the image shows it, otherwise a genus.

    Returns:
        ThresholdRange of (n,) arrays, the low ends at least 0, a high one infinity for the root; 0 and 0 for an image
        that is never right, NaN for one that has no step but the root's and so no probabilities.

    Raises:
        ValueError: If there is not one node an image or one is negative.

    Source: the two accuracies of RealBirdID, arXiv 2603.27033, Figure 4.

    >>> from eyechart.realbirdid.statistics.hierarchy import Tree, threshold_steps
    >>> found = threshold_steps(Tree.from_levels([[0, 1, 2], [0, 0, 1]]), [[0.5, 0.25, 0.25]] * 2)
    >>> span = correct_range(found, [0, 3])  # a species, and its genus
    >>> span.low.tolist(), span.high.tolist()
    ([0.0, 0.5], [0.5, 0.75])
    """
    true = check_integers("correct_range", "truth", truth, ndim=1, least=0)
    check_length("correct_range", "truth", true, len(steps))
    first, last = steps.offsets[:-1], steps.offsets[1:] - 1
    ends, begins = steps.thresholds.copy(), np.append(steps.thresholds[1:], 0.0)
    ends[first], begins[last] = np.inf, 0
    low, high = (np.where(first == last, np.nan, 0.0) for _ in range(2))
    hit = np.flatnonzero(steps.nodes == true[steps.images])
    hit = hit[~np.isnan(low[steps.images[hit]])]
    low[steps.images[hit]], high[steps.images[hit]] = begins[hit], ends[hit]
    return _ThresholdRange(low, high)


def best_threshold(low: ArrayLike, high: ArrayLike, unanswerable: ArrayLike) -> _BestThreshold:
    """Return the threshold with the highest harmonic mean of the accuracies of answerable and unanswerable images.

    Every threshold at which an accuracy rises is tried, so that none is better. Of equally good ones the one with the
    greater sum of accuracies is returned, then the highest one.

    Args:
        low: (n,) the ends of each image's Span, NaN for one that is left out.
        high: (n,) the ends of each image's Span, NaN for one that is left out.
        unanswerable: (n,) booleans.

    Returns:
        Best, of fractions; NaN throughout without answerable or unanswerable images.

    Raises:
        ValueError: If the lengths differ, or a span has one end or its low end above the high one.

    Source: RealBirdID, arXiv 2603.27033, Figure 4: TreeGT's HM.

    >>> best_threshold([0.0, 0.2, 0.5], [0.3, 0.2, 0.8], [False, False, True])
    _BestThreshold(threshold=0.8, answerable=0.0, unanswerable=1.0, harmonic_mean=0.0)
    >>> best_threshold([0.0, 0.0, 0.5], [0.6, 0.2, 0.8], [False, False, True])._asdict()["threshold"]
    0.6
    """
    return _best(*_spans("best_threshold", low, high, unanswerable))


def cross_fit_threshold(low: ArrayLike, high: ArrayLike, unanswerable: ArrayLike, seed: int = 0) -> _CrossFit:
    """Return what a threshold achieves on images that it was not chosen on: two halves, each scored by the other's.

    Args:
        low: As for `best_threshold`.
        high: As for `best_threshold`.
        unanswerable: As for `best_threshold`.
        seed: Of the halves, into which the answerable and the unanswerable images are dealt each by themselves.

    Returns:
        CrossFitted: the thresholds (2,) chosen on the first and on the second half, (n,) outcomes, and the harmonic
        mean of the answerable ones' and the unanswerable ones' means; all NaN with fewer than two of either kind.

    Raises:
        ValueError: As `best_threshold` does.

    Source: M. Stone, Journal of the Royal Statistical Society B 36 (1974) 111-147, with two parts; the accuracies as
    in RealBirdID, arXiv 2603.27033, Figure 4.

    >>> found = cross_fit_threshold([0.0, 0.0, 0.5, 0.5], [0.6, 0.6, 0.8, 0.8], [False, False, True, True])
    >>> found.thresholds.tolist(), found.correct.tolist(), found.harmonic_mean
    ([0.6, 0.6], [1.0, 1.0, 1.0, 1.0], 1.0)
    """
    span, without = _spans("cross_fit_threshold", low, high, unanswerable)
    part = _halves(~np.isnan(span.low), without, seed)
    chosen = [
        _best(_ThresholdRange(span.low[part == half], span.high[part == half]), without[part == half])
        for half in (0, 1)
    ]
    thresholds = np.array([best.threshold for best in chosen])
    if np.isnan(thresholds).any():
        return _CrossFit(np.full(2, np.nan), np.full(len(without), np.nan), float("nan"))
    judge = thresholds[1 - np.maximum(part, 0)]
    correct = np.where(part < 0, np.nan, (span.low < judge) & (judge <= span.high))
    means = [float(correct[(part >= 0) & kind].mean()) for kind in (~without, without)]
    return _CrossFit(thresholds, correct, harmonic_mean(*means))


def _spans(function: str, low: ArrayLike, high: ArrayLike, unanswerable: ArrayLike) -> tuple[_ThresholdRange, Bools]:
    span = _ThresholdRange(check_vector(function, "low", low), check_vector(function, "high", high))
    check_length(function, "high", span.high, len(span.low))
    odd = ~(span.low <= span.high) & ~(np.isnan(span.low) & np.isnan(span.high))
    require(not odd.any(), function, "high", "at least low, or NaN as it is", span.high[odd][0] if odd.any() else None)
    return span, check_booleans(function, "unanswerable", unanswerable, len(span.low))


def _best(span: _ThresholdRange, without: Bools) -> _BestThreshold:
    scored = ~np.isnan(span.low)
    kinds = [_ThresholdRange(span.low[kind], span.high[kind]) for kind in (scored & ~without, scored & without)]
    if not all(kind.low.size for kind in kinds):
        return _BestThreshold(*[float("nan")] * 4)
    tried = np.unique(np.append(span.high[span.low < span.high], np.inf))  # accuracies rise at these alone
    right, (of_a, of_b) = [_right(kind, tried) for kind in kinds], [len(kind.low) for kind in kinds]
    sums = right[0] * of_b + right[1] * of_a  # of the accuracies, in whole numbers: equal ones are equal
    means = np.divide(2 * right[0] * right[1], sums, out=np.zeros(len(tried)), where=sums > 0)
    index = np.lexsort((tried, sums, means))[-1]
    a, b = int(right[0][index]) / of_a, int(right[1][index]) / of_b
    return _BestThreshold(float(tried[index]), a, b, float(means[index]))


def _right(span: _ThresholdRange, thresholds: Floats) -> NDArray[np.int64]:
    """Return the number of images that are correct at each threshold."""
    n = len(span.low)
    reached, left = (np.searchsorted(np.sort(end), thresholds, side="left") for end in span)
    return (n - left) - (n - reached)


def _halves(scored: Bools, without: Bools, seed: int) -> NDArray[np.int64]:
    """Return 0 or 1 for each scored image and -1 for others, each kind split evenly, a surplus image in half 0."""
    random, part = np.random.default_rng(seed), np.full(len(without), -1, np.int64)
    for kind in (~without, without):
        rows = random.permutation(np.flatnonzero(scored & kind))
        part[rows] = np.arange(len(rows)) % 2
    return part
