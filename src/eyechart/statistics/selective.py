"""Selective prediction where classes have equal weight: accuracy by coverage, its area, intervals and resamples."""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_integers, check_length, check_outcomes, require
from eyechart.statistics._sweeps import (
    RankedSamples,
    Step,
    check_outcome_columns,
    check_vector,
    coverage_steps,
    rank_by_confidence,
    run_ends,
    take_at,
)
from eyechart.statistics.measures import Measure
from eyechart.statistics.thresholds import CoverageCurve, accuracy_coverage_area

Average = Literal["micro", "macro", "balanced"]
AVERAGES: tuple[Average, ...] = get_args(Average)
LEAST = np.finfo(np.float64).tiny  # replaces a total weight of 0, so that shares of it are 0
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def macro_accuracy_coverage(confidences: ArrayLike, correct: ArrayLike, classes: ArrayLike) -> CoverageCurve:
    """Return accuracy by coverage, averaged over classes, at every threshold.

    Of the images kept, each class that has one has an accuracy, and these are averaged. Coverage is the share of all
    images, whatever their classes.

    Args:
        confidences: (n,) any numbers, higher is surer.
        correct: (n,) of 1, 0 and NaN.
        classes: (n,) each image's true class, any whole numbers from 0; an image with NaN or of class -1 is left out.

    Returns:
        CoverageCurve of (points,) arrays, as `accuracy_coverage` gives it.

    Raises:
        ValueError: If the lengths differ, an outcome is something else or a class is no whole number.

    Source: RealBirdID, arXiv 2603.27033, Section 4, Metric 3, macro-averaged; Figure 16.

    >>> curve = macro_accuracy_coverage([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 1], [4, 4, 4, 2])
    >>> curve.coverage.tolist(), curve.accuracy.round(3).tolist()
    ([0.25, 0.5, 0.75, 1.0], [1.0, 0.5, 0.667, 0.833])
    """
    return _macro_curve("macro_accuracy_coverage", confidences, correct, classes)


def macro_auc(confidences: ArrayLike, correct: ArrayLike, classes: ArrayLike) -> float:
    """Return the mean over coverage of the macro-averaged accuracy of the most confident images.

    Args:
        confidences: As for `macro_accuracy_coverage`.
        correct: As for `macro_accuracy_coverage`.
        classes: As for `macro_accuracy_coverage`.

    Returns:
        A fraction; NaN where no image is scored.

    Raises:
        ValueError: As `macro_accuracy_coverage` does.

    Source: RealBirdID, arXiv 2603.27033, Section 4, Metric 3, macro-averaged; Figure 16.

    >>> macro_auc([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 1], [4, 4, 4, 2])
    0.75
    """
    curve = _macro_curve("macro_auc", confidences, correct, classes)
    return float(_area(curve.coverage, curve.accuracy)) if curve.kept.size else float("nan")


def balanced_weights(correct: ArrayLike, classes: ArrayLike) -> Floats:
    """Return image weights that give every class equal weight: 1 / scored images of the class.

    Args:
        correct: (n,) of 1, 0 and NaN.
        classes: (n,) each image's true class, -1 for none.

    Returns:
        (n,) weights for `accuracy_coverage` and its like, of sum 1 a class; 0 for an image that is not scored.

    Raises:
        ValueError: If the lengths differ, an outcome is something else or a class is no whole number.

    Source: RealBirdID, arXiv 2603.27033, Section 4, Metric 3, class-imbalance weighting.

    >>> balanced_weights([1, 0, 1, float("nan")], [3, 3, 1, 1]).tolist()
    [0.5, 0.5, 1.0, 0.0]
    """
    outcome = check_outcomes("balanced_weights", "correct", correct, ndim=1)
    label = _classes("balanced_weights", classes, len(outcome))
    weight, scored = np.zeros(len(label)), ~np.isnan(outcome) & (label >= 0)
    _, index, counts = np.unique(label[scored], return_inverse=True, return_counts=True)
    weight[scored] = 1 / counts[index]
    return weight


def aurc(confidences: ArrayLike, correct: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the area under the risk-coverage curve: the mean over coverage of the error rate of the kept images.

    Args:
        confidences: As for `accuracy_coverage`.
        correct: As for `accuracy_coverage`.
        weights: As for `accuracy_coverage`.

    Returns:
        A fraction, lower is better; NaN where no image is scored.

    Raises:
        ValueError: As `accuracy_coverage_area` does.

    Source: Y. Geifman, G. Uziel and R. El-Yaniv, arXiv 1805.08206.

    >>> aurc([0.9, 0.8, 0.7, 0.6], [1, 1, 1, 0])
    0.0625
    """
    return 1 - accuracy_coverage_area(confidences, correct, weights)


def accuracy_coverage_auc(
    confidences: ArrayLike, correct: ArrayLike, *, classes: ArrayLike | None = None, average: Average = "micro"
) -> Measure:
    """Return the area under accuracy by coverage as a measure, for its interval and its resamples.

    Up to rounding its value is that of `accuracy_coverage_area` or `macro_auc`.

    Args:
        confidences: As for `accuracy_coverage`.
        correct: (n,) of 1, 0 and NaN, or (n, L) of L label sets that score the same images.
        classes: (n,) as for `macro_accuracy_coverage`.
        average: "micro", where images count alike, "macro", as `macro_auc`, or "balanced", with `balanced_weights`,
            which each resample has anew; the last two need `classes`.

    Returns:
        Measure, NaN where no image is scored. The resamples of several label sets are (times, L), and these have no
        value and no interval.

    Raises:
        ValueError: As `macro_accuracy_coverage` does, where the average is unknown or has no classes, and where an
            image is NaN under some of the label sets only.

    Source: `accuracy_coverage_area` and `macro_auc`.

    >>> area = accuracy_coverage_auc([0.9, 0.6, 0.6, 0.2], [1, 1, 0, 0])
    >>> area.resample([[1, 1, 1, 1], [0, 0, 2, 2]]).round(3).tolist()
    [0.708, 0.0]
    >>> low, high = accuracy_coverage_auc([0.9, 0.8, 0.7, 0.6, 0.5], [1, 1, 0, 1, 0]).interval()
    >>> round(low, 3), round(high, 3)
    (0.147, 1.0)
    """
    name = "accuracy_coverage_auc"
    require(average in AVERAGES, name, "average", f"one of {AVERAGES}", average)
    require(average == "micro" or classes is not None, name, "classes", f"given for {average!r}", classes)
    columns = check_outcome_columns(name, "correct", correct)
    ranked, label = _of_classes(name, confidences, columns[:, 0], classes)
    outcomes, label_sets = columns[ranked.indices], np.shape(correct)[1:]
    images = _Images.of(ranked, label, outcomes.T)

    def area(counts: Ints) -> Floats:
        return images.area(np.atleast_2d(counts), average).reshape((*counts.shape[:-1], *label_sets))

    return Measure((name, average, ranked.confidence, outcomes, label), len(columns), ranked.indices, area)


class _Images(NamedTuple):
    """Images ranked by confidence, together with their order by class."""

    outcomes: Floats  # (L, n) under each label set
    last: Ints | slice  # a slice where no two are equally confident, which copies nothing
    point: Ints | slice  # the run of equally confident images that each is in
    label: Ints
    rows: Ints  # class by class
    back: Ints  # where in `rows` each image is
    first: NDArray[np.bool_]  # whether a class begins there
    begin: Ints  # for each of `rows`, where its class begins

    @classmethod
    def of(cls, images: RankedSamples, label: Ints, outcomes: Floats) -> "_Images":
        last, rows = run_ends(images.confidence), np.argsort(label, kind="stable")
        first = np.append(True, np.diff(label[rows]) != 0)[: len(rows)]
        begin = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))
        indices: Ints | slice = slice(None)
        point: Ints | slice = slice(None)
        if len(last) < len(label):
            indices, point = last, np.searchsorted(last, np.arange(len(rows)))
        return cls(np.ascontiguousarray(outcomes), indices, point, label, rows, np.argsort(rows), first, begin)

    def area(self, counts: Ints, average: Average) -> Floats:
        """Return the areas (k, L) for images taken `counts` (k, n) times; NaN if no image is taken."""
        if average == "macro":
            mass = take_at(np.cumsum(counts, axis=-1), self.last)
            accuracies = (self.macro(counts, outcome) for outcome in self.outcomes)
            sums = np.stack([_area(mass, accuracy) for accuracy in accuracies], axis=-1)
        else:
            weight = self.balanced(counts) if average == "balanced" else counts
            # whole numbers are summed in a quarter of the time, and floats divided in a quarter
            mass = take_at(np.cumsum(weight, axis=-1).astype(np.float64), self.last)
            shares = coverage_steps(mass) / np.maximum(mass, LEAST)
            # what a right image adds to the accuracies at its own threshold and all lower ones
            reach = take_at(np.cumsum(shares[:, ::-1], axis=-1)[:, ::-1], self.point)
            products = weight.astype(np.float64) * reach
            sums = np.einsum("kn,ln->kl", products, self.outcomes)  # a product by BLAS waits for threads
        total = mass[:, -1:].sum(axis=-1, keepdims=True)  # 0 where there is no image
        areas: Floats = np.divide(sums, total, out=np.full(sums.shape, np.nan), where=total > 0)
        return areas

    def balanced(self, counts: Ints) -> Floats:
        """Return image weights such that every class has weight 1."""
        index = self.label
        if counts.ndim > 1:  # each resample has classes of its own
            index = index + (index.max(initial=0) + 1) * np.arange(len(counts))[:, None]
        sums = np.bincount(index.ravel(), counts.ravel()).clip(1)
        weights: Floats = counts / sums.take(index)
        return weights

    def macro(self, counts: Ints, outcome: Floats) -> Floats:
        """Return the mean accuracy of the classes that have an image, at each distinct confidence."""
        taken = counts.take(self.rows, axis=-1)
        n, right = self._within(taken), self._within(taken * outcome[self.rows])
        some = n > 0
        total, classes = self._summed(right / np.where(some, n, 1)), self._summed(some.astype(np.int64))
        accuracies: Floats = np.maximum(total / np.maximum(classes, 1), 0)
        return accuracies

    def _within(self, values: NDArray[Step]) -> NDArray[Step]:
        """Return cumulative sums that restart with each class."""
        total = np.cumsum(values, axis=-1)
        return total - (total - values).take(self.begin, axis=-1)

    def _summed(self, values: NDArray[Step]) -> NDArray[Step]:
        """Return the sum over classes of a value that changes at each image of the class."""
        change = np.where(self.first, values, coverage_steps(values))
        return take_at(np.cumsum(change.take(self.back, axis=-1), axis=-1), self.last)


def _macro_curve(function: str, confidences: ArrayLike, correct: ArrayLike, classes: ArrayLike) -> CoverageCurve:
    images, label = _of_classes(function, confidences, correct, classes)
    outcome = images.correct
    accuracy = _Images.of(images, label, outcome[None]).macro(np.ones(len(label), np.int64), outcome)
    last = run_ends(images.confidence)
    return CoverageCurve(images.confidence[last], last + 1, (last + 1) / max(len(label), 1), accuracy)


def _area(coverage: NDArray[Step], accuracy: Floats) -> Floats:
    # a product of vectors by BLAS waits for threads, a thousand times
    area: Floats = np.sum(coverage_steps(coverage) * accuracy, axis=-1)
    return area


def _of_classes(
    function: str, confidences: ArrayLike, correct: ArrayLike, classes: ArrayLike | None
) -> tuple[RankedSamples, Ints]:
    """Return the scored images that have a class, the most confident first, and their classes numbered from 0."""
    n = len(check_vector(function, "confidences", confidences))
    label = np.zeros(n, np.int64) if classes is None else _classes(function, classes, n)
    images = rank_by_confidence(function, confidences, correct, label >= 0)
    return images, np.unique(label[images.indices], return_inverse=True)[1].astype(np.int64)


def _classes(function: str, classes: ArrayLike, length: int) -> Ints:
    label = check_integers(function, "classes", classes, ndim=1)
    check_length(function, "classes", label, length)
    return label
