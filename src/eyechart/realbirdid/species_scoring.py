"""What probabilities of species are worth: every number of a case, under every list of species."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.data.observations import Observations
from eyechart.gate.pairing import Draw, Key
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
from eyechart.realbirdid.scoring import Outcomes, Value, drawn_birds, harmonic, harmonic_draw, number, rate, sides_of
from eyechart.realbirdid.species import ALL, RANGE, Species
from eyechart.realbirdid.species_summary import Summary
from eyechart.records import Metric

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


def range_changes(views: Views, seed: int) -> Iterator[Metric]:
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
    yield number("ig_change", RANGE, "A", len(rows), gain, "bootstrap")
    yield number("ua_a_change", RANGE, "all", n, tradeoff, "bootstrap")


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


def species_outcomes(views: Views, seed: int) -> Mapping[Key, Outcomes]:
    """Each share's outcomes of all birds (n,), NaN for a bird that it is not about."""
    found: dict[Key, Outcomes] = {}
    for view in views.every:
        right, answerable = stopped(view, seed), view.seen.answerable
        for category, mask in (("A", answerable), ("UA", ~answerable)):
            found["tree_acc", view.labels, category] = np.where(mask, right, np.nan)
        for name, place, mask in view.sets():
            found["acc", view.labels, name] = among(mask, view, place)
    return found


def species_draws(views: Views, seed: int) -> Mapping[Key, Draw]:
    """How the other numbers are drawn."""
    found: dict[Key, Draw] = {}
    for view in views.every:
        found.update(whole_draws(view, views, seed))
        for name, place, mask in view.sets():
            found.update({(what, view.labels, name): draw for what, draw in set_draws(view, place, mask, seed)})
    return found


def species_units(views: Views) -> Mapping[Key, int]:
    """Of how many observations the images are that the drawn numbers are about."""
    found: dict[Key, int] = {}
    for view in views.every:
        clusters, answerable = view.seen.clusters, view.seen.answerable
        whole = {("ig", "A"): answerable, ("ua_a", "all"): view.told, ("tree_hm", "all"): view.told}
        for (what, name), mask in whole.items():
            found[what, view.labels, name] = len(np.unique(clusters[mask & view.told]))
        for name, _, mask in view.sets():
            for what in ("auc", "aurc", "auc_macro", "ece"):
                found[what, view.labels, name] = len(np.unique(clusters[mask]))
    return found


def whole_draws(view: View, views: Views, seed: int) -> Iterator[tuple[Key, Draw]]:
    """Of numbers of both sets, and of the gain."""
    without = ~view.seen.answerable

    def gain() -> Outcomes:
        truth = np.where(view.told & ~without, view.seen.species, -1)
        return information_gain_draws(views.tree, view.summary.stairs, truth, drawn_birds(view.seen, seed))

    def unsure() -> Outcomes:
        found = np.where(view.told, view.uncertainty(MAIN, 0), np.nan)
        return ua_a_draws(found, without, drawn_birds(view.seen, seed))

    yield ("ig", view.labels, "A"), gain
    yield ("ua_a", view.labels, "all"), unsure
    yield ("tree_hm", view.labels, "all"), harmonic_draw(stopped(view, seed), view.seen, seed)


def set_draws(view: View, place: int, mask: NDArray[np.bool_], seed: int) -> Iterator[tuple[str, Draw]]:
    """Of numbers of one level."""
    right, sure, said = among(mask, view, place), -view.uncertainty(MAIN, place), view.summary.levels[place].probability

    @cache
    def area() -> Outcomes:
        return auc_draws(sure, right, drawn_birds(view.seen, seed))

    def macro() -> Outcomes:
        samples, truth = drawn_birds(view.seen, seed), view.truths[place]
        return auc_draws(sure, right, samples, classes=truth, average="macro")

    def error() -> Outcomes:
        return calibration_error_draws(said, right, drawn_birds(view.seen, seed))

    yield "auc", area
    yield "aurc", lambda: 1 - area()
    yield "auc_macro", macro
    yield "ece", error


def among(mask: NDArray[np.bool_], view: View, place: int) -> Outcomes:
    """Whether the best of a level is right (n,), NaN outside of a set."""
    return np.where(mask, view.correct[place], np.nan)
