"""How sure a model was of its answers, and whether rightly: for scores that are logits or log-probabilities."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.calibration import reliability
from eyechart.metrics.intervals import wilson
from eyechart.metrics.thresholds import accuracy_coverage
from eyechart.models.types import Floats
from eyechart.protocol.curves import thin_curve

_ROWS = 2048  # scores looked at together: in float64 they take twice or four times the room


def top_probabilities(scores: Floats) -> NDArray[np.float64]:
    """The probability of each image's best class among all classes: the softmax of its row at its highest score.

    Shape (n, classes) in, (n,) out. A class at -inf is ruled out. NaN where the row has NaN, or rules out every class.

    >>> scores = np.array([[3.0, 3.0, -np.inf], [1000.0, 0.0, 0.0], [np.nan] * 3])
    >>> top_probabilities(scores)
    array([0.5, 1. , nan])
    """
    blocks = [_top(np.asarray(scores[start : start + _ROWS], np.float64)) for start in range(0, len(scores), _ROWS)]
    return np.concatenate([np.empty(0), *blocks])


def reliability_rows(sure: NDArray[np.float64], correct: Mapping[str, NDArray[np.float64]]) -> Iterator[list[Any]]:
    """Yield the reliability diagram under each ground truth: every bin of confidences (n,) that holds an image.

    `correct` has for each ground truth whether each image is right (n,): 1, 0, or NaN for one that does not count.
    """
    yield ["labels", "low", "high", "n", "confidence", "accuracy", "ci_low", "ci_high"]
    for labels, outcomes in correct.items():
        table = reliability(sure, outcomes)
        for low, high, n, *shares in zip(*(column.tolist() for column in table), strict=True):
            if n:
                yield [labels, f"{low:.6f}", f"{high:.6f}", n, *(f"{share:.6f}" for share in shares)]


def threshold_rows(sure: NDArray[np.float64], correct: Mapping[str, NDArray[np.float64]]) -> Iterator[list[Any]]:
    """Yield accuracy by coverage under each ground truth: what is kept where the confidence is at least a threshold.

    Of a curve with more points than POINTS that many are written, its ends among them. Thresholds are written in full,
    so that they keep what `n` counts.
    """
    yield ["labels", "threshold", "n", "coverage", "accuracy", "ci_low", "ci_high"]
    for labels, outcomes in correct.items():
        curve = accuracy_coverage(sure, outcomes)
        for place in thin_curve(len(curve.kept)):
            n, share = int(curve.kept[place]), float(curve.accuracy[place])
            shares = (float(curve.coverage[place]), share, *wilson(round(share * n), n))
            yield [labels, repr(float(curve.thresholds[place])), n, *(f"{value:.6f}" for value in shares)]


def _top(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    best = scores.max(axis=1, keepdims=True, initial=-np.inf)
    possible = ~np.isneginf(best[:, 0]) & ~np.isnan(best[:, 0])
    found = np.full(len(scores), np.nan)
    with np.errstate(invalid="ignore"):  # inf - inf, which the next line puts right
        below = scores[possible] - best[possible]
    below[scores[possible] == best[possible]] = 0
    found[possible] = 1 / np.exp(below).sum(axis=1)
    return found
