"""The metrics of classification: functions from predictions to estimates, one per label set and subset.

Over several epochs an estimate is the mean over the epochs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.answers.class_predictions import (
    Bools,
    Classification,
    ClassPredictions,
    Float64s,
    Ints,
    ScoredLabels,
    Targets,
)
from eyechart.classification.answers.out_of_prompt import KINDS_OUT_OF_PROMPT
from eyechart.data.dataset.dataset import LabelSet
from eyechart.data.index.file_index import MULTILABEL
from eyechart.results.estimates import Estimate, score_estimates
from eyechart.results.evidence import RESAMPLES
from eyechart.results.records import LABELLED, WHOLE
from eyechart.statistics.accuracy import correct_under_both, correctness
from eyechart.statistics.average_precision import mean_average_precision as mean_precision
from eyechart.statistics.average_precision import mean_average_precision_bootstrap
from eyechart.statistics.bootstrap_samples import BootstrapSamples
from eyechart.statistics.calibration import (
    brier_interval,
    brier_score,
    brier_score_bootstrap,
    calibration_error,
    calibration_error_bootstrap,
    calibration_error_interval,
)
from eyechart.statistics.categories import SINGLE_LABEL
from eyechart.statistics.clusters import clustered_stratified_interval, clustered_t_interval, effective_sample_size
from eyechart.statistics.equivalence import expand_labels
from eyechart.statistics.intervals import Interval, effective_wilson, t_interval
from eyechart.statistics.proper_scores import log_scores
from eyechart.statistics.recall import mean_per_class_recall as mean_recall
from eyechart.statistics.recall import mean_per_class_recall_bootstrap
from eyechart.statistics.resampling import bootstrap_counts, percentile_interval, unit_bootstrap_shares
from eyechart.statistics.selective import accuracy_coverage_auc
from eyechart.statistics.thresholds import accuracy_coverage_area as coverage_auc
from eyechart.statistics.thresholds import accuracy_coverage_area_interval

Floats = NDArray[np.floating[Any]]
CORRECTNESS = (ScoredLabels.score, expand_labels, correctness)  # the steps that decide which answers are correct


@dataclass(frozen=True)
class _ConfidenceBootstrap:
    """Bootstrap samples (`RESAMPLES`, L) of confidences (n,) with outcomes (n, L) that are NaN for the same images."""

    confidences: Float64s
    correct: Float64s
    seed: int
    clusters: Ints | None = None

    @property
    def samples(self) -> BootstrapSamples:
        """How often each image is taken, resample by resample."""
        return bootstrap_counts(len(self.correct), RESAMPLES, self.seed, clusters=self.clusters)

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
        return accuracy_coverage_auc(self.confidences, self.correct).resample(self.samples)


def _confidence_bootstraps(
    confidences: Float64s, outcomes: Sequence[Float64s], seed: int, clusters: Ints | None = None
) -> list[tuple[_ConfidenceBootstrap, int]]:
    """Return for each outcome (n,) the bootstrap samples that have it, and its column there.

    >>> outcomes = [np.array([1.0, 0.0]), np.array([1.0, np.nan]), np.array([0.0, 0.0])]
    >>> [(one.correct.shape, column) for one, column in _confidence_bootstraps(np.array([0.9, 0.8]), outcomes, 0)]
    [((2, 2), 0), ((2, 1), 0), ((2, 2), 1)]
    """
    masks = [np.isnan(outcome).tobytes() for outcome in outcomes]
    alike = {mask: [index for index, other in enumerate(masks) if other == mask] for mask in masks}
    shared = {
        mask: _ConfidenceBootstrap(
            confidences, np.stack([outcomes[index] for index in indices], axis=1), seed, clusters
        )
        for mask, indices in alike.items()
    }
    return [(shared[mask], alike[mask].index(index)) for index, mask in enumerate(masks)]


def top1(predictions: Classification) -> Iterator[Estimate]:
    """Yield `acc1`, the proportion of images whose best class is correct, over all images and by category of labels.

    If images without a label count, a second estimate is over the images with a label (`labelled`).

    Source: arXiv 2603.06578, section 2.2.
    """
    for scored_epochs in predictions.scores_by_labels:
        correct = [scored.correct for scored in scored_epochs]
        for subset in (WHOLE, *_labelled_subset(scored_epochs), *scored_epochs[0].reported):
            yield from map(_with_title, _epoch_estimates(predictions, "acc1", scored_epochs, correct, subset))


def top5(predictions: Classification) -> Iterator[Estimate]:
    """Yield `acc5`, the proportion of images with a correct class among the five best.

    Of ranked answers that are fewer, as many count as there are, with a note. Nothing is yielded if each image has one
    answer alone, or if fewer than five classes could be ranked.
    """
    for scored_epochs in predictions.scores_by_labels:
        correct = [scored.correct5 for scored in scored_epochs if scored.correct5 is not None]
        for subset in (WHOLE, *_labelled_subset(scored_epochs)) if correct else ():
            yield from map(_with_title, _epoch_estimates(predictions, "acc5", scored_epochs, correct, subset))


def strict_top1(predictions: Classification) -> Iterator[Estimate]:
    """Yield `acc1_strict`, the proportion of correct text answers under the strict parser."""
    for scored_epochs in predictions.scores_by_labels:
        correct = [scored.strict for scored in scored_epochs if scored.strict is not None]
        for subset in (WHOLE, *_labelled_subset(scored_epochs)) if correct else ():
            yield from _epoch_estimates(predictions, "acc1_strict", scored_epochs, correct, subset)


def mean_per_class_recall(predictions: Classification) -> Iterator[Estimate]:
    """Yield `mean_per_class_recall` over the images with a single label."""
    for scored_epochs in predictions.scores_by_labels:
        if predictions.name_of("mean_per_class_recall"):
            labels, correct = scored_epochs[0].labels, scored_epochs[0].correct
            classes, seed = predictions.targets.classes, predictions.targets.seed
            yield _recall_estimate(
                labels.name,
                correct,
                scored_epochs[0].single_labels,
                classes,
                bootstrap_counts(len(correct), RESAMPLES, seed, clusters=predictions.targets.clusters),
                predictions.targets.clusters,
            )


def mean_average_precision(predictions: ClassPredictions) -> Iterator[Estimate]:
    """Yield `mean_average_precision` for data whose own labels are several an image; nothing without scores.

    Data with one label an image, such as ImageNet, have none, even under a label set with several labels an image.
    """
    label_sets = [scored.labels for (scored,) in predictions.scores_by_labels]
    for labels in () if any(labels.original for labels in label_sets) else label_sets:
        if labels.name == MULTILABEL and predictions.scores.shape[1]:
            scores = np.where(predictions.answered[:, None], predictions.scores, np.nan)
            yield _average_precision_estimate(labels, scores, predictions.targets)


def _average_precision_estimate(labels: LabelSet, scores: Floats, targets: Targets) -> Estimate:
    """Return the mean average precision of scores (n, classes), with the bootstrap interval over images."""
    rows, indices = np.nonzero(labels.labels >= 0)
    relevant = np.zeros(scores.shape, bool)
    relevant[rows, labels.labels[rows, indices]] = True
    scores = np.where(labels.annotated[:, None], scores, np.nan)

    @cache  # for the interval and the evidence
    def bootstrap() -> Float64s:
        samples = bootstrap_counts(len(scores), RESAMPLES, targets.seed, clusters=targets.clusters)
        return mean_average_precision_bootstrap(scores, relevant, samples)

    known = np.asarray(~np.isnan(scores).all(axis=1), np.bool_)
    return Estimate(
        name="mean_average_precision",
        labels=labels.name,
        value=mean_precision(scores, relevant),
        n=int(known.sum()),
        n_clusters=targets.count_clusters(known),
        interval=percentile_interval(bootstrap()),
        method="bootstrap",
        bootstrap=bootstrap,
    )


def out_of_prompt(predictions: Classification) -> Iterator[Estimate]:
    """Yield `oop`, the proportion of answers that are out of the prompt, and the proportion of each kind among them.

    If these answers are mapped to classes, `oop_mapped` is the proportion of them that is correct.

    Source: arXiv 2603.06578, Tables 5, 15 and 16.
    """
    for scored_epochs in predictions.scores_by_labels:
        for subset in (WHOLE, *scored_epochs[0].reported):
            yield from _out_of_prompt_estimates(predictions, scored_epochs, subset)


def confidence(predictions: ClassPredictions) -> Iterator[Estimate]:
    """Yield calibration error, Brier score and the area under accuracy by coverage, if scores are logits.

    Images without a parsed answer have no confidence and are not in `n`.
    """
    confidences = predictions.confidences
    if confidences is None:
        return
    by_labels = [scored_epochs[0] for scored_epochs in predictions.scores_by_labels]
    seed, clusters = predictions.targets.seed, predictions.targets.clusters
    resampled = _confidence_bootstraps(confidences, [scored.correct for scored in by_labels], seed, clusters)
    for scored, (bootstrap, column) in zip(by_labels, resampled, strict=True):
        yield from _confidence_estimates(scored.labels.name, bootstrap, column)


def proper_scores(predictions: ClassPredictions) -> Iterator[Estimate]:
    """Yield `log_score` and `target_brier` of the labels of each image under the first label set.

    Images without a label or an answer do not count. Nothing is yielded if scores are no probabilities.
    """
    logits = predictions.logits
    if logits is None:
        return
    for (scored,) in predictions.scores_by_labels[:1]:
        labels = np.where(scored.labels.annotated[:, None], scored.admissible, -1)
        scores = log_scores(logits, labels, predictions.softmax_sums)
        counted = np.where(predictions.answered & ~np.isnan(scored.correct), scores, np.nan)
        yield from score_estimates(scored.labels.name, counted, predictions.targets.clusters)


def answer_log_probability(predictions: Classification) -> Iterator[Estimate]:
    """Yield `answer_log_prob`, the mean log-probability of the answers as whole responses, if the model gives it.

    The gate does not judge it, since the answer may be wrong; the protocol posterior has that of the right class.
    """
    texts = predictions.epochs[0].texts
    if texts is None or texts.log_probabilities is None:
        return
    counted = ~np.isnan(texts.log_probabilities)
    known, clusters = texts.log_probabilities[counted], predictions.targets.clusters
    plain = t_interval(known) if len(known) > 1 else None
    yield Estimate(
        name="answer_log_prob",
        value=float(known.mean()) if len(known) else None,
        n=len(known),
        n_clusters=predictions.targets.count_clusters(counted),
        interval=plain if clusters is None else clustered_t_interval(known, clusters[counted]),
        method="student" if clusters is None else "clustered student",
    )


def label_agreement(predictions: Classification) -> Iterator[Estimate]:
    """Yield `intersection`, the proportion of images that are correct under both the first and another label set.

    Source: arXiv 2603.06578, Table 3, Im∩Re.
    """
    if isinstance(predictions, ClassPredictions):
        first, *others = (scored_epochs[0] for scored_epochs in predictions.scores_by_labels)
        for other in others:
            names = f"{first.labels.name}∩{other.labels.name}"
            both = correct_under_both(first.correct, other.correct)
            yield Estimate.proportion("intersection", both, predictions.targets.clusters, labels=names)


def _labelled_subset(scored_epochs: Sequence[ScoredLabels]) -> tuple[str, ...]:
    """Return the subset of the images with a label, or nothing if every image that counts has one."""
    whole = min(_count_known(scored.correct) for scored in scored_epochs)
    part = min(_count_known(_mask_outcomes(scored.correct, scored.categories[LABELLED])) for scored in scored_epochs)
    return (LABELLED,) if scored_epochs[0].counts_empty and part < whole else ()


def _count_known(outcomes: Float64s) -> int:
    """Return the number of outcomes (n,) that are not NaN."""
    return int((~np.isnan(outcomes)).sum())


def _mask_outcomes(outcomes: Float64s, mask: Bools) -> Float64s:
    """Return the outcomes (n,) of the images of a mask, NaN for the others."""
    return np.where(mask, outcomes, np.nan)


def _with_title(estimate: Estimate) -> Estimate:
    """Return the estimate with the title of its row in the terminal; only all and all labelled images have rows."""
    return replace(estimate, title=estimate.labels if estimate.subset in (WHOLE, LABELLED) else "")


def _epoch_estimates(
    predictions: Classification,
    name: str,
    scored_epochs: Sequence[ScoredLabels],
    outcomes: Sequence[Float64s],
    subset: str,
    *,
    compared: bool = True,
) -> Iterator[Estimate]:
    """Yield a proportion over the images of a subset, averaged over epochs; nothing if it has no name."""
    if name := predictions.name_of(name):
        parts = [
            _mask_outcomes(values, scored.categories[subset])
            for values, scored in zip(outcomes, scored_epochs, strict=True)
        ]
        labels = scored_epochs[0].labels.name
        seed, clusters = predictions.targets.seed, predictions.targets.clusters
        estimates = [
            Estimate.proportion(name, part, clusters, compared=compared, labels=labels, subset=subset) for part in parts
        ]
        yield mean_over_epochs(estimates, np.stack(parts, axis=1), seed, clusters)


def mean_over_epochs(
    estimates: Sequence[Estimate], outcomes: Float64s, seed: int, clusters: Ints | None = None
) -> Estimate:
    """Return the mean over R epochs of outcomes (n, R), with its interval over images.

    The epochs of an image are one cluster, since they are not independent samples of images. `epochs_interval` is
    Student's interval of the mean, in which the images are fixed: arXiv 2603.06578, Tables 7, 17 and 19,
    mean ± t(R - 1) s / √R.
    """
    first, values = estimates[0], [estimate.value for estimate in estimates if estimate.value is not None]
    if len(estimates) == 1 or not values:
        return first
    value = float(np.mean(values))
    return replace(
        first,
        value=value,
        n=min(estimate.n for estimate in estimates),  # an error in one epoch excludes the image
        interval=_clustered_interval(value, outcomes, clusters),
        method="clustered wilson",
        correct=None,
        bootstrap=None if first.correct is None else partial(_bootstrap_epoch_means, outcomes, seed, clusters),
        epochs_interval=t_interval(values) if len(values) > 1 else None,
    )


def _bootstrap_epoch_means(outcomes: Float64s, seed: int, clusters: Ints | None) -> Float64s:
    """Return the mean over epochs of the shares (RESAMPLES,) of resamples of images, of outcomes (n, R)."""
    counted = ~np.isnan(outcomes)
    shares: Float64s = unit_bootstrap_shares(
        np.where(counted, outcomes, 0), counted, RESAMPLES, seed, clusters=clusters
    )
    return np.asarray(shares.mean(axis=1))


def _clustered_interval(value: float, outcomes: Float64s, clusters: Ints | None) -> Interval | None:
    """Return Wilson's interval of a mean of outcomes (n, R) of n images, with their effective sample size."""
    if np.isnan(outcomes).all():
        return None
    units = np.arange(len(outcomes)) if clusters is None else clusters
    images = np.repeat(units, outcomes.shape[1])
    return effective_wilson(value, effective_sample_size(outcomes.ravel(), images))


def _recall_estimate(
    labels: str,
    correct: Float64s,
    of_class: Ints,
    classes: int,
    samples: BootstrapSamples,
    clusters: Ints | None,
) -> Estimate:
    """Return mean per-class recall, of outcomes (n,) and classes (n,), -1 for an image that does not count."""
    kept = (of_class >= 0) & ~np.isnan(correct)
    n = int(kept.sum())
    units = np.arange(len(correct)) if clusters is None else clusters
    return Estimate(
        name="mean_per_class_recall",
        labels=labels,
        subset=SINGLE_LABEL,
        value=mean_recall(correct[kept], of_class[kept], classes) if n else None,
        n=n,
        n_clusters=None if clusters is None else len(np.unique(clusters[kept])),
        interval=clustered_stratified_interval(correct[kept], of_class[kept], units[kept]) if n else None,
        method="stratified",
        bootstrap=lambda: mean_per_class_recall_bootstrap(correct, of_class, classes, samples),
    )


def _out_of_prompt_estimates(
    predictions: Classification, scored_epochs: Sequence[ScoredLabels], subset: str
) -> Iterator[Estimate]:
    """Yield the proportion of answers out of the prompt in a subset, and of each kind among them."""
    texts = [
        epoch.texts for epoch in predictions.epochs if epoch.texts is not None and epoch.texts.out_of_prompt is not None
    ]
    if not texts or texts[0].out_of_prompt is None:
        return
    kinds = np.array(texts[0].out_of_prompt)
    first, labels = scored_epochs[0], scored_epochs[0].labels.name
    if texts[0].is_mapped:
        right = _mask_outcomes(np.where(kinds != "", first.correct, np.nan), first.categories[subset])
        yield Estimate.proportion(
            "oop_mapped", right, predictions.targets.clusters, compared=False, labels=labels, subset=subset
        )
        return
    out = [
        _mask_outcomes(np.array([kind != "" for kind in epoch.texts.out_of_prompt or ()], np.float64), epoch.answered)
        for epoch in predictions.epochs
        if epoch.texts is not None
    ]
    yield from _epoch_estimates(predictions, "oop", scored_epochs, out, subset, compared=False)
    for kind in KINDS_OUT_OF_PROMPT:
        if name := predictions.name_of(f"oop_{kind.lower()}"):
            chosen = (kinds != "") & first.categories[subset] & predictions.epochs[0].answered
            of_kind = (kinds[chosen] == kind).astype(np.float64)
            units = None if predictions.targets.clusters is None else predictions.targets.clusters[chosen]
            yield Estimate.proportion(name, of_kind, units, compared=False, labels=labels, subset=subset)


def _confidence_estimates(labels: str, resampled: _ConfidenceBootstrap, column: int) -> list[Estimate]:
    """Return `ece`, `brier` and `accuracy_coverage_auc` of confidences and one column of outcomes."""
    confidences, correct = resampled.confidences, resampled.correct[:, column]
    known = ~np.isnan(confidences) & ~np.isnan(correct)
    n = int(known.sum())
    n_clusters = None if resampled.clusters is None else len(np.unique(resampled.clusters[known]))
    estimate = partial(Estimate, labels=labels, n=n, n_clusters=n_clusters)
    found = [
        estimate(
            name="ece",
            value=calibration_error(confidences, correct) if n else None,
            interval=calibration_error_interval(confidences, correct),
            method="folded normal",
            bootstrap=lambda: resampled.calibration_error[:, column],
        ),
        estimate(
            name="brier",
            value=brier_score(confidences, correct) if n else None,
            interval=brier_interval(confidences, correct),
            method="student",
            bootstrap=lambda: resampled.brier_score[:, column],
        ),
        estimate(
            name="accuracy_coverage_auc",
            value=coverage_auc(confidences, correct) if n else None,
            interval=accuracy_coverage_area_interval(confidences, correct),
            method="effective wilson",
            bootstrap=lambda: resampled.area[:, column],
        ),
    ]
    if resampled.clusters is None:
        return found
    return [
        replace(one, interval=percentile_interval(one.bootstrap()), method="bootstrap")
        for one in found
        if one.bootstrap is not None
    ]
