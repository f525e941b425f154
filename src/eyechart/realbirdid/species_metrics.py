"""The metrics of species: functions from predictions to estimates, one for every list of species.

Source: RealBirdID (see PROTOCOLS): metric 1 is information gain, metric 2 abstention, metric 3 selective accuracy.
"""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.estimates import Estimate
from eyechart.metrics.abstention import (
    CRITERIA,
    abstention_rate_at,
    abstention_rate_at_interval,
    ua_a,
    ua_a_bootstrap,
    ua_a_interval,
)
from eyechart.metrics.calibration import calibration_error, calibration_error_bootstrap, calibration_error_interval
from eyechart.metrics.clusters import clustered_stratified_interval
from eyechart.metrics.hierarchy import Tree
from eyechart.metrics.information_gain import information_gain, information_gain_bootstrap, information_gain_interval
from eyechart.metrics.intervals import Interval
from eyechart.metrics.recall import mean_per_class_recall
from eyechart.metrics.selective import auc_bootstrap, auc_interval, aurc, balanced_weights, macro_auc
from eyechart.metrics.stopping import correct_range, cross_fit_threshold
from eyechart.metrics.sweep_changes import information_gain_change, ua_a_change
from eyechart.metrics.thresholds import accuracy_coverage_area
from eyechart.realbirdid.estimators import Float64s, Value, drawn_birds, estimate, harmonic, rate
from eyechart.realbirdid.species import ALL, ELIGIBLE, RANGE, SpeciesPredictions, View, named, title_of

Bools = NDArray[np.bool_]
MAIN, *OTHERS = CRITERIA
GAINS: Mapping[str, Mapping[str, Any]] = {
    "ig": {},
    "ig_correct_only": {"correct_only": True},
    "ig_depth": {"depth": True},
}


def information_gains(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield `ig` and its variants, metric 1: the area under accuracy by information, of the answerable birds."""
    for view in predictions.views.every:
        yield from gains(view, predictions.views.tree, predictions.seed)


def abstention_tradeoffs(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield `ua_a` by each criterion, metric 2: how well uncertainty tells unanswerable birds from answerable ones."""
    for view in predictions.views.every:
        yield from abstentions(view, predictions.seed)


def tree_accuracies(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield `tree_acc` and `tree_hm`, Figure 4's TreeGT: accuracies at a threshold that was chosen on other birds."""
    for view in predictions.views.every:
        yield from stops(view, predictions.seed)


def level_accuracies(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield accuracy, macro accuracy and calibration error of both sets of birds at every level of the taxonomy."""
    for view in predictions.views.every:
        for name, place, mask in view.sets():
            yield from accuracies(view, name, place, mask, predictions.seed)


def selective_accuracies(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """Yield the areas under accuracy by coverage, metric 3, of both sets of birds at every level of the taxonomy."""
    for view in predictions.views.every:
        for name, place, mask in view.sets():
            yield from areas(view, name, place, mask, predictions.seed)


def range_changes(predictions: SpeciesPredictions) -> Iterator[Estimate]:
    """The paired changes of IG and UA/A from all species to the listed ones, of the birds that have a list."""
    views, seed = predictions.views, predictions.seed
    before, after = views[ELIGIBLE], views[RANGE]
    told, answerable = before.told & after.told, before.seen.answerable
    rows, kinds = np.flatnonzero(told & answerable), ~answerable[told]
    truth = before.seen.species[rows]

    def gain() -> Value:
        one, other = (view.summary.stairs.select(rows) for view in (before, after))
        found = information_gain_change(views.tree, one, other, truth, seed=seed, clusters=before.seen.clusters[rows])
        return found.value, found.interval

    def tradeoff() -> Value:
        one, other = (view.uncertainty(MAIN, 0)[told] for view in (before, after))
        found = ua_a_change(one, other, kinds, seed=seed, clusters=before.seen.clusters[told])
        return found.value, found.interval

    n = len(kinds) if kinds.any() and not kinds.all() else 0
    yield estimate("ig_change", RANGE, "A", len(rows), gain, "bootstrap")
    yield estimate("ua_a_change", RANGE, "all", n, tradeoff, "bootstrap")


def gains(view: View, tree: Tree, seed: int) -> Iterator[Estimate]:
    """Metric 1 of the answerable birds: accuracy against information."""
    rows = np.flatnonzero(view.told & view.seen.answerable)
    stairs, truth, clusters = view.summary.stairs.select(rows), view.seen.species[rows], view.seen.clusters[rows]

    def bootstrap() -> Float64s:
        species = np.where(view.told & view.seen.answerable, view.seen.species, -1)
        return information_gain_bootstrap(tree, view.summary.stairs, species, drawn_birds(view.seen, seed))

    for name, how in GAINS.items():

        def value(how: Mapping[str, Any] = how) -> Value:
            found = information_gain(tree, stairs, truth, **how).area
            return found, information_gain_interval(tree, stairs, truth, seed=seed, clusters=clusters, **how)

        more: dict[str, Any] = {}
        if name == "ig":
            more = {"higher_is_better": True, "bootstrap": bootstrap, "n_clusters": len(np.unique(clusters))}
            more["title"] = title_of("IG", view.labels)
        yield estimate(name, view.labels, "A", len(rows), value, "bootstrap", **more)


def abstentions(view: View, seed: int) -> Iterator[Estimate]:
    """Metric 2: how well each criterion tells unanswerable birds from answerable ones; what 95 % of these cost."""
    without = ~view.seen.answerable[view.told]
    n, clusters = len(without) if without.any() and not without.all() else 0, view.seen.clusters[view.told]

    def bootstrap() -> Float64s:
        every = np.where(view.told, view.uncertainty(MAIN, 0), np.nan)
        return ua_a_bootstrap(every, ~view.seen.answerable, drawn_birds(view.seen, seed))

    for criterion in CRITERIA:
        unsure = view.uncertainty(criterion, 0)[view.told]

        def value(unsure: Float64s = unsure) -> Value:
            return ua_a(unsure, without), ua_a_interval(unsure, without, seed=seed, clusters=clusters)

        more: dict[str, Any] = {}
        if criterion == MAIN:
            more = {"higher_is_better": True, "bootstrap": bootstrap, "n_clusters": len(np.unique(clusters))}
            more["title"] = title_of("UA/A", view.labels)
        yield estimate(named("ua_a", criterion), view.labels, "all", n, value, "bootstrap", **more)

    unsure = view.uncertainty(MAIN, 0)[view.told]

    def cost() -> Value:
        return abstention_rate_at(unsure, without), abstention_rate_at_interval(
            unsure, without, seed=seed, clusters=clusters
        )

    yield estimate("abstained_at_95", view.labels, "all", n, cost, "bootstrap")


def stops(view: View, seed: int) -> Iterator[Estimate]:
    """Figure 4's TreeGT: accuracies at a threshold that was chosen on other birds, and their harmonic mean."""
    right, answerable = stopped(view, seed), view.seen.answerable
    for category, mask in (("A", answerable), ("UA", ~answerable)):
        outcomes = np.where(mask, right, np.nan)
        yield rate("tree_acc", view.labels, outcomes, category, view.seen.clusters, better=True)
    yield harmonic("tree_hm", view.labels, right, view.seen, seed)


def stopped(view: View, seed: int) -> Float64s:
    """Whether each bird is right at a threshold that was chosen on others (n,), NaN without an answer."""
    span = correct_range(view.summary.stairs.select(view.told), view.seen.nodes[view.told])
    found = np.full(len(view.told), np.nan)
    found[view.told] = cross_fit_threshold(*span, ~view.seen.answerable[view.told], seed).correct
    return found


def accuracies(view: View, name: str, place: int, mask: Bools, seed: int) -> Iterator[Estimate]:
    """The accuracy of a level, also with every class counted alike, and the calibration error."""
    right, truth = view.correct[place][mask], view.truths[place][mask]
    sure, n, clusters = view.summary.levels[place].probability[mask], len(right), view.seen.clusters[mask]

    def macro() -> Value:
        return mean_per_class_recall(right, truth, int(truth.max()) + 1), clustered_stratified_interval(
            right, truth, clusters
        )

    def error() -> Value:
        return calibration_error(sure, right), calibration_error_interval(sure, right, clusters=clusters)

    def bootstrap() -> Float64s:
        said = view.summary.levels[place].probability
        return calibration_error_bootstrap(said, among(mask, view, place), drawn_birds(view.seen, seed))

    shown = view.labels == ALL and name in ("A.species", "UA.genus")
    title = name.replace(".", " ") if shown else ""
    yield rate("acc", view.labels, among(mask, view, place), name, view.seen.clusters, better=True, title=title)
    yield estimate("acc_macro", view.labels, name, n, macro, "stratified")
    more = {"higher_is_better": False, "bootstrap": bootstrap, "n_clusters": len(np.unique(clusters))}
    yield estimate("ece", view.labels, name, n, error, "folded normal", **more)


def areas(view: View, name: str, place: int, mask: Bools, seed: int) -> Iterator[Estimate]:
    """Metric 3 of a level: the mean accuracy over coverage, by each criterion and with classes counted alike."""
    right, truth, n = view.correct[place][mask], view.truths[place][mask], int(mask.sum())
    made = partial(estimate, labels=view.labels, category=name, n=n, method="bootstrap")
    sure, clusters = -view.uncertainty(MAIN, place)[mask], view.seen.clusters[mask]
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

    every, units = (among(mask, view, place), -view.uncertainty(MAIN, place)), len(np.unique(clusters))

    @cache
    def resamples() -> Float64s:
        return auc_bootstrap(every[1], every[0], drawn_birds(view.seen, seed))

    def risks() -> Float64s:
        return 1 - resamples()

    def macro_resamples() -> Float64s:
        samples = drawn_birds(view.seen, seed)
        return auc_bootstrap(every[1], every[0], samples, classes=view.truths[place], average="macro")

    yield made("auc", value=area, higher_is_better=True, bootstrap=resamples, n_clusters=units)
    yield made("aurc", value=risk, higher_is_better=False, bootstrap=risks, n_clusters=units)
    yield made("auc_macro", value=macro, higher_is_better=True, bootstrap=macro_resamples, n_clusters=units)
    yield made("auc_balanced", value=balanced)
    for criterion in OTHERS:
        other = -view.uncertainty(criterion, place)[mask]
        yield made(named("auc", criterion), value=partial(by, other))


def among(mask: Bools, view: View, place: int) -> Float64s:
    """Whether the best of a level is right (n,), NaN outside of a set."""
    return np.where(mask, view.correct[place], np.nan)
