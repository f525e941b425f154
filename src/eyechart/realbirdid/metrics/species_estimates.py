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
)
from eyechart.realbirdid.statistics.abstention_tradeoff import (
    CRITERIA,
    Criterion,
    abstention_rate_at,
    ua_a,
)
from eyechart.realbirdid.statistics.hierarchy import Tree
from eyechart.realbirdid.statistics.information_gain import information_gain_area
from eyechart.realbirdid.statistics.stopping import correct_range, cross_fit_threshold
from eyechart.results.estimates import Estimate, score_estimates
from eyechart.results.records import ANSWERABLE, UNANSWERABLE, WHOLE
from eyechart.statistics.calibration import calibration_error, calibration_error_bootstrap, calibration_error_interval
from eyechart.statistics.clusters import clustered_stratified_interval
from eyechart.statistics.intervals import Interval
from eyechart.statistics.measures import Measure, PairedChange, paired_change
from eyechart.statistics.proper_scores import log_scores_of_probabilities
from eyechart.statistics.recall import mean_per_class_recall
from eyechart.statistics.selective import accuracy_coverage_auc, aurc, balanced_weights, macro_auc
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
    sides = predictions.views[ELIGIBLE], predictions.views[RANGE]
    both, observations = sides[0].answered & sides[1].answered, sides[0].observations
    gains = [_information_gain(view, predictions.views.tree, both) for view in sides]
    areas = [_ua_a(view, MAIN, both) for view in sides]
    for name, subset, (before, after) in (("ig_change", ANSWERABLE, gains), ("ua_a_change", WHOLE, areas)):
        change = paired_change(before, after, seed=predictions.seed, clusters=observations.clusters)
        clusters = NO_CLUSTERS if np.isnan(change.value) else observations.clusters[before.rows]
        yield estimate(name, RANGE, subset, clusters, partial(PairedChange, *change), "bootstrap")


def _information_gain(view: RangeView, tree: Tree, counted: Bools, **how: Any) -> Measure:
    """Return the area of Metric 2 over the answerable images of a mask."""
    species = np.where(counted & view.observations.answerable, view.observations.species, -1)
    return information_gain_area(tree, view.summary.threshold_steps, species, **how)


def _ua_a(view: RangeView, criterion: Criterion, counted: Bools) -> Measure:
    """Return Metric 1 over the images of a mask."""
    return ua_a(np.where(counted, view.uncertainty(criterion, 0), np.nan), ~view.observations.answerable)


def _gain_estimates(view: RangeView, tree: Tree, seed: int) -> Iterator[Estimate]:
    """Yield Metric 2 of a label set: the area under accuracy by information gain."""
    for name, how in GAIN_VARIANTS.items():
        area = _information_gain(view, tree, view.answered, **how)
        title = metric_title("IG", view.labels) if name == "ig" else ""
        yield _measure_estimate(name, view, ANSWERABLE, area, seed, compared=name == "ig", title=title)


def abstention_estimates(view: RangeView, seed: int) -> Iterator[Estimate]:
    """Yield Metric 1 of a label set by each criterion, and the abstention rate that 95 % coverage costs."""
    for criterion in CRITERIA:
        area, is_main = _ua_a(view, criterion, view.answered), criterion == MAIN
        title = metric_title("UA/A", view.labels) if is_main else ""
        yield _measure_estimate(
            criterion_name("ua_a", criterion), view, WHOLE, area, seed, compared=is_main, title=title
        )
    unsure = np.where(view.answered, view.uncertainty(MAIN, 0), np.nan)
    rate = abstention_rate_at(unsure, ~view.observations.answerable)
    yield _measure_estimate("abstained_at_95", view, WHOLE, rate, seed)


def _measure_estimate(
    name: str, view: RangeView, subset: str, measure: Measure, seed: int, *, compared: bool = False, title: str = ""
) -> Estimate:
    """Return the estimate of a measure over all images; `compared` by its resamples with another run."""
    observations = view.observations
    clusters = NO_CLUSTERS if np.isnan(measure.value) else observations.clusters[measure.rows]

    def value() -> Value:
        return measure.value, measure.interval(seed=seed, clusters=observations.clusters)

    def bootstrap() -> Float64s:
        return measure.resample(bootstrap_weights(observations, seed))

    return estimate(
        name,
        view.labels,
        subset,
        clusters,
        value,
        "bootstrap",
        bootstrap=bootstrap if compared else None,
        title=title,
    )


def _tree_estimates(view: RangeView, seed: int) -> Iterator[Estimate]:
    """Yield TreeGT of a label set: accuracies at a cross-fitted threshold, and their harmonic mean."""
    right, answerable = _cross_fitted_correct(view, seed), view.observations.answerable
    for subset, mask in ((ANSWERABLE, answerable), (UNANSWERABLE, ~answerable)):
        outcomes = np.where(mask, right, np.nan)
        yield Estimate.proportion("tree_acc", outcomes, view.observations.clusters, labels=view.labels, subset=subset)
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
    yield Estimate.proportion(
        "acc",
        _masked_correct(mask, view, level_index),
        view.observations.clusters,
        labels=view.labels,
        subset=subset,
        level=level,
        title=f"{subset}, {level}" if shown else "",
    )
    yield estimate("acc_macro", view.labels, subset, clusters, macro, "stratified", level=level)
    more = {"bootstrap": bootstrap, "level": level}
    yield estimate("ece", view.labels, subset, clusters, error, "folded normal", **more)


def _area_estimates(view: RangeView, part: LevelSubset, seed: int) -> Iterator[Estimate]:
    """Yield Metric 3 of a subset at one level: areas under accuracy by coverage, by criterion and class average."""
    subset, level, level_index, mask = part
    observations, classes = view.observations, view.targets[level_index]
    correct, sure = _masked_correct(mask, view, level_index), -view.uncertainty(MAIN, level_index)
    area_estimate = partial(
        estimate,
        labels=view.labels,
        subset=subset,
        level=level,
        clusters=observations.clusters[mask],
        method="bootstrap",
    )
    micro = accuracy_coverage_auc(sure, correct)
    macro, balanced = (
        accuracy_coverage_auc(sure, correct, classes=classes, average=average) for average in ("macro", "balanced")
    )

    @cache  # of two estimates
    def interval(area: Measure) -> Interval:
        return area.interval(seed=seed, clusters=observations.clusters)

    @cache
    def resamples(area: Measure) -> Float64s:
        return area.resample(bootstrap_weights(observations, seed))

    def micro_value() -> Value:
        return accuracy_coverage_area(sure, correct), interval(micro)

    def risk_value() -> Value:
        low, high = interval(micro)
        return aurc(sure, correct), Interval(1 - high, 1 - low)

    def macro_value() -> Value:
        return macro_auc(sure, correct, classes), interval(macro)

    def balanced_value() -> Value:
        return accuracy_coverage_area(sure, correct, balanced_weights(correct, classes)), interval(balanced)

    def other_value(criterion: Criterion) -> Value:
        unsure = view.uncertainty(criterion, level_index)
        return accuracy_coverage_area(-unsure, correct), interval(accuracy_coverage_auc(-unsure, correct))

    yield area_estimate("auc", value=micro_value, bootstrap=lambda: resamples(micro))
    yield area_estimate("aurc", value=risk_value, bootstrap=lambda: 1 - resamples(micro))
    yield area_estimate("auc_macro", value=macro_value, bootstrap=lambda: resamples(macro))
    yield area_estimate("auc_balanced", value=balanced_value)
    for criterion in OTHERS:
        yield area_estimate(criterion_name("auc", criterion), value=partial(other_value, criterion))


def _masked_correct(mask: Bools, view: RangeView, level_index: int) -> Float64s:
    """Return whether the top name of a level is correct (n,), NaN outside the mask."""
    return np.where(mask, view.correct[level_index], np.nan)
