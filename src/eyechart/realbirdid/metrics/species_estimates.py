"""The metrics of species: functions from predictions to estimates, each for all label sets.

Source: RealBirdID, arXiv 2603.27033, Section 4: abstention is Metric 1, information gain Metric 2, selective accuracy
Metric 3.
"""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.realbirdid.answers.species_predictions import (
    ALL,
    ELIGIBLE,
    RANGE,
    LevelSubset,
    RangeView,
    SpeciesPredictions,
    criterion_name,
    metric_title,
)
from eyechart.realbirdid.metrics.shares import (
    NO_CLUSTERS,
    Float64s,
    Value,
    bootstrap_weights,
    estimate,
    harmonic_mean_estimate,
    proportion,
)
from eyechart.realbirdid.statistics.abstention_tradeoff import (
    CRITERIA,
    abstention_rate_at,
    abstention_rate_at_interval,
    ua_a,
    ua_a_bootstrap,
    ua_a_interval,
)
from eyechart.realbirdid.statistics.hierarchy import Tree
from eyechart.realbirdid.statistics.information_gain import (
    information_gain,
    information_gain_bootstrap,
    information_gain_interval,
)
from eyechart.realbirdid.statistics.stopping import correct_range, cross_fit_threshold
from eyechart.realbirdid.statistics.sweep_changes import information_gain_change, ua_a_change
from eyechart.results.estimates import Estimate, score_estimates
from eyechart.results.records import ANSWERABLE, UNANSWERABLE, WHOLE
from eyechart.statistics.calibration import calibration_error, calibration_error_bootstrap, calibration_error_interval
from eyechart.statistics.clusters import clustered_stratified_interval
from eyechart.statistics.intervals import Interval
from eyechart.statistics.proper_scores import log_scores_of_probabilities
from eyechart.statistics.recall import mean_per_class_recall
from eyechart.statistics.selective import auc_bootstrap, auc_interval, aurc, balanced_weights, macro_auc
from eyechart.statistics.thresholds import accuracy_coverage_area

Bools = NDArray[np.bool_]
MAIN, *OTHERS = CRITERIA
GAIN_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "ig": {},
    "ig_correct_only": {"correct_only": True},
    "ig_depth": {"depth": True},
}


def information_gains(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield `ig` and its variants, Metric 2: the area under accuracy by information gain, of the answerable images."""
    for view in predictions.views.all:
        yield from _gain_estimates(view, predictions.views.tree, predictions.seed)


def abstention_tradeoffs(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield `ua_a` by each criterion, Metric 1: how well uncertainty separates unanswerable from answerable images."""
    for view in predictions.views.all:
        yield from abstention_estimates(view, predictions.seed)


def tree_accuracies(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield `tree_acc` and `tree_hm`, TreeGT of Figure 4: accuracies at a cross-fitted threshold."""
    for view in predictions.views.all:
        yield from _tree_estimates(view, predictions.seed)


def level_accuracies(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield accuracy, macro accuracy and calibration error of both subsets at every level of the taxonomy."""
    for view in predictions.views.all:
        for part in view.subsets():
            yield from _accuracy_estimates(view, part, predictions.seed)


def selective_accuracies(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield the areas under accuracy by coverage, Metric 3, of both subsets at every level of the taxonomy."""
    for view in predictions.views.all:
        for part in view.subsets():
            yield from _area_estimates(view, part, predictions.seed)


def species_scores(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield `log_score` and `target_brier` of the true species of each answerable image, over all species.

    Those over the range lists follow from the same scores of the model, so that they are no further evidence.
    """
    observations = predictions.observations
    scores = log_scores_of_probabilities(predictions.views[ALL].summary.of_species)
    yield from score_estimates(
        ALL, scores, observations.clusters, subset=ANSWERABLE, level=observations.taxonomy.levels[0]
    )


def range_changes(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield the paired changes of IG and UA/A from all species to the range lists, over images with a list."""
    views, seed = predictions.views, predictions.seed
    before, after = views[ELIGIBLE], views[RANGE]
    answered, answerable = before.answered & after.answered, before.observations.answerable
    rows, kinds = np.flatnonzero(answered & answerable), ~answerable[answered]
    truth = before.observations.species[rows]

    def gain() -> Value:
        first, second = (view.summary.threshold_steps.select(rows) for view in (before, after))
        change = information_gain_change(
            views.tree, first, second, truth, seed=seed, clusters=before.observations.clusters[rows]
        )
        return change.value, change.interval

    def tradeoff() -> Value:
        first, second = (view.uncertainty(MAIN, 0)[answered] for view in (before, after))
        change = ua_a_change(first, second, kinds, seed=seed, clusters=before.observations.clusters[answered])
        return change.value, change.interval

    clusters = before.observations.clusters
    both = clusters[answered] if kinds.any() and not kinds.all() else NO_CLUSTERS
    yield estimate("ig_change", RANGE, ANSWERABLE, clusters[rows], gain, "bootstrap")
    yield estimate("ua_a_change", RANGE, WHOLE, both, tradeoff, "bootstrap")


def _gain_estimates(view: RangeView, tree: Tree, seed: int) -> Iterator[Estimate]:
    """Yield Metric 2 of a label set: the area under accuracy by information gain."""
    rows = np.flatnonzero(view.answered & view.observations.answerable)
    steps, truth, clusters = (
        view.summary.threshold_steps.select(rows),
        view.observations.species[rows],
        view.observations.clusters[rows],
    )

    def bootstrap() -> Float64s:
        species = np.where(view.answered & view.observations.answerable, view.observations.species, -1)
        return information_gain_bootstrap(
            tree, view.summary.threshold_steps, species, bootstrap_weights(view.observations, seed)
        )

    for name, how in GAIN_VARIANTS.items():

        def value(how: Mapping[str, Any] = how) -> Value:
            area = information_gain(tree, steps, truth, **how).area
            return area, information_gain_interval(tree, steps, truth, seed=seed, clusters=clusters, **how)

        more: dict[str, Any] = {}
        if name == "ig":
            more = {"bootstrap": bootstrap, "title": metric_title("IG", view.labels)}
        yield estimate(name, view.labels, ANSWERABLE, clusters, value, "bootstrap", **more)


def abstention_estimates(view: RangeView, seed: int) -> Iterator[Estimate]:
    """Yield Metric 1 of a label set by each criterion, and the abstention rate that 95 % coverage costs."""
    without = ~view.observations.answerable[view.answered]
    clusters = view.observations.clusters[view.answered]
    both = clusters if without.any() and not without.all() else NO_CLUSTERS

    def bootstrap() -> Float64s:
        every = np.where(view.answered, view.uncertainty(MAIN, 0), np.nan)
        return ua_a_bootstrap(every, ~view.observations.answerable, bootstrap_weights(view.observations, seed))

    for criterion in CRITERIA:
        unsure = view.uncertainty(criterion, 0)[view.answered]

        def value(unsure: Float64s = unsure) -> Value:
            return ua_a(unsure, without), ua_a_interval(unsure, without, seed=seed, clusters=clusters)

        more: dict[str, Any] = {}
        if criterion == MAIN:
            more = {"bootstrap": bootstrap, "title": metric_title("UA/A", view.labels)}
        yield estimate(criterion_name("ua_a", criterion), view.labels, WHOLE, both, value, "bootstrap", **more)

    unsure = view.uncertainty(MAIN, 0)[view.answered]

    def cost() -> Value:
        return abstention_rate_at(unsure, without), abstention_rate_at_interval(
            unsure, without, seed=seed, clusters=clusters
        )

    yield estimate("abstained_at_95", view.labels, WHOLE, both, cost, "bootstrap")


def _tree_estimates(view: RangeView, seed: int) -> Iterator[Estimate]:
    """Yield TreeGT of a label set: accuracies at a cross-fitted threshold, and their harmonic mean."""
    right, answerable = _cross_fitted_correct(view, seed), view.observations.answerable
    for subset, mask in ((ANSWERABLE, answerable), (UNANSWERABLE, ~answerable)):
        outcomes = np.where(mask, right, np.nan)
        yield proportion("tree_acc", view.labels, outcomes, subset, view.observations.clusters)
    yield harmonic_mean_estimate("tree_hm", view.labels, right, view.observations, seed)


def _cross_fitted_correct(view: RangeView, seed: int) -> Float64s:
    """Return whether each image is correct at a threshold fitted on other images (n,), NaN without an answer."""
    span = correct_range(view.summary.threshold_steps.select(view.answered), view.observations.nodes[view.answered])
    correct = np.full(len(view.answered), np.nan)
    correct[view.answered] = cross_fit_threshold(*span, ~view.observations.answerable[view.answered], seed).correct
    return correct


def _accuracy_estimates(view: RangeView, part: LevelSubset, seed: int) -> Iterator[Estimate]:
    """Yield accuracy, macro accuracy and calibration error of a subset at one level."""
    subset, level, level_index, mask = part
    right, truth = view.correct[level_index][mask], view.targets[level_index][mask]
    sure, clusters = view.summary.levels[level_index].probability[mask], view.observations.clusters[mask]

    def macro() -> Value:
        return mean_per_class_recall(right, truth, int(truth.max()) + 1), clustered_stratified_interval(
            right, truth, clusters
        )

    def error() -> Value:
        return calibration_error(sure, right), calibration_error_interval(sure, right, clusters=clusters)

    def bootstrap() -> Float64s:
        probability = view.summary.levels[level_index].probability
        return calibration_error_bootstrap(
            probability, _masked_correct(mask, view, level_index), bootstrap_weights(view.observations, seed)
        )

    shown = view.labels == ALL and (subset, level) in ((ANSWERABLE, "species"), (UNANSWERABLE, "genus"))
    yield proportion(
        "acc",
        view.labels,
        _masked_correct(mask, view, level_index),
        subset,
        view.observations.clusters,
        level=level,
        title=f"{subset}, {level}" if shown else "",
    )
    yield estimate("acc_macro", view.labels, subset, clusters, macro, "stratified", level=level)
    more = {"bootstrap": bootstrap, "level": level}
    yield estimate("ece", view.labels, subset, clusters, error, "folded normal", **more)


def _area_estimates(view: RangeView, part: LevelSubset, seed: int) -> Iterator[Estimate]:
    """Yield Metric 3 of a subset at one level: areas under accuracy by coverage, by criterion and class average."""
    subset, level, level_index, mask = part
    right, truth = view.correct[level_index][mask], view.targets[level_index][mask]
    sure, clusters = -view.uncertainty(MAIN, level_index)[mask], view.observations.clusters[mask]
    area_estimate = partial(
        estimate, labels=view.labels, subset=subset, level=level, clusters=clusters, method="bootstrap"
    )
    interval = partial(auc_interval, seed=seed, clusters=clusters)

    def by(sure: Float64s) -> Value:
        return accuracy_coverage_area(sure, right), interval(sure, right)

    area = cache(partial(by, sure))

    def risk() -> Value:
        low, high = area()[1]
        return aurc(sure, right), Interval(1 - high, 1 - low)

    def macro() -> Value:
        return macro_auc(sure, right, truth), interval(sure, right, classes=truth, average="macro")

    def balanced() -> Value:
        value = accuracy_coverage_area(sure, right, balanced_weights(right, truth))
        return value, interval(sure, right, classes=truth, average="balanced")

    every = _masked_correct(mask, view, level_index), -view.uncertainty(MAIN, level_index)

    @cache
    def resamples() -> Float64s:
        return auc_bootstrap(every[1], every[0], bootstrap_weights(view.observations, seed))

    def risks() -> Float64s:
        return 1 - resamples()

    def macro_resamples() -> Float64s:
        samples = bootstrap_weights(view.observations, seed)
        return auc_bootstrap(every[1], every[0], samples, classes=view.targets[level_index], average="macro")

    yield area_estimate("auc", value=area, bootstrap=resamples)
    yield area_estimate("aurc", value=risk, bootstrap=risks)
    yield area_estimate("auc_macro", value=macro, bootstrap=macro_resamples)
    yield area_estimate("auc_balanced", value=balanced)
    for criterion in OTHERS:
        other = -view.uncertainty(criterion, level_index)[mask]
        yield area_estimate(criterion_name("auc", criterion), value=partial(by, other))


def _masked_correct(mask: Bools, view: RangeView, level_index: int) -> Float64s:
    """Return whether the top name of a level is correct (n,), NaN outside the mask."""
    return np.where(mask, view.correct[level_index], np.nan)
