"""Which classes are hard to tell from a class: by a classifier's confusions, or by the nearness of their names.

Source: arXiv 2603.06578, B.5 and Table 19: confEVA by the confusion matrix of EVA-02, confBERT by the distance between
class names in a text embedding space.
"""

import numpy as np
from numpy.typing import NDArray

from eyechart.models.types import Floats

Neighbours = NDArray[np.int64]


def confusion_matrix(labels: NDArray[np.int64], predictions: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Count how often images of a class (row) were taken for a class (column); shape (classes, classes).

    `labels` and `predictions` have shape (n,); where either is -1 the image is left out. Raises ValueError for unequal
    lengths or a class that is not there.

    Source: own definition.

    >>> confusion_matrix(np.array([0, 0, 1, -1]), np.array([0, 1, 1, 1]), 2)
    array([[1, 1],
           [0, 1]])
    """
    if labels.shape != predictions.shape or labels.ndim != 1:
        raise ValueError(f"Labels of shape {labels.shape} and predictions of shape {predictions.shape} do not pair.")
    both = np.stack([labels, predictions], axis=1)
    if both.size and not (both.min() >= -1 and both.max() < classes):
        raise ValueError(f"Classes {both.min()} to {both.max()} were given, expected -1 to {classes - 1}.")
    kept = both[(both >= 0).all(axis=1)]
    counted = np.bincount(kept[:, 0] * classes + kept[:, 1], minlength=classes * classes)
    return counted.reshape(classes, classes).astype(np.int64)


def by_confusion(matrix: NDArray[np.int64] | NDArray[np.float64]) -> Neighbours:
    """Rank for each class the others it was taken for, most often first; shape (classes, classes - 1), padded with -1.

    `matrix` has the true class as row and counts, or shares, of at least 0. The first of equally frequent classes goes
    first, and a class that it was never taken for is no neighbour. Raises ValueError for another shape or number.

    Source: confEVA of arXiv 2603.06578, whose rule is unstated: the largest off-diagonal counts of the class's row.

    >>> by_confusion(np.array([[9, 1, 4], [0, 9, 0], [2, 2, 9]]))
    array([[ 2,  1],
           [-1, -1],
           [ 0,  1]])
    """
    counts = _square(matrix)
    if not (counts >= 0).all():
        raise ValueError("A confusion matrix holds numbers of at least 0, each true class in its own row.")
    ranked = _ranked(counts)
    return np.where(np.take_along_axis(counts, ranked, axis=1) > 0, ranked, -1)


def by_similarity(similarity: Floats) -> Neighbours:
    """Rank for each class all others, most similar first; shape (classes, classes - 1).

    `similarity` has shape (classes, classes), such as the cosines of the names' embeddings. The first of equally
    similar classes goes first. Raises ValueError for another shape, or NaN.

    Source: confBERT of arXiv 2603.06578, "selecting classes closest to c in the BERT embedding space".

    >>> by_similarity(np.array([[1, 0.2, 0.5], [0.2, 1, 0.2], [0.5, 0.2, 1]], np.float32))
    array([[2, 1],
           [0, 2],
           [0, 1]])
    """
    values = _square(similarity)
    if np.isnan(values).any():
        raise ValueError("A similarity is NaN. Give a number for every pair of classes.")
    return _ranked(values)


def _square(matrix: NDArray[np.int64] | NDArray[np.float64] | Floats) -> NDArray[np.float64]:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A matrix of classes by classes is wanted; got one of shape {matrix.shape}.")
    return matrix.astype(np.float64)


def _ranked(values: NDArray[np.float64]) -> Neighbours:
    order: Neighbours = np.argsort(-values, axis=1, kind="stable").astype(np.int64)
    others: Neighbours = order[order != np.arange(len(values))[:, None]].reshape(len(values), -1)
    return others
