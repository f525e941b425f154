"""Estimators shared by the metrics of RealBirdID: measures and harmonic means with intervals over observations."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.realbirdid.data.observations import Observations
from eyechart.realbirdid.statistics.abstention_tradeoff import (
    harmonic_mean,
    harmonic_mean_bootstrap,
    harmonic_mean_interval,
)
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import RESAMPLES
from eyechart.results.records import WHOLE
from eyechart.statistics.bootstrap_samples import BootstrapSamples
from eyechart.statistics.intervals import Interval
from eyechart.statistics.resampling import bootstrap_counts

Float64s = NDArray[np.float64]
Ints = NDArray[np.int64]
Value = tuple[float, Interval]
NO_CLUSTERS: Ints = np.zeros(0, np.int64)  # of an estimate that is not defined


def estimate(
    name: str, labels: str, subset: str, clusters: Ints, value: Callable[[], Value], method: str, **more: Any
) -> Estimate:
    """Return an estimate over n images of observations `clusters` (n,) with its interval, without a value if n is 0."""
    number, interval = value() if len(clusters) else (None, None)
    return Estimate(
        name=name,
        labels=labels,
        subset=subset,
        value=number,
        n=len(clusters),
        n_clusters=len(np.unique(clusters)),
        interval=interval,
        method=method,
        **more,
    )


def harmonic_mean_estimate(
    name: str, labels: str, right: Float64s, observations: Observations, seed: int, *, title: str = ""
) -> Estimate:
    """Return the harmonic mean of the accuracies on answerable and unanswerable images from the outcomes (n,)."""
    sides, clusters = (
        (right[observations.answerable], right[~observations.answerable]),
        _clusters_by_answerability(observations),
    )
    answerable, unanswerable = (side[~np.isnan(side)] for side in sides)

    def value() -> Value:
        mean = harmonic_mean(float(answerable.mean()), float(unanswerable.mean()))
        return mean, harmonic_mean_interval(*sides, seed=seed, clusters=clusters)

    def bootstrap() -> Float64s:
        return harmonic_mean_bootstrap(right, ~observations.answerable, bootstrap_weights(observations, seed))

    scored = observations.clusters[~np.isnan(right)] if len(answerable) and len(unanswerable) else NO_CLUSTERS
    more = {"bootstrap": bootstrap, "title": title}
    return estimate(name, labels, WHOLE, scored, value, "bootstrap", **more)


def answerability_strata(observations: Observations) -> NDArray[np.int64]:
    """Return the bootstrap stratum of each image (n,): 0 for answerable and 1 for unanswerable images."""
    return (~observations.answerable).astype(np.int64)


def _clusters_by_answerability(observations: Observations) -> tuple[Ints, Ints]:
    """Return the observations of the answerable and of the unanswerable images."""
    return observations.clusters[observations.answerable], observations.clusters[~observations.answerable]


def bootstrap_weights(observations: Observations, seed: int) -> BootstrapSamples:
    """Return how often each image is drawn (n,) in each bootstrap resample, equal for all models and metrics.

    The resampling unit is the observation with all its images.
    """
    return bootstrap_counts(
        len(observations.answerable), RESAMPLES, seed, answerability_strata(observations), observations.clusters
    )
