"""The metrics of splits of two classes, such as defect or not, for models with scores."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from eyechart.classification.answers.class_predictions import ClassPredictions, Float64s, ScoredLabels, Targets
from eyechart.errors import DataError
from eyechart.results.estimates import Estimate, Separation
from eyechart.results.evidence import RESAMPLES
from eyechart.statistics.auroc import auroc, delong_interval
from eyechart.statistics.average_precision import average_precision, mean_average_precision_bootstrap
from eyechart.statistics.operating_points import (
    sensitivity_at_specificity,
    specificity_at_sensitivity,
    threshold_at_sensitivity,
    threshold_at_specificity,
)
from eyechart.statistics.resampling import bootstrap_counts, percentile_interval

LEVEL = 0.95  # the specificity at which the sensitivity is reported, and the reverse


def binary_scores(predictions: ClassPredictions) -> Iterator[Estimate]:
    """Yield `auroc` under each label set of a split of two classes, if the model scores them.

    The score of an image is the second class's minus the first one's. The area is the same for either class as
    the positive one. If a class is named as positive (`--eye-positive`), average precision, sensitivity and specificity
    follow, which depend on it. Images without a single label do not count.
    """
    if predictions.targets.classes != 2 or not predictions.scores.shape[1]:
        return
    chosen = predictions.targets.positive
    positive_class = 1 if chosen is None else chosen
    clusters = predictions.targets.clusters
    for (scored,) in predictions.scores_by_labels:
        separation = _separation(predictions, scored, positive_class)
        known = ~np.isnan(separation.positive)
        yield Estimate(
            name="auroc",
            labels=scored.labels.name,
            title=scored.labels.name,
            value=auroc(separation.scores, separation.positive),
            n=int(known.sum()),
            n_clusters=predictions.targets.count_clusters(known),
            interval=delong_interval(separation.scores, separation.positive, clusters),
            method="delong" if clusters is None else "clustered delong",
            separation=separation,
        )
        if chosen is not None:
            outcomes = np.where(known, scored.correct, np.nan)
            for name, kind in (("sensitivity", 1), ("specificity", 0)):
                of_kind = np.where(separation.positive == kind, outcomes, np.nan)
                yield Estimate.proportion(name, of_kind, clusters, labels=scored.labels.name)
            yield from _resampled_estimates(scored.labels.name, separation, predictions.targets)
            yield from _fixed_estimates(scored.labels.name, separation, predictions.targets)


def _separation(predictions: ClassPredictions, scored: ScoredLabels, positive_class: int) -> Separation:
    """Return the scores of the positive class against the other one, NaN for images that do not count."""
    columns, label = predictions.scores.astype(np.float64), scored.single_labels
    scores = np.where(predictions.answered, columns[:, positive_class] - columns[:, 1 - positive_class], np.nan)
    known = (label >= 0) & ~np.isnan(scores)
    positive = (label == positive_class).astype(np.float64)
    return Separation(np.where(known, scores, np.nan), np.where(known, positive, np.nan))


def _fixed_estimates(labels: str, separation: Separation, targets: Targets) -> Iterator[Estimate]:
    """Yield sensitivity and specificity at the thresholds that are chosen on another split, if there is one.

    Its labels are those of the same name, or its first ones. Raises DataError if it has images of one class alone.
    """
    tuning = targets.tuning
    if tuning is None:
        return
    by_name = {scored.labels.name: scored for (scored,) in tuning.scores_by_labels}
    chosen, positive_class = by_name.get(labels, next(iter(by_name.values()))), tuning.targets.positive
    if positive_class is None:
        return
    other = _separation(tuning, chosen, positive_class)
    for target, choose in (("specificity", threshold_at_specificity), ("sensitivity", threshold_at_sensitivity)):
        threshold = choose(other.scores, other.positive, LEVEL)
        if np.isnan(threshold):
            raise DataError(
                f"--eye-threshold-from={targets.threshold_from} has no threshold with a {target} of 95 %. Expected "
                "images of both classes with finite scores; name another split."
            )
        name = f"threshold_for_95_{target}"
        n = int((~np.isnan(other.positive)).sum())
        yield Estimate(name=name, labels=labels, n=n, value=threshold if np.isfinite(threshold) else None)
        called = separation.scores >= threshold
        for share, kind in (("sensitivity", 1), ("specificity", 0)):
            outcomes = np.where(separation.positive == kind, called == bool(kind), np.nan)
            yield Estimate.proportion(f"{share}_at_{name}", outcomes, targets.clusters, labels=labels)


def _resampled_estimates(labels: str, separation: Separation, targets: Targets) -> Iterator[Estimate]:
    """Yield average precision and the operating points, whose intervals are from resampled images."""
    scores, positive = separation.scores, separation.positive
    known = ~np.isnan(positive)
    n, n_clusters = int(known.sum()), targets.count_clusters(known)
    estimate = partial(Estimate, labels=labels, n=n, n_clusters=n_clusters, method="bootstrap")
    samples = bootstrap_counts(len(scores), RESAMPLES, targets.seed, clusters=targets.clusters)
    relevant = (positive == 1)[:, None]

    def precisions() -> Float64s:
        return mean_average_precision_bootstrap(scores[:, None], relevant, samples)

    yield estimate(
        name="average_precision",
        value=average_precision(scores, positive == 1),
        interval=percentile_interval(precisions()),
        bootstrap=precisions,
    )
    for name, measure in (
        ("sensitivity_at_95_specificity", sensitivity_at_specificity(scores, positive, LEVEL)),
        ("specificity_at_95_sensitivity", specificity_at_sensitivity(scores, positive, LEVEL)),
    ):
        yield estimate(
            name=name,
            value=measure.value,
            interval=measure.interval(RESAMPLES, targets.seed, clusters=targets.clusters),
            bootstrap=partial(measure.resample, samples),
        )
