"""Confidences and their calibration, for scores that are logits or log-probabilities."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.calibration import reliability
from eyechart.metrics.intervals import wilson
from eyechart.metrics.thresholds import accuracy_coverage
from eyechart.models.types import Floats
from eyechart.protocol.curves import thin_curve

_ROWS = 2048  # rows converted to float64 together, to limit memory


def top_probabilities(scores: Floats) -> NDArray[np.float64]:
    """Return the probability of each image's best class: the largest value of the softmax of its scores.

    Shape (n, classes) in, (n,) out. A class at -inf is ruled out. NaN where the row has NaN, or rules out every class.

    >>> scores = np.array([[3.0, 3.0, -np.inf], [1000.0, 0.0, 0.0], [np.nan] * 3])
    >>> top_probabilities(scores)
    array([0.5, 1. , nan])
    """
    blocks = [_top(np.asarray(scores[start : start + _ROWS], np.float64)) for start in range(0, len(scores), _ROWS)]
    return np.concatenate([np.empty(0), *blocks])


def reliability_rows(
    confidences: NDArray[np.float64], correct: Mapping[str, NDArray[np.float64]]
) -> Iterator[list[Any]]:
    """Yield the reliability diagram under each label set: every bin of confidences (n,) with an image.

    `correct` has for each label set whether each image is right (n,): 1, 0, or NaN for one that does not count.
    """
    yield ["labels", "low", "high", "n", "confidence", "accuracy", "ci_low", "ci_high"]
    for labels, outcomes in correct.items():
        table = reliability(confidences, outcomes)
        for low, high, n, *shares in zip(*(column.tolist() for column in table), strict=True):
            if n:
                yield [labels, f"{low:.6f}", f"{high:.6f}", n, *(f"{share:.6f}" for share in shares)]


def threshold_rows(confidences: NDArray[np.float64], correct: Mapping[str, NDArray[np.float64]]) -> Iterator[list[Any]]:
    """Yield accuracy by coverage under each label set, for images whose confidence is at least a threshold.

    At most `POINTS` points of a curve are written, with both ends. Thresholds are written in full, so that they select
    exactly `n` images.
    """
    yield ["labels", "threshold", "n", "coverage", "accuracy", "ci_low", "ci_high"]
    for labels, outcomes in correct.items():
        curve = accuracy_coverage(confidences, outcomes)
        for index in thin_curve(len(curve.kept)):
            n, share = int(curve.kept[index]), float(curve.accuracy[index])
            shares = (float(curve.coverage[index]), share, *wilson(round(share * n), n))
            yield [labels, repr(float(curve.thresholds[index])), n, *(f"{value:.6f}" for value in shares)]


def _top(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    best = scores.max(axis=1, keepdims=True, initial=-np.inf)
    valid = ~np.isneginf(best[:, 0]) & ~np.isnan(best[:, 0])
    probabilities = np.full(len(scores), np.nan)
    with np.errstate(invalid="ignore"):  # inf - inf, which the next line corrects
        below = scores[valid] - best[valid]
    below[scores[valid] == best[valid]] = 0
    probabilities[valid] = 1 / np.exp(below).sum(axis=1)
    return probabilities
