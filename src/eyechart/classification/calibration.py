"""How sure a model was of its answers, and whether rightly: for scores that are logits or log-probabilities."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.scoring import Predictions, Scored
from eyechart.estimates import Estimate
from eyechart.gate.evidence import TIMES
from eyechart.metrics.calibration import (
    brier_interval,
    brier_score,
    brier_score_draws,
    calibration_error,
    calibration_error_draws,
    calibration_error_interval,
    reliability,
)
from eyechart.metrics.intervals import wilson
from eyechart.metrics.resampling import drawn
from eyechart.metrics.selective import auc_draws
from eyechart.metrics.thresholds import accuracy_coverage, accuracy_coverage_auc, accuracy_coverage_interval
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


def confidence_estimates(predictions: Predictions, scored: Scored, seed: int) -> list[Estimate]:
    """Calibration error, Brier score and the area under accuracy by coverage, under one ground truth.

    Images without a readable answer have no confidence and are left out, as `n` says. Answers in words have none.
    """
    if not predictions.scores.shape[1]:
        return []
    sure, correct = top_probabilities(predictions.scores), scored.correct
    n = int((~np.isnan(sure) & ~np.isnan(correct)).sum())
    samples = partial(drawn, len(correct), TIMES, seed)
    estimate = partial(Estimate, labels=scored.labels.name, n=n)
    return [
        estimate(
            name="ece",
            value=calibration_error(sure, correct) if n else None,
            interval=calibration_error_interval(sure, correct),
            method="folded normal",
            higher_is_better=False,
            bootstrap=lambda: calibration_error_draws(sure, correct, samples()),
        ),
        estimate(
            name="brier",
            value=brier_score(sure, correct) if n else None,
            interval=brier_interval(sure, correct),
            method="student",
            higher_is_better=False,
            bootstrap=lambda: brier_score_draws(sure, correct, samples()),
        ),
        estimate(
            name="accuracy_coverage_auc",
            value=accuracy_coverage_auc(sure, correct) if n else None,
            interval=accuracy_coverage_interval(sure, correct),
            method="effective wilson",
            higher_is_better=True,
            bootstrap=lambda: auc_draws(sure, correct, samples()),
        ),
    ]


def reliability_rows(predictions: Predictions, scored: Sequence[Scored]) -> Iterator[list[Any]]:
    """The reliability diagram under each ground truth: every bin of confidence that holds an image."""
    yield ["labels", "low", "high", "n", "confidence", "accuracy", "ci_low", "ci_high"]
    sure = top_probabilities(predictions.scores)
    for each in scored:
        table = reliability(sure, each.correct)
        for low, high, n, *shares in zip(*(column.tolist() for column in table), strict=True):
            if n:
                yield [each.labels.name, f"{low:.6f}", f"{high:.6f}", n, *(f"{share:.6f}" for share in shares)]


def threshold_rows(predictions: Predictions, scored: Sequence[Scored]) -> Iterator[list[Any]]:
    """Accuracy by coverage under each ground truth: what is kept where the confidence is at least a threshold.

    Of a curve with more points than POINTS that many are written, its ends among them. Thresholds are written in full,
    so that they keep what `n` counts.
    """
    yield ["labels", "threshold", "n", "coverage", "accuracy", "ci_low", "ci_high"]
    sure = top_probabilities(predictions.scores)
    for each in scored:
        curve = accuracy_coverage(sure, each.correct)
        for place in thin_curve(len(curve.kept)):
            n, share = int(curve.kept[place]), float(curve.accuracy[place])
            shares = (float(curve.coverage[place]), share, *wilson(round(share * n), n))
            yield [each.labels.name, repr(float(curve.thresholds[place])), n, *(f"{value:.6f}" for value in shares)]


def _top(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    best = scores.max(axis=1, keepdims=True, initial=-np.inf)
    possible = ~np.isneginf(best[:, 0]) & ~np.isnan(best[:, 0])
    found = np.full(len(scores), np.nan)
    with np.errstate(invalid="ignore"):  # inf - inf, which the next line puts right
        below = scores[possible] - best[possible]
    below[scores[possible] == best[possible]] = 0
    found[possible] = 1 / np.exp(below).sum(axis=1)
    return found
