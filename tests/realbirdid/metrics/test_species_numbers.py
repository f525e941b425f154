"""Every number of a case of species, worked out again from its csv by plain loops; the tree's from the logits."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from eyechart.results.records import Metric, Record

LABELS = ("all species", "eligible", "range")
SETS = ("answerable.species", "answerable.genus", "answerable.order", "unanswerable.genus", "unanswerable.order")
BROKEN = frozenset({1, 15})
SEED = 0  # the runner's own


class Image:
    """A bird at one level: how sure the model is by each criterion, its class and whether it is right."""

    def __init__(self, row: dict[str, str], column: str, truth: str) -> None:
        p, second, entropy = (
            float(row[f"{column}.{what}"]) for what in ("probability", "second_probability", "entropy")
        )
        self.sure = {"max_probability": p, "entropy": -entropy, "margin": p - second}
        self.truth, self.right = truth, row[column] == truth
        assert row[f"{column}.correct"] in ("", str(int(self.right)))


@pytest.fixture(scope="module", params=[(0, "all"), (1, "genus"), (2, "all")], ids=["0", "1", "2"])
def case(request: pytest.FixtureRequest, make_bird_world: Any) -> tuple[Any, Record, list[dict[str, str]]]:
    """A world, the record of a model of some skill by a tree of all levels or the published one, and its csv."""
    seed, tree = request.param
    world = make_bird_world(seed=seed, skill=1.5 * seed)
    record = world.record(world.saying(), broken=BROKEN, tree=tree)
    return world, record, world.rows(record)


@pytest.fixture
def images(case: Any) -> Callable[..., list[Image]]:
    """The images of a set at a level that have an answer, or of all."""
    world, _, rows = case

    def truth(row: dict[str, str], level: str) -> str:
        genus = world.tree.names[1].index(row["genus"])
        return world.tree.names[2][world.tree.parents[1][genus]] if level == "order" else row[level]

    def images(labels: str, category: str = "all.species") -> list[Image]:
        subset, _, level = category.partition(".")
        wanted = (subset,) if category in SETS else ("answerable", "unanswerable")
        column = f"{'range' if labels == 'range' else 'all'}.{level}"
        listed = "all.species" if labels == "all species" else "range.species"
        told = [row for row in rows if row[listed] and row["subset"] in wanted]
        return [Image(row, column, truth(row, level)) for row in told]

    return images


def accuracy(images: Sequence[Image]) -> float:
    return sum(image.right for image in images) / len(images)


def by_class(images: Sequence[Image]) -> float:
    names = {image.truth for image in images}
    return sum(accuracy([image for image in images if image.truth == name]) for name in names) / len(names)


def area(images: Sequence[Image], criterion: str = "max_probability", mean: Any = accuracy) -> float:
    """The mean over images of the accuracy of those that are as sure as it."""
    cuts = [image.sure[criterion] for image in images]
    return sum(mean([other for other in images if other.sure[criterion] >= cut]) for cut in cuts) / len(images)


def balanced(images: Sequence[Image]) -> float:
    size = {name: sum(image.truth == name for image in images) for name in {image.truth for image in images}}
    total = 0.0
    for image in images:
        kept = [other for other in images if other.sure["max_probability"] >= image.sure["max_probability"]]
        weight = sum(1 / size[other.truth] for other in kept)
        total += sum(other.right / size[other.truth] for other in kept) / weight / size[image.truth]
    return total / len(size)


def calibration(images: Sequence[Image], bins: int = 15) -> float:
    kept: dict[int, list[Image]] = {}
    for image in images:
        kept.setdefault(max(0, math.ceil(image.sure["max_probability"] * bins) - 1), []).append(image)
    gaps = [sum(image.right - image.sure["max_probability"] for image in each) for each in kept.values()]
    return sum(map(abs, gaps)) / len(images)


PLAIN: dict[str, Any] = {
    "acc": accuracy,
    "acc_macro": by_class,
    "auc": area,
    "aurc": lambda images: 1 - area(images),
    "auc_macro": lambda images: area(images, mean=by_class),
    "auc_balanced": balanced,
    "auc_entropy": lambda images: area(images, "entropy"),
    "auc_margin": lambda images: area(images, "margin"),
    "ece": calibration,
}


@pytest.mark.deep
@pytest.mark.parametrize("name", PLAIN)
def test_numbers_of_levels_are_plain_loops_over_the_csv(case: Any, images: Any, number: Any, name: str) -> None:
    for labels, category in product(LABELS, SETS):
        told, found = images(labels, category), number(case[1], name, category, labels)
        assert found.n == len(told) > 3
        assert found.value == pytest.approx(PLAIN[name](told), abs=1e-6)
        assert found.ci[0] <= found.value + 1e-12
        assert found.ci[1] >= found.value - 1e-12


@pytest.mark.parametrize("criterion", ["max_probability", "entropy", "margin"])
def test_the_trade_off_is_a_count_of_pairs(case: Any, number: Any, criterion: str) -> None:
    name = "ua_a" if criterion == "max_probability" else f"ua_a_{criterion}"
    for labels in LABELS:
        source = f"{'range' if labels == 'range' else 'all'}.species"
        told = [row for row in case[2] if row["all.species" if labels == "all species" else "range.species"]]
        sides = [
            [Image(row, source, row["species"]) for row in told if row["subset"] == kind]
            for kind in ("unanswerable", "answerable")
        ]
        pairs = [one.sure[criterion] - other.sure[criterion] for one, other in product(*sides)]
        expected = sum(0.5 if not gap else float(gap < 0) for gap in pairs) / len(pairs)
        found = number(case[1], name, "all", labels)
        assert (found.value, found.n) == (pytest.approx(expected), len(told))


def test_what_most_unanswerable_birds_cost_is_a_count(case: Any, number: Any) -> None:
    for labels in LABELS:
        source = f"{'range' if labels == 'range' else 'all'}.species"
        told = [row for row in case[2] if row["all.species" if labels == "all species" else "range.species"]]
        a, ua = (
            sorted(float(row[f"{source}.probability"]) for row in told if row["subset"] == kind)
            for kind in ("answerable", "unanswerable")
        )
        cut = ua[math.ceil(0.95 * len(ua)) - 1]
        found = number(case[1], "abstained_at_95", "all", labels)
        assert (found.value, found.n) == (sum(p <= cut for p in a) / len(a), len(told))


class Tree:
    """Probabilities of every node for one bird, and what is predicted."""

    def __init__(self, world: Any, row: int, listed: bool, above: int) -> None:
        logits = world.logits()[row, :9].astype(np.float64)
        chosen = [int(index) for index in world.birds[row][2]] if listed else range(9)
        total = sum(math.exp(logits[index]) for index in chosen)
        leaves = [{index} for index in range(9)]
        depths = [above + 1] * 9
        for height, names in enumerate(world.tree.ancestors[1 : above + 1]):
            leaves += [{index for index in range(9) if names[index] == name} for name in range(max(names) + 1)]
            depths += [above - height] * (max(names) + 1)
        self.leaves, self.depth = [*leaves, {*range(9)}], [*depths, 0]
        self.information = [1 - math.log(len(each)) / math.log(9) for each in self.leaves]
        own = [math.exp(logits[index]) / total if index in chosen else 0.0 for index in range(9)]
        self.chances = [round(sum(own[index] for index in each), 9) for each in self.leaves]

    def at(self, threshold: float) -> int:
        """The most informative node that is as likely; of equals the likeliest, then the first."""
        able = [node for node, chance in enumerate(self.chances) if chance >= threshold and chance]
        return max(
            able or [len(self.leaves) - 1],
            key=lambda node: (round(self.information[node], 9), self.chances[node], -node),
        )


@pytest.fixture
def trees(case: Any) -> Callable[[str], dict[int, Tree]]:
    """The trees of the birds that have an answer."""
    world, record, rows = case
    above = 1 if record.variant["tree"] == "genus" else 2  # levels between species and the root

    def trees(labels: str) -> dict[int, Tree]:
        listed = "all.species" if labels == "all species" else "range.species"
        return {row: Tree(world, row, labels == "range", above) for row, told in enumerate(rows) if told[listed]}

    return trees


def thresholds(trees: dict[int, Tree]) -> list[float]:
    return sorted({chance for tree in trees.values() for chance in tree.chances if chance}, reverse=True)


def gain(trees: dict[int, Tree], species: Sequence[int], correct_only: bool = False, depth: bool = False) -> float:
    """A loop over thresholds; what turns back to the left adds nothing."""
    total, reached, before = 0.0, 0.0, 1.0
    for threshold in thresholds(trees):
        nodes = [tree.at(threshold) for tree in trees.values()]
        right = [index in tree.leaves[node] for index, tree, node in zip(species, trees.values(), nodes, strict=True)]
        worth = [
            tree.depth[node] / tree.depth[0] if depth else tree.information[node]
            for tree, node in zip(trees.values(), nodes, strict=True)
        ]
        x = sum(each for each, hit in zip(worth, right, strict=True) if hit or not correct_only) / len(trees)
        y = sum(right) / len(trees)
        total += max(0.0, x - reached) * (y + before) / 2
        reached, before = max(reached, x), y
    return total


@pytest.mark.parametrize(
    "how", [{}, {"correct_only": True}, {"depth": True}], ids=["ig", "ig_correct_only", "ig_depth"]
)
def test_information_gain_is_a_loop_over_thresholds(case: Any, trees: Any, number: Any, how: Any) -> None:
    name, seen = "_".join(["ig", *how]), case[0].seen
    for labels in LABELS:
        told = {row: tree for row, tree in trees(labels).items() if seen.answerable[row]}
        found = number(case[1], name, "answerable", labels)
        assert found.n == len(told)
        assert found.value == pytest.approx(gain(told, [seen.species[row] for row in told], **how), abs=1e-6)


def judged(trees: dict[int, Tree], nodes: dict[int, int], threshold: float) -> dict[int, bool]:
    return {row: tree.at(threshold) == nodes[row] for row, tree in trees.items()}


def best(trees: dict[int, Tree], nodes: dict[int, int]) -> float:
    """The threshold of the highest harmonic mean; of equals of the greater sum, then the highest."""
    told: list[tuple[float, float, float]] = []
    for threshold in [*thresholds(trees), math.inf]:
        right = judged(trees, nodes, threshold)
        sides = [np.mean([hit for row, hit in right.items() if (nodes[row] < 9) == kind]) for kind in (True, False)]
        mean = 2 * sides[0] * sides[1] / sum(sides) if sum(sides) else 0.0
        told.append((round(float(mean), 9), round(float(sum(sides)), 9), threshold))
    return max(told)[2]


def crossed(trees: dict[int, Tree], nodes: dict[int, int]) -> dict[int, bool]:
    """Each half judged by the other's threshold; the halves are dealt from a seeded order, kind by kind."""
    random, rows, halves = np.random.default_rng(SEED), [*trees], ([], [])
    for kind in (True, False):
        for index, one in enumerate(
            random.permutation([at for at, row in enumerate(rows) if (nodes[row] < 9) == kind])
        ):
            halves[index % 2].append(rows[one])
    parts = [{row: trees[row] for row in half} for half in halves]
    return judged(parts[0], nodes, best(parts[1], nodes)) | judged(parts[1], nodes, best(parts[0], nodes))


@pytest.mark.parametrize("labels", LABELS)
def test_the_trees_stops_are_judged_by_the_other_half(case: Any, trees: Any, number: Any, labels: str) -> None:
    world, record, _ = case
    nodes = {
        row: int(index if index >= 0 else 9 + world.seen.genus[row]) for row, index in enumerate(world.seen.species)
    }
    right = crossed(trees(labels), nodes)
    a, ua = ([hit for row, hit in right.items() if (nodes[row] < 9) == kind] for kind in (True, False))
    found = [
        number(record, *which, labels)
        for which in (("tree_acc", "answerable"), ("tree_acc", "unanswerable"), ("tree_hm", "all"))
    ]
    assert [each.n for each in found] == [len(a), len(ua), len(right)]
    means = [sum(a) / len(a), sum(ua) / len(ua)]
    expected = [*means, 2 * means[0] * means[1] / sum(means) if sum(means) else 0]
    assert [each.value for each in found] == pytest.approx(expected)


@pytest.mark.parametrize(("name", "category"), [("ig", "answerable"), ("ua_a", "all")])
def test_what_lists_change_is_the_difference_of_the_same_birds(
    case: Any, number: Any, name: str, category: str
) -> None:
    before, after = (number(case[1], name, category, labels) for labels in LABELS[1:])
    found = number(case[1], f"{name}_change", category, "range")
    assert (found.value, found.n) == (pytest.approx(after.value - before.value), after.n)
    assert found.ci[0] <= found.value <= found.ci[1]


def test_the_same_birds_are_asked_with_a_list_and_without(case: Any) -> None:
    told = {(one.labels, one.name, one.subset_text): one.n for one in case[1].metrics}
    both = [(name, category) for labels, name, category in told if labels == "eligible"]
    assert all(told["eligible", *each] == told["range", *each] < told["all species", *each] for each in both)
    assert len(both) == 3 + 4 + 3 + 5 * 9


def test_no_number_comes_twice_and_none_is_of_numpy(case: Any) -> None:
    metrics = case[1].metrics
    assert len({one.printed_key for one in metrics}) == len(metrics) == 3 * 55 + 5
    assert {type(value) for one in metrics for value in values(one)} == {float, int}


def values(one: Metric) -> Iterator[Any]:
    yield from (one.value, one.n, *(one.ci or ()))
