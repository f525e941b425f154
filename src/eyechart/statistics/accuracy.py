"""Correctness of answers under label sets, and accuracy."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import (
    check_booleans,
    check_integers,
    check_length,
    check_outcomes,
    check_whole_number,
    require,
)

Empty = Literal["correct", "exclude", "wrong"]  # what an image without labels counts as
_EMPTY = {"correct": 1.0, "exclude": np.nan, "wrong": 0.0}
_ROWS = 256  # rows of scores looked at together: as many as stay in a processor's cache
_FEW = 16  # more best classes than these are found by sorting


def top_k(scores: ArrayLike, k: int) -> NDArray[np.int64]:
    """Return the k classes with the highest scores of each image, best first; ties go to the lower index.

    Args:
        scores: (n, classes), higher is better, a row of NaN for an image without an answer.
        k: In [1, classes].

    Returns:
        (n, k) int64; -1 all along the row of an image without an answer.

    Raises:
        ValueError: If k is out of range or a row is NaN only in part.

    Source: the argmax of arXiv 2103.00020 for k = 1; the tie rule is numpy's.

    >>> top_k([[0.1, 0.7, 0.7], [0.2, 0.1, 0.0]], k=2)
    array([[1, 2],
           [0, 1]])
    """
    table = np.asarray(scores)
    table = table if table.dtype.kind == "f" else table.astype(np.float64)
    require(table.ndim == 2, "top_k", "scores", "an array of 2 dimensions", table)
    k = check_whole_number("top_k", "k", k, least=1, most=table.shape[1])
    blocks = [_best(table[start : start + _ROWS], k) for start in range(0, len(table), _ROWS)]
    return np.concatenate([np.empty((0, k), np.int64), *blocks])


def hits(top: ArrayLike, labels: ArrayLike, *, k: int = 1) -> NDArray[np.bool_]:
    """Return whether one of the first k answers to each image is one of its labels.

    Args:
        top: (n, K) answered classes, best first, -1 for none.
        labels: (n, L) admissible classes, padded with -1.
        k: In [1, K].

    Returns:
        (n,) bool; False for an image without labels, and -1 never matches.

    Raises:
        ValueError: If the lengths differ or k is out of range.

    Source: the membership of arXiv 2603.06578, Eq. (2); top-k as in arXiv 1409.0575.

    >>> hits([[3, 1], [2, 0], [-1, -1]], [[1, 3], [0, -1], [-1, -1]])
    array([ True, False, False])
    >>> hits([[3, 1], [2, 0], [-1, -1]], [[1, 3], [0, -1], [-1, -1]], k=2)
    array([ True,  True, False])
    """
    answers = check_integers("hits", "top", top, ndim=2)
    table = check_integers("hits", "labels", labels, ndim=2)
    check_length("hits", "labels", table, len(answers))
    k = check_whole_number("hits", "k", k, least=1, most=answers.shape[1])
    matches, columns = np.zeros(len(answers), np.bool_), np.ascontiguousarray(table.T)
    for index in range(k):
        answer = answers[:, index]
        matches |= (columns == answer).any(axis=0) & (answer >= 0)  # along rows of few labels it takes twice as long
    return matches


def correctness(
    top: ArrayLike,
    labels: ArrayLike,
    annotated: ArrayLike,
    *,
    k: int = 1,
    empty: Empty = "correct",
    answered: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return whether each image is answered correctly under one label set: 1, 0 or NaN.

    Args:
        top: (n, K) answered classes, best first, -1 for one outside the vocabulary.
        labels: (n, L) admissible classes, padded with -1.
        annotated: (n,) bool, the images the ground truth speaks of.
        k: How many of the best classes count, from 1 to K.
        empty: What an annotated image without labels counts as.
        answered: (n,) bool, False for an image that ended in an error or was not requested (an unparsed answer is
            answered, with class -1).

    Returns:
        (n,) float64: 1 correct, 0 wrong, NaN unscored (not annotated, not answered, or empty and excluded).

    Raises:
        ValueError: If lengths differ, k is out of range or `empty` is unknown.

    Source: arXiv 2603.06578, Eq. (2), with empty = "correct"; arXiv 2006.07159 with empty = "exclude".

    >>> correctness([[1], [0], [5], [5]], [[1, 2], [1, -1], [-1, -1], [5, -1]], [True, True, True, False])
    array([ 1.,  0.,  1., nan])
    """
    require(empty in _EMPTY, "correctness", "empty", "one of 'correct', 'exclude' and 'wrong'", empty)
    table = check_integers("correctness", "labels", labels, ndim=2)
    result = hits(top, table, k=k).astype(np.float64)
    result[(table < 0).all(axis=1)] = _EMPTY[empty]
    result[~check_booleans("correctness", "annotated", annotated, len(table))] = np.nan
    if answered is not None:
        result[~check_booleans("correctness", "answered", answered, len(table))] = np.nan
    return result


def accuracy(outcome: ArrayLike) -> float:
    """Return the share of the scored images that are correct.

    Args:
        outcome: (n,) of 1, 0 and NaN.

    Returns:
        A fraction; NaN where no image is scored.

    Raises:
        ValueError: If an outcome is something else.

    Source: arXiv 2603.06578, Eq. (2).

    >>> accuracy([1, 0, 1, float("nan")])
    0.6666666666666666
    """
    return _mean(check_outcomes("accuracy", "outcome", outcome, ndim=1))


def correct_under_both(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return whether each image is correct under both of two label sets.

    Args:
        a: (n,) outcomes of the same answers: 1, 0 and NaN.
        b: (n,) outcomes of the same answers: 1, 0 and NaN.

    Returns:
        (n,) of 1, 0 and NaN, NaN where one of the two does not score the image.

    Raises:
        ValueError: If the lengths differ or an outcome is something else.

    Source: arXiv 2603.06578, Table 4, last column (Im∩Re), image by image.

    >>> correct_under_both([1, 1, 0, float("nan")], [1, 0, 0, 1])
    array([ 1.,  0.,  0., nan])
    """
    first = check_outcomes("correct_under_both", "a", a, ndim=1)
    second = check_outcomes("correct_under_both", "b", b, ndim=1)
    check_length("correct_under_both", "b", second, len(first))
    return first * second


def _mean(outcome: NDArray[np.float64]) -> float:
    scored = outcome[~np.isnan(outcome)]
    return float(scored.mean()) if scored.size else float("nan")


def _best(scores: NDArray[np.floating], k: int) -> NDArray[np.int64]:
    left, rows = scores.copy(), np.arange(len(scores))
    best = np.empty((len(scores), k), np.int64)
    largest = left.max(axis=1)  # NaN where a score is NaN
    for index in range(min(k, _FEW)):  # the first of equal scores is the first found
        best[:, index] = left.argmax(axis=1)
        last = left[rows, best[:, index]]
        left[rows, best[:, index]] = -np.inf
    # A score of -inf is equal to those that were taken.
    unsure = np.isneginf(last) if k <= _FEW else np.ones(len(scores), np.bool_)
    best[unsure] = np.argsort(-scores[unsure], axis=1, kind="stable")[:, :k]
    some = np.isnan(largest)
    partly = int((~np.isnan(scores[some]).all(axis=1)).sum())
    require(partly == 0, "top_k", "scores", "with 0 rows that are NaN only in part", partly)
    best[some] = -1
    return best
