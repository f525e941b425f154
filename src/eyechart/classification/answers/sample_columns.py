"""The cells of sample tables of classification, made for all images of a column at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def format_outcomes(correct: NDArray[np.float64]) -> list[str]:
    """Return outcomes (n,) as text, "" for NaN.

    >>> format_outcomes(np.array([1.0, 0.0, np.nan]))
    ['1', '0', '']
    """
    texts: list[str] = np.array(["0", "1", ""])[np.where(np.isnan(correct), 2, correct).astype(np.int64)].tolist()
    return texts


def format_scores(scores: NDArray[np.floating], classes: Ints) -> list[str]:
    """Return scores (n,) with 6 digits, "" where the class (n,) is -1.

    >>> format_scores(np.array([0.5, 1e-9]), np.array([3, -1]))
    ['0.5', '']
    """
    return [
        f"{score:.6g}" if index >= 0 else "" for score, index in zip(scores.tolist(), classes.tolist(), strict=True)
    ]


def format_classes(classes: Ints, text: Callable[[int], str] = str) -> list[str]:
    """Return classes (n,) as text, "" for -1.

    >>> format_classes(np.array([3, -1]))
    ['3', '']
    """
    texts: list[str] = _class_texts(classes, text).tolist()
    return texts


def join_texts(labels: Ints, text: Callable[[int], str], separator: str) -> list[str]:
    """Return the texts of each image's labels (n, L), padded with -1, as one text.

    >>> join_texts(np.array([[1, 2], [3, -1], [-1, -1]]), str, ";")
    ['1;2', '3', '']
    """
    cells = _class_texts(labels, text)
    joined = cells[:, 0].tolist() if labels.shape[1] else [""] * len(labels)
    for row in np.flatnonzero((labels[:, 1:] >= 0).any(axis=1)).tolist():  # most images have one label
        joined[row] = separator.join(cells[row, labels[row] >= 0])
    return joined


def _class_texts(classes: Ints, text: Callable[[int], str]) -> NDArray[Any]:
    distinct, indices = np.unique(classes, return_inverse=True)
    texts = np.array([text(index) if index >= 0 else "" for index in distinct.tolist()], object)
    return texts[indices.reshape(classes.shape)]
