"""What probabilities of species are worth: every number of a case, under every list of species."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.data.observations import Observations
from eyechart.estimates import Estimate
from eyechart.metrics.abstention import (
    CRITERIA,
    Criterion,
    abstained_at,
    abstained_at_interval,
    ua_a,
    ua_a_draws,
    ua_a_interval,
    uncertainty,
)
from eyechart.metrics.calibration import calibration_error, calibration_error_draws, calibration_error_interval
from eyechart.metrics.clusters import clustered_stratified
from eyechart.metrics.hierarchy import Tree
from eyechart.metrics.information_gain import information_gain, information_gain_draws, information_gain_interval
from eyechart.metrics.intervals import Interval
from eyechart.metrics.recall import mean_per_class_recall
from eyechart.metrics.selective import auc_draws, auc_interval, aurc, balanced_weights, macro_auc
from eyechart.metrics.stopping import cross_fitted, right_between
from eyechart.metrics.sweep_changes import information_gain_change, ua_a_change
from eyechart.metrics.thresholds import accuracy_coverage_auc
from eyechart.realbirdid.scoring import Outcomes, Value, drawn_birds, estimate, harmonic, rate
from eyechart.realbirdid.species import ALL, RANGE, Species
from eyechart.realbirdid.species_summary import Summary

ELIGIBLE = "eligible"
Bools = NDArray[np.bool_]
MAIN, *OTHERS = CRITERIA
GAINS: Mapping[str, Mapping[str, Any]] = {
    "ig": {},
    "ig_correct_only": {"correct_only": True},
    "ig_depth": {"depth": True},
}


@dataclass(frozen=True)
class View:
    """A model's answers under one list of species, about the birds in `rows` (n,)."""

    labels: str
    summary: Summary
    seen: Observations
    rows: NDArray[np.bool_]

    @cached_property
    def told(self) -> NDArray[np.bool_]:
        """Which birds are in play and have an answer (n,)."""
        return self.rows & (self.summary.levels[0].best >= 0)

    @cached_property
    def truths(self) -> tuple[NDArray[np.int64], ...]:
        """The true place of each bird at every level, -1 for the species of an unanswerable one."""
        found = [self.seen.species, self.seen.genus]
        for parents in self.seen.taxonomy.parents[1:]:
            found.append(parents[found[-1]])
        return tuple(found)

    @cached_property
    def correct(self) -> tuple[Outcomes, ...]:
        """Whether the best of every level is right: 1, 0, NaN for a bird without an answer or a truth."""
        return tuple(
            np.where(self.told & (truth >= 0), level.best == truth, np.nan)
            for level, truth in zip(self.summary.levels, self.truths, strict=True)
        )

    @cached_property
    def deepest(self) -> Outcomes:
        """Whether the finest level that is known of a bird is right."""
        return np.where(self.seen.answerable, self.correct[0], self.correct[1])

    def sets(self) -> Iterator[tuple[str, int, NDArray[np.bool_]]]:
        """The sets of birds by level: their name, the level's place, and which birds are in it."""
        for name, mask, first in (("A", self.seen.answerable, 0), ("UA", ~self.seen.answerable, 1)):
            for place, level in enumerate(self.seen.taxonomy.levels[first:], first):
                yield f"{name}.{level}", place, mask & self.told

    def uncertainty(self, criterion: Criterion, place: int) -> Outcomes:
        """How unsure each answer of a level is, by a criterion; NaN without an answer."""
        level = self.summary.levels[place]
        return uncertainty(criterion, level.probability, level.second, level.entropy)


class Views:
    """The views of a case: every bird; those that have an answer from their list, without the list and with it."""

    def __init__(self, found: Species) -> None:
        seen = found.observed
        every, listed = np.ones(len(found.keys), np.bool_), found.summaries[RANGE].levels[0].best >= 0
        self.tree = Tree.of_levels(seen.taxonomy.ancestors)
        self.every = (
            View(ALL, found.summaries[ALL], seen, every),
            View(ELIGIBLE, found.summaries[ALL], seen, listed),
            View(RANGE, found.summaries[RANGE], seen, listed),
        )

    def __getitem__(self, labels: str) -> View:
        return next(view for view in self.every if view.labels == labels)


def named(name: str, criterion: Criterion, between: str = "_") -> str:
    """A number's or a curve's name, with the criterion unless it is the main one."""
    return name if criterion == CRITERIA[0] else f"{name}{between}{criterion}"


def range_changes(views: Views, seed: int) -> Iterator[Estimate]:
    """The paired changes of IG and UA/A from all species to the listed ones, of the birds that have a list."""
    before, after = views[ELIGIBLE], views[RANGE]
    told, answerable = before.told & after.told, before.seen.answerable
    rows, kinds = np.flatnonzero(told & answerable), ~answerable[told]
    truth = before.seen.species[rows]

    def gain() -> Value:
        one, other = (view.summary.stairs.of(rows) for view in (before, after))
        found = information_gain_change(views.tree, one, other, truth, seed=seed, clusters=before.seen.clusters[rows])
        return found.value, found.interval

    def tradeoff() -> Value:
        one, other = (view.uncertainty(MAIN, 0)[told] for view in (before, after))
        found = ua_a_change(one, other, kinds, seed=seed, clusters=before.seen.clusters[told])
        return found.value, found.interval

    n = len(kinds) if kinds.any() and not kinds.all() else 0
    yield estimate("ig_change", RANGE, "A", len(rows), gain, "bootstrap")
    yield estimate("ua_a_change", RANGE, "all", n, tradeoff, "bootstrap")


def species_estimates(views: Views, seed: int) -> Iterator[Estimate]:
    """Every number of a case."""
    for view in views.every:
        yield from gains(view, views.tree, seed)
        yield from abstentions(view, seed)
        yield from stops(view, seed)
        for name, place, mask in view.sets():
            yield from accuracies(view, name, place, mask, seed)
            yield from areas(view, name, place, mask, seed)
    yield from range_changes(views, seed)


def gains(view: View, tree: Tree, seed: int) -> Iterator[Estimate]:
    """Metric 1 of the answerable birds: accuracy against information."""
    rows = np.flatnonzero(view.told & view.seen.answerable)
    stairs, truth, clusters = view.summary.stairs.of(rows), view.seen.species[rows], view.seen.clusters[rows]

    def bootstrap() -> Outcomes:
        species = np.where(view.told & view.seen.answerable, view.seen.species, -1)
        return information_gain_draws(tree, view.summary.stairs, species, drawn_birds(view.seen, seed))

    for name, how in GAINS.items():

        def value(how: Mapping[str, Any] = how) -> Value:
            found = information_gain(tree, stairs, truth, **how).area
            return found, information_gain_interval(tree, stairs, truth, seed=seed, clusters=clusters, **how)

        more: dict[str, Any] = {}
        if name == "ig":
            more = {"higher_is_better": True, "bootstrap": bootstrap, "units": len(np.unique(clusters))}
        yield estimate(name, view.labels, "A", len(rows), value, "bootstrap", **more)


def abstentions(view: View, seed: int) -> Iterator[Estimate]:
    """Metric 2: how well each criterion tells unanswerable birds from answerable ones; what 95 % of these cost."""
    without = ~view.seen.answerable[view.told]
    n, clusters = len(without) if without.any() and not without.all() else 0, view.seen.clusters[view.told]

    def bootstrap() -> Outcomes:
        every = np.where(view.told, view.uncertainty(MAIN, 0), np.nan)
        return ua_a_draws(every, ~view.seen.answerable, drawn_birds(view.seen, seed))

    for criterion in CRITERIA:
        unsure = view.uncertainty(criterion, 0)[view.told]

        def value(unsure: Outcomes = unsure) -> Value:
            return ua_a(unsure, without), ua_a_interval(unsure, without, seed=seed, clusters=clusters)

        more: dict[str, Any] = {}
        if criterion == MAIN:
            more = {"higher_is_better": True, "bootstrap": bootstrap, "units": len(np.unique(clusters))}
        yield estimate(named("ua_a", criterion), view.labels, "all", n, value, "bootstrap", **more)

    unsure = view.uncertainty(MAIN, 0)[view.told]

    def cost() -> Value:
        return abstained_at(unsure, without), abstained_at_interval(unsure, without, seed=seed, clusters=clusters)

    yield estimate("abstained_at_95", view.labels, "all", n, cost, "bootstrap")


def stops(view: View, seed: int) -> Iterator[Estimate]:
    """Figure 4's TreeGT: accuracies at a threshold that was chosen on other birds, and their harmonic mean."""
    right, answerable = stopped(view, seed), view.seen.answerable
    for category, mask in (("A", answerable), ("UA", ~answerable)):
        outcomes = np.where(mask, right, np.nan)
        yield rate("tree_acc", view.labels, outcomes, category, view.seen.clusters, better=True)
    yield harmonic("tree_hm", view.labels, right, view.seen, seed)


def stopped(view: View, seed: int) -> Outcomes:
    """Whether each bird is right at a threshold that was chosen on others (n,), NaN without an answer."""
    span = right_between(view.summary.stairs.of(view.told), view.seen.nodes[view.told])
    found = np.full(len(view.told), np.nan)
    found[view.told] = cross_fitted(*span, ~view.seen.answerable[view.told], seed).correct
    return found


def accuracies(view: View, name: str, place: int, mask: Bools, seed: int) -> Iterator[Estimate]:
    """The accuracy of a level, also with every class counted alike, and the calibration error."""
    right, truth = view.correct[place][mask], view.truths[place][mask]
    sure, n, clusters = view.summary.levels[place].probability[mask], len(right), view.seen.clusters[mask]

    def macro() -> Value:
        return mean_per_class_recall(right, truth, int(truth.max()) + 1), clustered_stratified(right, truth, clusters)

    def error() -> Value:
        return calibration_error(sure, right), calibration_error_interval(sure, right, clusters=clusters)

    def bootstrap() -> Outcomes:
        said = view.summary.levels[place].probability
        return calibration_error_draws(said, among(mask, view, place), drawn_birds(view.seen, seed))

    yield rate("acc", view.labels, among(mask, view, place), name, view.seen.clusters, better=True)
    yield estimate("acc_macro", view.labels, name, n, macro, "stratified")
    more = {"higher_is_better": False, "bootstrap": bootstrap, "units": len(np.unique(clusters))}
    yield estimate("ece", view.labels, name, n, error, "folded normal", **more)


def areas(view: View, name: str, place: int, mask: Bools, seed: int) -> Iterator[Estimate]:
    """Metric 3 of a level: the mean accuracy over coverage, by each criterion and with classes counted alike."""
    right, truth, n = view.correct[place][mask], view.truths[place][mask], int(mask.sum())
    made = partial(estimate, labels=view.labels, category=name, n=n, method="bootstrap")
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

    every, units = (among(mask, view, place), -view.uncertainty(MAIN, place)), len(np.unique(clusters))

    @cache
    def resamples() -> Outcomes:
        return auc_draws(every[1], every[0], drawn_birds(view.seen, seed))

    def risks() -> Outcomes:
        return 1 - resamples()

    def macro_resamples() -> Outcomes:
        samples = drawn_birds(view.seen, seed)
        return auc_draws(every[1], every[0], samples, classes=view.truths[place], average="macro")

    yield made("auc", value=area, higher_is_better=True, bootstrap=resamples, units=units)
    yield made("aurc", value=risk, higher_is_better=False, bootstrap=risks, units=units)
    yield made("auc_macro", value=macro, higher_is_better=True, bootstrap=macro_resamples, units=units)
    yield made("auc_balanced", value=balanced)
    for criterion in OTHERS:
        other = -view.uncertainty(criterion, place)[mask]
        yield made(named("auc", criterion), value=partial(by, other))


def among(mask: Bools, view: View, place: int) -> Outcomes:
    """Whether the best of a level is right (n,), NaN outside of a set."""
    return np.where(mask, view.correct[place], np.nan)
