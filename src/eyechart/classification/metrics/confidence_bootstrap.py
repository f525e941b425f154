"""Bootstrap samples of the metrics of confidence, computed once for all label sets that score the same images."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eyechart.results.evidence import RESAMPLES
from eyechart.statistics.bootstrap_samples import BootstrapSamples
from eyechart.statistics.calibration import brier_score_bootstrap, calibration_error_bootstrap
from eyechart.statistics.resampling import bootstrap_counts
from eyechart.statistics.selective import auc_bootstrap

Float64s = NDArray[np.float64]


@dataclass(frozen=True)
class ConfidenceBootstrap:
    """Bootstrap samples (`RESAMPLES`, L) of confidences (n,) with outcomes (n, L) that are NaN for the same images."""

    confidences: Float64s
    correct: Float64s
    seed: int

    @property
    def samples(self) -> BootstrapSamples:
        """How often each image is taken, resample by resample."""
        return bootstrap_counts(len(self.correct), RESAMPLES, self.seed)

    @cached_property
    def calibration_error(self) -> Float64s:
        """The expected calibration error."""
        return calibration_error_bootstrap(self.confidences, self.correct, self.samples)

    @cached_property
    def brier_score(self) -> Float64s:
        """The Brier score."""
        return brier_score_bootstrap(self.confidences, self.correct, self.samples)

    @cached_property
    def area(self) -> Float64s:
        """The area under accuracy by coverage."""
        return auc_bootstrap(self.confidences, self.correct, self.samples)


def confidence_bootstraps(
    confidences: Float64s, outcomes: Sequence[Float64s], seed: int
) -> list[tuple[ConfidenceBootstrap, int]]:
    """Return for each outcome (n,) the bootstrap samples that have it, and its column there.

    >>> outcomes = [np.array([1.0, 0.0]), np.array([1.0, np.nan]), np.array([0.0, 0.0])]
    >>> [(one.correct.shape, column) for one, column in confidence_bootstraps(np.array([0.9, 0.8]), outcomes, 0)]
    [((2, 2), 0), ((2, 1), 0), ((2, 2), 1)]
    """
    masks = [np.isnan(outcome).tobytes() for outcome in outcomes]
    alike = {mask: [index for index, other in enumerate(masks) if other == mask] for mask in masks}
    shared = {
        mask: ConfidenceBootstrap(confidences, np.stack([outcomes[index] for index in indices], axis=1), seed)
        for mask, indices in alike.items()
    }
    return [(shared[mask], alike[mask].index(index)) for index, mask in enumerate(masks)]
