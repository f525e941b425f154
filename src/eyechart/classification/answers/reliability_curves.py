"""Confidences and their calibration, for scores that are logits or log-probabilities."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.results.curve_files import thin_curve
from eyechart.statistics.calibration import reliability
from eyechart.statistics.intervals import wilson
from eyechart.statistics.thresholds import accuracy_coverage


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
