"""The cells of sample tables of classification, made for some thousand images of a column at a time."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

IMAGES = 4096  # whose cells are made at once: a text takes ten times the memory of the number that it shows
Ints = NDArray[np.int64]


def format_outcomes(correct: NDArray[np.float64]) -> Iterator[str]:
    """Yield outcomes (n,) as text, "" for NaN.

    >>> [*format_outcomes(np.array([1.0, 0.0, np.nan]))]
    ['1', '0', '']
    """
    texts = np.array(["0", "1", ""])
    for part in _parts(correct):
        yield from texts[np.where(np.isnan(part), 2, part).astype(np.int64)].tolist()


def format_scores(scores: NDArray[np.floating], classes: Ints) -> Iterator[str]:
    """Yield scores (n,) with 6 digits, "" where the class (n,) is -1.

    >>> [*format_scores(np.array([0.5, 1e-9]), np.array([3, -1]))]
    ['0.5', '']
    """
    for part, indices in zip(_parts(scores), _parts(classes), strict=True):
        for score, index in zip(part.tolist(), indices.tolist(), strict=True):
            yield f"{score:.6g}" if index >= 0 else ""


def format_classes(classes: Ints, text: Callable[[int], str] = str) -> Iterator[str]:
    """Yield classes (n,) as text, "" for -1.

    >>> [*format_classes(np.array([3, -1]))]
    ['3', '']
    """
    for part in _parts(classes):
        yield from _class_texts(part, text).tolist()


def join_texts(labels: Ints, text: Callable[[int], str], separator: str) -> Iterator[str]:
    """Yield the texts of each image's labels (n, L), padded with -1, as one text.

    >>> [*join_texts(np.array([[1, 2], [3, -1], [-1, -1]]), str, ";")]
    ['1;2', '3', '']
    """
    for part in _parts(labels):
        cells = _class_texts(part, text)
        joined = cells[:, 0].tolist() if part.shape[1] else [""] * len(part)
        for row in np.flatnonzero((part[:, 1:] >= 0).any(axis=1)).tolist():  # most images have one label
            joined[row] = separator.join(cells[row, part[row] >= 0])
        yield from joined


def _parts(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (array[start : start + IMAGES] for start in range(0, len(array), IMAGES))


def _class_texts(classes: Ints, text: Callable[[int], str]) -> NDArray[Any]:
    distinct, indices = np.unique(classes, return_inverse=True)
    texts = np.array([text(index) if index >= 0 else "" for index in distinct.tolist()], object)
    return texts[indices.reshape(classes.shape)]
