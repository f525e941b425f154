"""What is gained by keeping only the most confident answers, where classes count alike; and how sure the gain is."""

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics._checks import demand, integers, lengths, outcome_array
from eyechart.metrics._sweeps import Falling, ends, falling, running, steps, vector
from eyechart.metrics.alike import share_interval
from eyechart.metrics.intervals import Interval
from eyechart.metrics.resampling import Seed, drawn
from eyechart.metrics.thresholds import Curve, accuracy_coverage_auc

Average = Literal["micro", "macro", "balanced"]
AVERAGES: tuple[Average, ...] = get_args(Average)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def macro_coverage(confidences: ArrayLike, correct: ArrayLike, classes: ArrayLike) -> Curve:
    """Accuracy by coverage as the mean over classes, at every threshold there is.

    Of the images kept, each class that has one has an accuracy, and these are averaged. Coverage is the share of all
    images, whatever their classes.

    Args: `confidences` (n,) any numbers, higher is surer; `correct` (n,) of 1, 0 and NaN; `classes` (n,) each image's
    true class, any whole numbers from 0; an image with NaN or of class -1 is left out.
    Returns: Curve of (points,) arrays, as `accuracy_coverage` gives it.
    Raises: ValueError where the lengths differ, an outcome is something else or a class is no whole number.
    Source: RealBirdID, arXiv 2603.27033, Section 4, Metric 3, macro-averaged; Figure 16.

    >>> curve = macro_coverage([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 1], [4, 4, 4, 2])
    >>> curve.coverage.tolist(), curve.accuracy.round(3).tolist()
    ([0.25, 0.5, 0.75, 1.0], [1.0, 0.5, 0.667, 0.833])
    """
    images, label = _of_classes("macro_coverage", confidences, correct, classes)
    last = ends(images.confidence)
    accuracy = _Classes.of(label).accuracy(images.outcome, np.ones(len(label), np.int64), last)
    return Curve(images.confidence[last], last + 1, (last + 1) / max(len(label), 1), accuracy)


def macro_auc(confidences: ArrayLike, correct: ArrayLike, classes: ArrayLike) -> float:
    """The mean over coverage of the accuracy, averaged over classes, among the most confident images.

    Args: `confidences`, `correct`, `classes` as for `macro_coverage`.
    Returns: a fraction; NaN where no image is scored.
    Raises: ValueError as `macro_coverage` does.
    Source: RealBirdID, arXiv 2603.27033, Section 4, Metric 3, macro-averaged; Figure 16.

    >>> macro_auc([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 1], [4, 4, 4, 2])
    0.75
    """
    curve = macro_coverage(confidences, correct, classes)
    return float(steps(curve.coverage) @ curve.accuracy) if curve.kept.size else float("nan")


def balanced_weights(correct: ArrayLike, classes: ArrayLike) -> Floats:
    """What each image counts where every class counts as much: one by the scored images of its class.

    Args: `correct` (n,) of 1, 0 and NaN; `classes` (n,) each image's true class, -1 for none.
    Returns: (n,) weights for `accuracy_coverage` and its like, of sum 1 a class; 0 for an image that is not scored.
    Raises: ValueError where the lengths differ, an outcome is something else or a class is no whole number.
    Source: RealBirdID, arXiv 2603.27033, Section 4, Metric 3, class-imbalance weighting.

    >>> balanced_weights([1, 0, 1, float("nan")], [3, 3, 1, 1]).tolist()
    [0.5, 0.5, 1.0, 0.0]
    """
    outcome = outcome_array("balanced_weights", "correct", correct, ndim=1)
    label = _classes("balanced_weights", classes, len(outcome))
    weight, scored = np.zeros(len(label)), ~np.isnan(outcome) & (label >= 0)
    _, place, counts = np.unique(label[scored], return_inverse=True, return_counts=True)
    weight[scored] = 1 / counts[place]
    return weight


def aurc(confidences: ArrayLike, correct: ArrayLike, weights: ArrayLike | None = None) -> float:
    """The area under the risk-coverage curve: the mean over coverage of the share of errors among those kept.

    Args: `confidences`, `correct`, `weights` as for `accuracy_coverage`.
    Returns: a fraction, lower is better; NaN where no image is scored.
    Raises: ValueError as `accuracy_coverage_auc` does.
    Source: Y. Geifman, G. Uziel and R. El-Yaniv, arXiv 1805.08206.

    >>> aurc([0.9, 0.8, 0.7, 0.6], [1, 1, 1, 0])
    0.0625
    """
    return 1 - accuracy_coverage_auc(confidences, correct, weights)


def auc_interval(
    confidences: ArrayLike,
    correct: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    average: Average = "micro",
    times: int = 1000,
    seed: Seed = 0,
    level: float = 0.95,
) -> Interval:
    """The percentile interval of the area under accuracy by coverage, over resamples of the images.

    Args: `confidences`, `correct` as for `accuracy_coverage`; `classes` (n,) as for `macro_coverage`; `average`:
    "micro", where images count alike, "macro", as `macro_auc`, or "balanced", with `balanced_weights`, which each
    resample has anew; the last two need `classes`; `times`, how many resamples; `seed`, a whole number or a numpy
    Generator; `level` in (0, 1).
    Returns: Interval of fractions; where no resample differs, as when every image is right, `share_interval`'s; NaN
    where no image is scored or without resamples.
    Raises: ValueError as `macro_coverage` does, and where the average is unknown or has no classes, `times` is negative
    or the level is no level.
    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26, of RealBirdID's AUC, arXiv 2603.27033, Section 4.

    >>> low, high = auc_interval([0.9, 0.8, 0.7, 0.6, 0.5], [1, 1, 0, 1, 0])
    >>> round(low, 3), round(high, 3)
    (0.147, 1.0)
    """
    demand(0 < level < 1, "auc_interval", "level", "between 0 and 1", level)
    demand(average in AVERAGES, "auc_interval", "average", f"one of {AVERAGES}", average)
    demand(average == "micro" or classes is not None, "auc_interval", "classes", f"given for {average!r}", classes)
    images, label = _of_classes("auc_interval", confidences, correct, classes)
    samples, area = drawn(len(label), times, seed), _area(images, label, average)
    if not label.size:
        return Interval(float("nan"), float("nan"))
    draws = [area(counts) for counts in samples]
    share = min(1.0, area(np.ones(len(label), np.int64)))
    return share_interval(draws, share, len(label), level) if draws else Interval(float("nan"), float("nan"))


class _Classes(NamedTuple):
    """Images class by class, those of a class in their old order."""

    rows: Ints  # the images
    first: Ints  # for each of these, where its class begins

    @classmethod
    def of(cls, label: Ints) -> "_Classes":
        rows = np.argsort(label, kind="stable")
        begins = np.flatnonzero(np.append(True, np.diff(label[rows]) != 0)[: len(rows)])
        return cls(rows, np.repeat(begins, np.diff(begins, append=len(rows))))

    def accuracy(self, outcome: Floats, counts: Ints, last: Ints) -> Floats:
        """The mean accuracy of the classes that have an image, each taken so many times, up to each last place."""
        n, right = (self._within(values[self.rows]) for values in (counts, counts * outcome))
        rate = np.divide(right, n, out=np.zeros(len(n)), where=n > 0)
        total, classes = (np.cumsum(self._change(values))[last] for values in (rate, (n > 0).astype(np.float64)))
        return np.clip(np.divide(total, classes, out=np.zeros(len(last)), where=classes > 0), 0, 1)

    def _within(self, values: Floats | Ints) -> Floats:
        """Running totals that begin anew with each class."""
        total = np.cumsum(values, dtype=np.float64)
        return total - (total - values)[self.first]

    def _change(self, values: Floats) -> Floats:
        """What each image changes in its class's value, in the old order."""
        before = np.append(0.0, values[:-1])
        before[self.first] = 0
        change = np.empty(len(values))
        change[self.rows] = values - before
        return change


def _area(images: Falling, label: Ints, average: Average) -> Callable[[Ints], float]:
    """The area as a function of how often each image is taken."""
    last, outcome = ends(images.confidence), images.outcome
    if average == "macro":
        classes = _Classes.of(label)
        return lambda counts: float(
            steps(np.cumsum(counts)[last] / counts.sum()) @ classes.accuracy(outcome, counts, last)
        )
    return lambda counts: _weighted(outcome, _balanced(counts, label) if average == "balanced" else counts, last)


def _weighted(outcome: Floats, weight: Floats | Ints, last: Ints) -> float:
    mass, accuracy = running(outcome, weight, last)
    return float(steps(mass / mass[-1]) @ accuracy)


def _balanced(counts: Ints, label: Ints) -> Floats:
    sizes = np.bincount(label, counts)
    return counts / np.maximum(sizes, 1)[label]


def _of_classes(
    function: str, confidences: ArrayLike, correct: ArrayLike, classes: ArrayLike | None
) -> tuple[Falling, Ints]:
    """The scored images that have a class, the most confident first, and which class, counted from 0."""
    n = len(vector(function, "confidences", confidences))
    label = np.zeros(n, np.int64) if classes is None else _classes(function, classes, n)
    images = falling(function, confidences, correct, label >= 0)
    return images, np.unique(label[images.rows], return_inverse=True)[1].astype(np.int64)


def _classes(function: str, classes: ArrayLike, length: int) -> Ints:
    label = integers(function, "classes", classes, ndim=1)
    lengths(function, "classes", label, length)
    return label
