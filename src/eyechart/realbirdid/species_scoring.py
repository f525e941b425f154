"""What probabilities of species are worth: every number of a case, under every list of species."""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.abstention import CRITERIA, abstained_at, abstained_at_interval, ua_a, ua_a_interval
from eyechart.metrics.calibration import calibration_error, calibration_error_interval
from eyechart.metrics.clusters import clustered_stratified
from eyechart.metrics.hierarchy import Tree
from eyechart.metrics.information_gain import information_gain, information_gain_interval
from eyechart.metrics.intervals import Interval
from eyechart.metrics.recall import mean_per_class_recall
from eyechart.metrics.selective import auc_interval, aurc, balanced_weights, macro_auc
from eyechart.metrics.stopping import cross_fitted, right_between
from eyechart.metrics.thresholds import accuracy_coverage_auc
from eyechart.realbirdid.scoring import Outcomes, Value, harmonic, number, rate, sides_of
from eyechart.realbirdid.species_changes import range_changes
from eyechart.realbirdid.species_views import View, Views, named
from eyechart.records import Metric

Bools = NDArray[np.bool_]
MAIN, *OTHERS = CRITERIA
GAINS: Mapping[str, Mapping[str, Any]] = {
    "ig": {},
    "ig_correct_only": {"correct_only": True},
    "ig_depth": {"depth": True},
}


def species_metrics(views: Views, seed: int) -> Iterator[Metric]:
    """Every number of a case."""
    for view in views.every:
        yield from gains(view, views.tree, seed)
        yield from abstentions(view, seed)
        yield from stops(view, seed)
        for name, place, mask in view.sets():
            yield from accuracies(view, name, place, mask)
            yield from areas(view, name, place, mask, seed)
    yield from range_changes(views, seed)


def gains(view: View, tree: Tree, seed: int) -> Iterator[Metric]:
    """Metric 1 of the answerable birds: accuracy against information."""
    rows = np.flatnonzero(view.told & view.seen.answerable)
    stairs, truth, clusters = view.summary.stairs.of(rows), view.seen.species[rows], view.seen.clusters[rows]
    for name, how in GAINS.items():

        def value(how: Mapping[str, Any] = how) -> Value:
            found = information_gain(tree, stairs, truth, **how).area
            return found, information_gain_interval(tree, stairs, truth, seed=seed, clusters=clusters, **how)

        yield number(name, view.labels, "A", len(rows), value, "bootstrap")


def abstentions(view: View, seed: int) -> Iterator[Metric]:
    """Metric 2: how well each criterion tells unanswerable birds from answerable ones; what 95 % of these cost."""
    without = ~view.seen.answerable[view.told]
    n, clusters = len(without) if without.any() and not without.all() else 0, view.seen.clusters[view.told]
    for criterion in CRITERIA:
        unsure = view.uncertainty(criterion, 0)[view.told]

        def value(unsure: Outcomes = unsure) -> Value:
            return ua_a(unsure, without), ua_a_interval(unsure, without, seed=seed, clusters=clusters)

        yield number(named("ua_a", criterion), view.labels, "all", n, value, "bootstrap")

    unsure = view.uncertainty(MAIN, 0)[view.told]

    def cost() -> Value:
        return abstained_at(unsure, without), abstained_at_interval(unsure, without, seed=seed, clusters=clusters)

    yield number("abstained_at_95", view.labels, "all", n, cost, "bootstrap")


def stops(view: View, seed: int) -> Iterator[Metric]:
    """Figure 4's TreeGT: accuracies at a threshold that was chosen on other birds, and their harmonic mean."""
    right, answerable = stopped(view, seed), view.seen.answerable
    for category, mask in (("A", answerable), ("UA", ~answerable)):
        yield rate("tree_acc", view.labels, right[mask], category, view.seen.clusters[mask])
    yield harmonic("tree_hm", view.labels, right[answerable], right[~answerable], seed, sides_of(view.seen))


def stopped(view: View, seed: int) -> Outcomes:
    """Whether each bird is right at a threshold that was chosen on others (n,), NaN without an answer."""
    span = right_between(view.summary.stairs.of(view.told), view.seen.nodes[view.told])
    found = np.full(len(view.told), np.nan)
    found[view.told] = cross_fitted(*span, ~view.seen.answerable[view.told], seed).correct
    return found


def accuracies(view: View, name: str, place: int, mask: Bools) -> Iterator[Metric]:
    """The accuracy of a level, also with every class counted alike, and the calibration error."""
    right, truth = view.correct[place][mask], view.truths[place][mask]
    sure, n, clusters = view.summary.levels[place].probability[mask], len(right), view.seen.clusters[mask]

    def macro() -> Value:
        return mean_per_class_recall(right, truth, int(truth.max()) + 1), clustered_stratified(right, truth, clusters)

    def error() -> Value:
        return calibration_error(sure, right), calibration_error_interval(sure, right, clusters=clusters)

    yield rate("acc", view.labels, right, name, clusters)
    yield number("acc_macro", view.labels, name, n, macro, "stratified")
    yield number("ece", view.labels, name, n, error, "folded normal")


def areas(view: View, name: str, place: int, mask: Bools, seed: int) -> Iterator[Metric]:
    """Metric 3 of a level: the mean accuracy over coverage, by each criterion and with classes counted alike."""
    right, truth, n = view.correct[place][mask], view.truths[place][mask], int(mask.sum())
    made = partial(number, labels=view.labels, category=name, n=n, method="bootstrap")
    sure, clusters = -view.uncertainty(MAIN, place)[mask], view.seen.clusters[mask]
    interval = partial(auc_interval, seed=seed, clusters=clusters)

    def by(sure: Outcomes) -> Value:
        return accuracy_coverage_auc(sure, right), interval(sure, right)

    area = cache(partial(by, sure))

    def risk() -> Value:
        low, high = area()[1]
        return aurc(sure, right), Interval(1 - high, 1 - low)

    def macro() -> Value:
        return macro_auc(sure, right, truth), interval(sure, right, classes=truth, average="macro")

    def balanced() -> Value:
        value = accuracy_coverage_auc(sure, right, balanced_weights(right, truth))
        return value, interval(sure, right, classes=truth, average="balanced")

    yield made("auc", value=area)
    yield made("aurc", value=risk)
    yield made("auc_macro", value=macro)
    yield made("auc_balanced", value=balanced)
    for criterion in OTHERS:
        other = -view.uncertainty(criterion, place)[mask]
        yield made(named("auc", criterion), value=partial(by, other))
