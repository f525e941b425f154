"""Selective prediction: accuracy by coverage, its area and interval."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import require
from eyechart.statistics._sweeps import RankedSamples, coverage_steps, rank_by_confidence, run_ends, running_rate
from eyechart.statistics.intervals import Interval, effective_wilson


class CoverageCurve(NamedTuple):
    """Accuracy by coverage, one point per distinct confidence, the highest first; the last point keeps every image."""

    thresholds: NDArray[np.float64]
    kept: NDArray[np.int64]
    coverage: NDArray[np.float64]
    accuracy: NDArray[np.float64]


def accuracy_coverage(confidences: ArrayLike, correct: ArrayLike, weights: ArrayLike | None = None) -> CoverageCurve:
    """Return coverage and accuracy of the images whose confidence reaches a threshold, at every threshold.

    Images of equal confidence are kept or left together: no threshold separates them.

    Args:
        confidences: (n,) any numbers, higher is surer.
        correct: (n,) of 1, 0 and NaN; an image where either is NaN is left out.
        weights: (n,) what each image counts, 1 where not given, as for classes of unequal size.

    Returns:
        CoverageCurve of (points,) arrays: the thresholds, falling; how many images are kept; their share of all the
        weight, ending in 1; the share of their weight that is correct. No points where no image is scored.

    Raises:
        ValueError: If the lengths differ, an outcome is something else or a weight is no finite number from 0.

    Source: Y. Geifman and R. El-Yaniv, arXiv 1705.08500: coverage, and one less the selective risk.

    >>> curve = accuracy_coverage([0.9, 0.6, 0.6, 0.2], [1, 1, 0, 0])
    >>> curve.thresholds.tolist(), curve.kept.tolist(), curve.coverage.tolist()
    ([0.9, 0.6, 0.2], [1, 3, 4], [0.25, 0.75, 1.0])
    >>> curve.accuracy.round(3).tolist()
    [1.0, 0.667, 0.5]
    """
    return _curve(rank_by_confidence("accuracy_coverage", confidences, correct, weights))


def accuracy_at_coverage(
    confidences: ArrayLike, correct: ArrayLike, coverage: float, weights: ArrayLike | None = None
) -> float:
    """Return the accuracy at the highest threshold that keeps at least a given share of the images.

    Args:
        confidences: As for `accuracy_coverage`.
        correct: As for `accuracy_coverage`.
        weights: As for `accuracy_coverage`.
        coverage: Above 0 and at most 1. The least that can be kept is every image of the highest confidence, never none
            and never all by accident.

    Returns:
        A fraction; NaN where no image is scored.

    Raises:
        ValueError: As `accuracy_coverage` does, and where the coverage is out of range.

    Source: Y. Geifman and R. El-Yaniv, arXiv 1705.08500.

    >>> accuracy_at_coverage([0.9, 0.6, 0.3, 0.2], [1, 1, 0, 0], 0.5)
    1.0
    >>> accuracy_at_coverage([0.9, 0.6, 0.3, 0.2], [1, 1, 0, 0], 0.51)
    0.6666666666666666
    """
    require(0 < coverage <= 1, "accuracy_at_coverage", "coverage", "above 0 and at most 1", coverage)
    curve = _curve(rank_by_confidence("accuracy_at_coverage", confidences, correct, weights))
    index = np.searchsorted(curve.coverage, coverage)  # compared, not counted: floor(coverage * n) may be 0
    return float(curve.accuracy[index]) if curve.kept.size else float("nan")


def accuracy_coverage_area(confidences: ArrayLike, correct: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the mean over coverage of the accuracy of the most confident images.

    At a coverage between two points the images of the next one are kept, so that without ties this is the mean, over
    k = 1 … n, of the accuracy of the k most confident: one less the area under the risk-coverage curve. Where all
    confidences are equal it is the accuracy.

    Args:
        confidences: As for `accuracy_coverage`.
        correct: As for `accuracy_coverage`.
        weights: As for `accuracy_coverage`.

    Returns:
        A fraction; NaN where no image is scored.

    Raises:
        ValueError: As `accuracy_coverage` does.

    Source: Y. Geifman, G. Uziel and R. El-Yaniv, arXiv 1805.08206, whose AURC is one less this; RealBirdID's
    AUC, arXiv 2603.27033.

    >>> accuracy_coverage_area([0.9, 0.6, 0.6, 0.2], [1, 1, 0, 0])
    0.7083333333333333
    >>> accuracy_coverage_area([0.5, 0.5], [1, 0])
    0.5
    """
    return _area(_curve(rank_by_confidence("accuracy_coverage_area", confidences, correct, weights)))


def accuracy_coverage_area_interval(
    confidences: ArrayLike, correct: ArrayLike, weights: ArrayLike | None = None, *, level: float = 0.95
) -> Interval:
    """Return the interval of the area: Wilson's, at the effective number of images.

    The area leans on the most confident images, so that it is known less well than the accuracy. Its variance is that
    of each image's influence on it, and at least what it would be if every image were right with equal probability (as
    if of half the images, without ties): few errors seen say little about the errors of others.
    Limits: the level is approximate and the interval errs on the wide side (at 0.95, simulated coverage is 0.94 to
    1.00), widest where confidence separates right from wrong well.

    Args:
        confidences: As for `accuracy_coverage`.
        correct: As for `accuracy_coverage`.
        weights: As for `accuracy_coverage`.
        level: In (0, 1).

    Returns:
        Interval of fractions, inside [0, 1] and around the area; NaN where no image is scored.

    Raises:
        ValueError: As `accuracy_coverage` does, and where the level is no level.

    Source: own combination of the area's influence function (F. R. Hampel, JASA 69 (1974) 383-393) with Wilson's
    interval at an effective sample size, as N. Dean and M. Pagano, Journal of Survey Statistics and Methodology 3
    (2015) 484-503, use it.

    >>> low, high = accuracy_coverage_area_interval([0.9, 0.6, 0.6, 0.2], [1, 1, 0, 0])
    >>> round(low, 3), round(high, 3)
    (0.229, 0.952)
    """
    require(0 < level < 1, "accuracy_coverage_area_interval", "level", "between 0 and 1", level)
    images = rank_by_confidence("accuracy_coverage_area_interval", confidences, correct, weights)
    if not images.indices.size:
        return Interval(float("nan"), float("nan"))
    curve = _curve(images)
    area = min(1.0, _area(curve))
    share = images.weight / images.weight.sum()
    return effective_wilson(area, _effective_number(curve, area, images.correct, share), level)


def _curve(images: RankedSamples) -> CoverageCurve:
    last = run_ends(images.confidence)
    mass, accuracy = running_rate(images.correct, images.weight, last)
    return CoverageCurve(images.confidence[last], last + 1, mass / mass[-1:], accuracy)


def _area(curve: CoverageCurve) -> float:
    return float(coverage_steps(curve.coverage) @ curve.accuracy) if curve.kept.size else float("nan")


def _effective_number(
    curve: CoverageCurve, area: float, outcome: NDArray[np.float64], share: NDArray[np.float64]
) -> float:
    """Return the number of images at which a plain proportion would have the variance of the area."""
    share_of_kept = coverage_steps(curve.coverage) / curve.coverage
    group = np.repeat(np.arange(len(share_of_kept)), np.diff(curve.kept, prepend=0))
    reach = _below(share_of_kept)[group]  # how much a right answer adds, at its own threshold and all below
    influence = curve.accuracy[group] - area + outcome * reach - _below(share_of_kept * curve.accuracy)[group]
    alike = float(((share * reach) ** 2).sum())
    spread = area * (1 - area)
    return spread / max(float(((share * influence) ** 2).sum()), spread * alike) if spread > 0 else 1 / alike


def _below(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.cumsum(values[::-1])[::-1]
