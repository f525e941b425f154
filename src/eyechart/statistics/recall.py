"""Recall of each class, and its mean over classes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_fractions, check_integers, check_length, check_whole_number
from eyechart.statistics._sweeps import Samples, total_resamples
from eyechart.statistics.categories import collapse_groups, count_distinct
from eyechart.statistics.draws_cache import cached_array


class Recall(NamedTuple):
    """The recall of each class, NaN without a scored image, and its number of images; both (classes,)."""

    values: NDArray[np.float64]
    counts: NDArray[np.int64]


def single_label(labels: ArrayLike, groups: ArrayLike | None = None) -> NDArray[np.int64]:
    """Return the label of each image that has exactly one, for per-class recall.

    Args:
        labels: (n, L), padded with -1.
        groups: (classes,), the name of each class's equivalence group: with them, labels of one group are one label.

    Returns:
        (n,) int64: the image's smallest label where all of its labels are one, -1 where it has none or several.

    Raises:
        ValueError: If `labels` is not a label array or a label has no group.

    Source: the restriction to S of arXiv 2603.06578, Figure 9, left.

    >>> single_label([[4, -1], [2, 3], [-1, -1]])
    array([ 4, -1, -1])
    >>> single_label([[4, -1], [2, 3], [-1, -1]], groups=[0, 1, 2, 2, 4])
    array([ 4,  2, -1])
    """
    table = check_integers("single_label", "labels", labels, ndim=2)
    is_single = count_distinct(collapse_groups(table, groups)) == 1
    largest = np.iinfo(np.int64).max
    smallest = np.where(table >= 0, table, largest).min(axis=1, initial=largest)
    return np.where(is_single, smallest, -1)


def per_class_recall(correct: ArrayLike, labels: ArrayLike, classes: int) -> Recall:
    """Return the share of each class's images that are correct.

    Args:
        correct: (n,) in [0, 1], NaN where unscored.
        labels: (n,) each image's class, -1 for an image of none.
        classes: How many there are.

    Returns:
        Recall(values, counts), fractions and numbers of scored images.

    Raises:
        ValueError: If the lengths differ or a class is not there.

    Source: recall as in arXiv 2603.06578, C.2, with the correctness of its Eq. (2).

    >>> per_class_recall([1, 0, 1, float("nan")], [0, 0, 2, 1], classes=3)
    Recall(values=array([0.5, nan, 1. ]), counts=array([2, 0, 1]))
    """
    classes = check_whole_number("per_class_recall", "classes", classes)
    right = check_fractions("per_class_recall", "correct", correct, ndim=1)
    label = check_integers("per_class_recall", "labels", labels, ndim=1, below=classes)
    check_length("per_class_recall", "labels", label, len(right))
    scored = ~np.isnan(right) & (label >= 0)
    counts = np.bincount(label[scored], minlength=classes).astype(np.int64)
    total = np.bincount(label[scored], weights=right[scored], minlength=classes)
    values = np.divide(total, counts, out=np.full(classes, np.nan), where=counts > 0)
    return Recall(values, counts)


def mean_per_class_recall(correct: ArrayLike, labels: ArrayLike, classes: int) -> float:
    """Return the mean of per-class recall over the classes that have an image.

    Args:
        correct: As for `per_class_recall`.
        labels: As for `per_class_recall`.
        classes: As for `per_class_recall`.

    Returns:
        A fraction; NaN where no class has a scored image.

    Raises:
        ValueError: As `per_class_recall`.

    Source: the mean-per-class metric of arXiv 2103.00020, Table 9; scikit-learn's balanced accuracy.

    >>> mean_per_class_recall([1, 0, 1], [0, 0, 2], classes=3)
    0.75
    """
    values = per_class_recall(correct, labels, classes).values
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


@cached_array
def mean_per_class_recall_bootstrap(
    correct: ArrayLike, labels: ArrayLike, classes: int, samples: Samples
) -> NDArray[np.float64]:
    """Return `mean_per_class_recall` of given resamples, each image with the weight that it has in the whole sample.

    A class is 1 / (classes with an image) of the mean, and its images have equal parts of that. They keep them in every
    resample: if a resample were divided by what it has of a class, a class with one image could not vary but by being
    absent, and two runs without a difference would differ too surely (in simulation, one image a class, at alpha 0.01
    in 5 of 100).

    Args:
        correct: As for `per_class_recall`.
        labels: As for `per_class_recall`.
        classes: As for `per_class_recall`.
        samples: Resample by resample, how often each image is taken, (n,) whole numbers, as
            `resampling.bootstrap_counts` has them.

    Returns:
        A fraction for each resample, above 1 where it has more than its share of right images of rare classes; NaN
        where it has no scored image.

    Raises:
        ValueError: As `per_class_recall`, and where a resample has another length.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26, of a weighted sum; the mean as `mean_per_class_recall`.

    >>> mean_per_class_recall_bootstrap([1, 0, 1], [0, 0, 2], 3, [[1, 1, 1], [3, 0, 0], [0, 1, 2]]).tolist()
    [0.75, 0.75, 1.0]
    """
    function, classes = (
        "mean_per_class_recall_bootstrap",
        check_whole_number("mean_per_class_recall_bootstrap", "classes", classes),
    )
    right = check_fractions(function, "correct", correct, ndim=1)
    label = check_integers(function, "labels", labels, ndim=1, below=classes)
    check_length(function, "labels", label, len(right))
    scored = ~np.isnan(right) & (label >= 0)
    counts = np.bincount(label[scored], minlength=classes)
    sides = np.zeros((len(right), 2))
    sides[scored, 0] = right[scored] / counts[label[scored]] / (int((counts > 0).sum()) or 1)
    sides[scored, 1] = 1
    recall, taken = total_resamples(function, samples, sides).T
    return np.where(taken > 0, recall, np.nan)
