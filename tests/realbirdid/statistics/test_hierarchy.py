"""Sums on trees and what is predicted at a threshold, against their plainest spelling."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.sparse import csr_array

from eyechart.realbirdid.statistics.hierarchy import Tree, node_probabilities, threshold_steps, tree_gt
from eyechart.realbirdid.statistics.threshold_steps import ThresholdSteps

PARTS = 16  # probabilities are sixteenths, so that sums are exact and ties abound
SWEEP = [index / PARTS for index in range(-1, PARTS + 3)]
GENERA = Tree.from_levels([[0, 1, 2, 3], [1, 0, 1, 1]])


def grown(drawn):
    """A tree of the leaves drawn: each is put under one of five inner nodes, and each of these under a later one."""
    under, over = drawn
    nodes = [*range(len(under)), *(len(under) + inner for inner in range(5))]
    up = [len(under) + inner for inner in under] + [len(under) + max(index + 1, inner) for index, inner in over] + [-1]
    used = {node for leaf in range(len(under)) for node in climb(up, leaf)}
    index = {node: number for number, node in enumerate(node for node in nodes if node in used)} | {-1: -1}
    return Tree(np.array([index[up[node]] for node in nodes if node in used]))


def climb(up, node):
    """A node and all its ancestors."""
    while node >= 0:
        yield int(node)
        node = up[node]


def trees():
    """Leaves at any depth, chains and all."""
    over = st.tuples(*(st.tuples(st.just(index), st.integers(0, 4)) for index in range(4)))
    return st.tuples(st.lists(st.integers(0, 4), min_size=1, max_size=8), over).map(grown)


@st.composite
def levels(draw):
    """Species, genera and perhaps families, numbered in any order."""
    found = [np.arange(draw(st.integers(1, 8)))]
    for _ in range(draw(st.integers(0, 2))):
        children = int(found[-1].max()) + 1
        size = draw(st.integers(1, children))
        rest = [draw(st.integers(0, size - 1)) for _ in range(children - size)]
        parents = draw(st.permutations([*range(size), *rest]))
        found.append(np.array(parents)[found[-1]])
    return found


@st.composite
def rows(draw, tree, least=1):
    """Some images' probabilities, in sixteenths."""
    cuts = st.lists(st.integers(0, PARTS), min_size=tree.n_leaves - 1, max_size=tree.n_leaves - 1).map(sorted)
    drawn = draw(st.lists(cuts, min_size=least, max_size=4))
    return np.array([np.diff([0, *row, PARTS]) / PARTS for row in drawn]).reshape(len(drawn), tree.n_leaves)


cases = trees().flatmap(lambda tree: st.tuples(st.just(tree), rows(tree)))
weights = arrays.arrays(np.float32, st.tuples(st.integers(1, 3), st.just(8)), elements=st.floats(0.0625, 1, width=32))


def above(tree, node):
    return climb(tree.parents, node)


def below(tree, node):
    return [leaf for leaf in range(tree.n_leaves) if node in above(tree, leaf)]


def plain_node(tree, row, threshold):
    """The rule as it is said, all nodes looked at."""
    sums = {node: sum(row[leaf] for leaf in below(tree, node)) for node in range(tree.root + 1)}
    likely = [node for node, p in sums.items() if p >= threshold] or [tree.root]
    return min(likely, key=lambda node: (len(below(tree, node)), -sums[node], node))


@given(trees())
def test_counts_depths_and_information_are_those_of_the_leaves_below(tree) -> None:
    counts = [len(below(tree, node)) for node in range(tree.root + 1)]
    assert tree.leaf_counts.tolist() == counts
    assert tree.depth.tolist() == [len([*above(tree, node)]) - 1 for node in range(tree.root + 1)]
    assert (tree.information[tree.leaf_counts == tree.n_leaves] == 0).all()
    assert tree.n_leaves == 1 or (tree.information[: tree.n_leaves] == 1).all()


def test_information_is_the_share_of_bits() -> None:
    assert GENERA.information.tolist() == pytest.approx([1, 1, 1, 1, 1, 1 - math.log2(3) / 2, 0])


@given(trees())
def test_a_node_covers_itself_and_what_is_below_it(tree) -> None:
    nodes = np.arange(tree.root + 1)
    expected = [[node in above(tree, other) for other in nodes] for node in nodes]
    assert tree.is_same_or_ancestor(nodes[:, None], nodes).tolist() == expected


@given(levels())
def test_the_nodes_of_levels_follow_one_another(ancestors) -> None:
    tree, starts = Tree.from_levels(ancestors), np.cumsum([0, *(level.max() + 1 for level in ancestors)])
    for leaf in range(tree.n_leaves):
        path = [start + level[leaf] for start, level in zip(starts, ancestors, strict=False)]
        assert [*above(tree, leaf)] == [*path, starts[-1]]


@given(levels(), st.data())
def test_the_probabilities_of_every_level_sum_to_1(ancestors, data) -> None:
    tree = Tree.from_levels(ancestors)
    nodes = node_probabilities(tree, data.draw(rows(tree)))
    starts = np.cumsum([0, *(level.max() + 1 for level in ancestors)])
    for start, stop in zip(starts, [*starts[1:], starts[-1] + 1], strict=True):
        assert nodes[:, start:stop].sum(axis=1).tolist() == [1] * len(nodes)


@given(cases)
def test_the_sums_are_one_sparse_product(case) -> None:
    tree, leaves = case
    paths = [(leaf, node) for leaf in range(tree.n_leaves) for node in above(tree, leaf)]
    product = leaves @ csr_array((np.ones(len(paths)), np.array(paths).T), (tree.n_leaves, tree.root + 1))
    np.testing.assert_array_equal(node_probabilities(tree, leaves), product)


@given(trees(), weights)
def test_a_parent_is_never_less_likely_than_its_child(tree, drawn) -> None:
    leaves = drawn[:, : tree.n_leaves] / drawn[:, : tree.n_leaves].sum(axis=1, keepdims=True)
    nodes = node_probabilities(tree, leaves)
    assert nodes.dtype == np.float64
    assert (nodes[:, tree.parents[:-1]] >= nodes[:, :-1]).all()


@given(cases)
def test_the_predicted_node_is_that_of_a_look_at_every_node(case) -> None:
    tree, leaves = case
    expected = [[plain_node(tree, row, threshold) for threshold in SWEEP] for row in leaves]
    assert tree_gt(tree, leaves, SWEEP).tolist() == expected


@given(cases)
def test_a_lower_threshold_never_tells_less(case) -> None:
    tree, leaves = case
    told = tree.information[tree_gt(tree, leaves, SWEEP[::-1])]
    assert (np.diff(told, axis=1) >= 0).all()


@given(levels().filter(lambda ancestors: len(ancestors) <= 2), st.data())
def test_a_lower_threshold_is_never_shallower_with_species_and_genera(ancestors, data) -> None:
    tree = Tree.from_levels(ancestors)
    nodes = tree_gt(tree, data.draw(rows(tree)), SWEEP[::-1])
    assert (np.diff(tree.depth[nodes], axis=1) >= 0).all()


@given(cases)
def test_every_step_is_less_likely_than_the_one_before_and_tells_more(case) -> None:
    tree, leaves = case
    found = threshold_steps(tree, leaves)
    assert (found.nodes[found.offsets[:-1]] == tree.root).all()
    assert (found.thresholds[found.offsets[:-1]] == 1).all()
    later = np.flatnonzero(found.images[1:] == found.images[:-1]) + 1
    assert (np.diff(found.thresholds)[later - 1] <= 0).all()
    later = later[found.nodes[later - 1] != tree.root]
    assert (tree.leaf_counts[found.nodes[later]] < tree.leaf_counts[found.nodes[later - 1]]).all()


@given(cases)
def test_the_thresholds_are_the_nodes_probabilities_and_the_last_is_the_best_leaf(case) -> None:
    tree, leaves = case
    found, nodes = threshold_steps(tree, leaves), node_probabilities(tree, leaves)
    np.testing.assert_array_equal(found.thresholds, nodes[found.images, found.nodes])
    assert found.nodes[found.offsets[1:] - 1].tolist() == leaves.argmax(axis=1).tolist()


@given(st.integers(1, 8), st.data())
def test_a_star_is_a_flat_list_with_abstention(leaves, data) -> None:
    tree = Tree.from_levels([range(leaves)])
    drawn = data.draw(rows(tree))
    flat = np.where(drawn.max(axis=1)[:, None] >= SWEEP[2:], drawn.argmax(axis=1)[:, None], tree.root)
    np.testing.assert_array_equal(tree_gt(tree, drawn, SWEEP[2:]), flat)


@given(cases)
def test_only_the_share_of_a_rows_sum_counts(case) -> None:
    tree, leaves = case
    assert_same(threshold_steps(tree, leaves * 1.0005), threshold_steps(tree, leaves))


@given(cases, st.data())
def test_joining_blocks_is_having_them_together(case, data) -> None:
    tree, leaves = case
    cut = data.draw(st.integers(0, len(leaves)))
    joined = ThresholdSteps.concatenate([threshold_steps(tree, leaves[:cut]), threshold_steps(tree, leaves[cut:])])
    assert_same(joined, threshold_steps(tree, leaves), exactly=True)


@given(cases, st.data())
def test_the_stairs_of_some_images_are_theirs_alone(case, data) -> None:
    tree, leaves = case
    chosen = data.draw(st.lists(st.integers(0, len(leaves) - 1)))
    assert_same(
        threshold_steps(tree, leaves).select(np.array(chosen, int)), threshold_steps(tree, leaves[chosen]), exactly=True
    )
    mask = np.isin(np.arange(len(leaves)), chosen)
    assert_same(threshold_steps(tree, leaves).select(mask), threshold_steps(tree, leaves[mask]), exactly=True)


def assert_same(one, other, exactly=False) -> None:
    assert one.offsets.tolist() == other.offsets.tolist()
    assert one.nodes.tolist() == other.nodes.tolist()
    np.testing.assert_allclose(one.thresholds, other.thresholds, rtol=0 if exactly else 1e-12)


def test_equal_probabilities_predict_the_first_of_the_smaller() -> None:
    assert tree_gt(GENERA, [[0.25] * 4], [0.8, 0.75, 0.25]).tolist() == [[6, 5, 0]]


def test_without_images_there_are_no_steps() -> None:
    found = threshold_steps(GENERA, np.zeros((0, 4)))
    assert (len(found), found.nodes.size, found.predict_at([0.5]).shape) == (0, 0, (0, 1))


def test_an_image_without_probabilities_stays_at_the_root() -> None:
    found = threshold_steps(GENERA, [[math.nan] * 4, [0, 0, 0, 1]])
    assert found.predict_at([1, 0.5, 0]).tolist() == [[6, 6, 6], [3, 3, 3]]
    assert not np.isnan(found.thresholds).any()


def test_one_leaf_alone_tells_nothing() -> None:
    tree = Tree.from_levels([[0]])
    assert tree.information.tolist() == [0, 0]
    assert tree_gt(tree, [[1.0]], [1.5, 1, 0]).tolist() == [[1, 0, 0]]


PARENTS = {
    "a cycle": [1, 0, -1],
    "its own parent": [0, -1],
    "two roots": [2, -1, -1],
    "an orphan": [-1, 2, -1],
    "no root": [1, 2],
    "a parent that is not there": [5, -1],
    "a root alone": [-1],
    "an inner node without a leaf": [2, 2, -1, -1],
    "a leaf after an inner node": [1, 3, 3, -1],
    "nothing": [],
    "a table": [[1, -1]],
}


@pytest.mark.parametrize("parents", PARENTS.values(), ids=PARENTS)
def test_what_is_no_tree_is_refused(parents) -> None:
    with pytest.raises(ValueError, match="The 'parents' parameter of Tree must be"):
        Tree(np.array(parents))


LEVELS = {
    "a genus in two families": [[0, 1], [0, 0], [0, 1]],
    "no levels": [],
    "no species": [[]],
    "species out of order": [[0, 0, 1]],
    "fewer genera than species": [[0, 1], [0]],
    "a species without a genus": [[0, 1], [0, -1]],
}


@pytest.mark.parametrize("ancestors", LEVELS.values(), ids=LEVELS)
def test_levels_that_make_no_tree_are_refused(ancestors) -> None:
    with pytest.raises(ValueError, match=r"The 'ancestors' parameter of Tree.from_levels must be"):
        Tree.from_levels(ancestors)


def test_a_genus_without_a_species_is_refused() -> None:
    with pytest.raises(ValueError, match="have one below"):
        Tree.from_levels([[0, 1], [0, 2]])


ROWS = [[0.5, 0.6, 0, 0], [1.5, -0.5, 0, 0], [math.nan, 1, 0, 0], [0, 0, 0, 0], [math.inf, 0, 0, 0], [0.5, 0.5]]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rows_that_are_no_probabilities_are_refused(row) -> None:
    with pytest.raises(ValueError, match="The 'leaves' parameter of"):
        threshold_steps(GENERA, [row])


def test_a_threshold_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match=r"The 'thresholds' parameter of ThresholdSteps.predict_at"):
        tree_gt(GENERA, [[0, 0, 0, 1]], [0.5, math.nan])
