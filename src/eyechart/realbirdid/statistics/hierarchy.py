"""Probabilities on a tree of classes, and the node predicted at each threshold."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.realbirdid.statistics.threshold_steps import ThresholdSteps
from eyechart.statistics._checks import check_integers, require

Ints = NDArray[np.int64]
Floats = NDArray[np.floating]
Columns = slice | Ints
SUM_TOLERANCE = 1e-3  # how far from 1 a row of probabilities may add up


@dataclass(frozen=True, eq=False)
class Tree:
    """A rooted tree: nodes 0 … n_leaves - 1 are its leaves, parents follow their children, the root is last.

    Args:
        parents: (nodes,) the index of each node's parent, -1 for the root.

    Raises:
        ValueError: If a parent does not come after its child (so that there is no cycle), the root is not the one last
            node, or an inner node stands among the leaves or has no leaf below it.

    >>> tree = Tree(np.array([3, 3, 4, 5, 5, -1]))  # species 0 and 1 of genus 3, species 2 of genus 4, the root 5
    >>> tree.n_leaves, tree.leaf_counts.tolist(), tree.depth.tolist()
    (3, [1, 1, 1, 2, 1, 3], [2, 2, 2, 1, 1, 0])
    """

    parents: Ints

    def __post_init__(self) -> None:
        parents = check_integers("Tree", "parents", self.parents, ndim=1)
        nodes = len(parents)
        holds = (
            nodes > 1 and parents[-1] == -1 and (parents[:-1] > np.arange(nodes - 1)).all() and parents.max() < nodes
        )
        require(bool(holds), "Tree", "parents", "the index of a later node, and -1 for the last alone", parents)
        object.__setattr__(self, "parents", parents)
        inner = np.unique(parents[:-1])
        whole = np.array_equal(inner, np.arange(self.n_leaves, nodes))
        require(whole, "Tree", "parents", "such that inner nodes follow all leaves and have one below", parents)

    @classmethod
    def from_levels(cls, ancestors: Sequence[ArrayLike]) -> "Tree":
        """Build the tree from levels: species first, then genera and so on in their numbering, then a root.

        Args:
            ancestors: The finest level first: each (leaves,), the index at that level of every leaf; the first is 0 …
                leaves - 1.

        Returns:
            Tree; the node of index p at level k is p + the sizes of the finer levels.

        Raises:
            ValueError: If a level's indices are not 0 … size - 1, or one index has two parents.

        >>> Tree.from_levels([[0, 1, 2], [0, 0, 1]]).parents.tolist()
        [3, 3, 4, 5, 5, -1]
        """
        levels = [check_integers("Tree.from_levels", "ancestors", level, ndim=1, least=0) for level in ancestors]
        require(bool(levels) and len(levels[0]) > 0, "Tree.from_levels", "ancestors", "of one leaf at least", ancestors)
        starts = level_starts(levels)
        require(
            starts[1] == len(levels[0]), "Tree.from_levels", "ancestors", "0 … leaves - 1 at the first level", levels[0]
        )
        parents = np.full(starts[-1] + 1, -1, np.int64)
        parents[starts[-2] : -1] = starts[-1]
        for level, coarser, start, stop in zip(levels, levels[1:], starts, starts[1:], strict=False):
            require(len(level) == len(coarser), "Tree.from_levels", "ancestors", "equally long", coarser)
            parents[start + level] = stop + coarser
            split = (parents[start + level] != stop + coarser).any()
            require(not split, "Tree.from_levels", "ancestors", "such that each index has one parent", coarser)
        return cls(parents)

    @cached_property
    def n_leaves(self) -> int:
        """The number of leaves, an int.

        >>> Tree([3, 3, 4, 5, 5, -1]).n_leaves
        3
        """
        return len(self.parents) - len(np.unique(self.parents[:-1]))

    @property
    def root(self) -> int:
        """The index of the root, the last node, an int.

        >>> Tree([3, 3, 4, 5, 5, -1]).root
        5
        """
        return len(self.parents) - 1

    @cached_property
    def leaf_counts(self) -> Ints:
        """The number of leaves below each node, (nodes,) int64; 1 for a leaf.

        >>> Tree([3, 3, 4, 5, 5, -1]).leaf_counts.tolist()
        [1, 1, 1, 2, 1, 3]
        """
        counts = (np.arange(len(self.parents)) < self.n_leaves).astype(np.int64)
        for node, parent in enumerate(self.parents[:-1]):
            counts[parent] += counts[node]
        return counts

    @cached_property
    def information(self) -> NDArray[np.float64]:
        """The information of each node, (nodes,) float64: log2(n_leaves / leaf_counts) / log2(n_leaves).

        It is 0 at the root and 1 at a leaf; with a single leaf, all values are 0.

        Source: arXiv 2603.27033, the information that naming a node gives, as a fraction of a leaf's.

        >>> Tree([4, 4, 5, 5, 6, 6, -1]).information.tolist()  # a genus of two of four species is half of it
        [1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.0]
        """
        return np.asarray(np.log2(self.n_leaves / self.leaf_counts) / (np.log2(self.n_leaves) or 1))

    @cached_property
    def depth(self) -> Ints:
        """The number of steps from the root to each node, (nodes,) int64.

        >>> Tree([3, 3, 4, 5, 5, -1]).depth.tolist()
        [2, 2, 2, 1, 1, 0]
        """
        depth = np.zeros(len(self.parents), np.int64)
        for node in range(self.root - 1, -1, -1):
            depth[node] = depth[self.parents[node]] + 1
        return depth

    def is_same_or_ancestor(self, nodes: ArrayLike, below: ArrayLike) -> NDArray[np.bool_]:
        """Return whether each node equals the other node or is its ancestor.

        Args:
            nodes: Places of nodes, of shapes that go together.
            below: Places of nodes, of shapes that go together.

        Returns:
            Booleans of their common shape.

        >>> Tree([3, 3, 4, 5, 5, -1]).is_same_or_ancestor([3, 3, 5, 0], [1, 2, 4, 0]).tolist()
        [True, False, True, True]
        """
        node, other = np.asarray(nodes), np.asarray(below)
        first, ends = self._first, self._first + self.leaf_counts
        inside = (first[node] <= first[other]) & (ends[other] <= ends[node])
        return np.asarray(inside & (self.depth[node] <= self.depth[other]))

    @cached_property
    def _first(self) -> Ints:
        """The first leaf of each node, (nodes,), in an order in which the leaves of every node are consecutive."""
        first, free = np.zeros_like(self.parents), np.zeros_like(self.parents)
        for node in range(self.root - 1, -1, -1):
            parent = self.parents[node]
            first[node] = free[node] = free[parent]
            free[parent] += self.leaf_counts[node]
        return first

    @cached_property
    def _sums(self) -> tuple[tuple[Columns, Columns, Ints], ...]:
        """The nodes of each height above the leaves, their children, and where the children of each node start."""
        height = np.zeros_like(self.parents)
        for node, parent in enumerate(self.parents[:-1]):
            height[parent] = max(height[parent], height[node] + 1)
        return tuple(self._sum(np.flatnonzero(height == h)) for h in range(1, int(height[-1]) + 1))

    def _sum(self, nodes: Ints) -> tuple[Columns, Columns, Ints]:
        children = np.flatnonzero(np.isin(self.parents, nodes))
        children = children[np.argsort(self.parents[children], kind="stable")]
        starts = np.searchsorted(self.parents[children], nodes)
        return _columns(nodes), _columns(children), starts

    @cached_property
    def _inner(self) -> Ints:
        """The inner nodes without the root, the most informative first."""
        inner = np.arange(self.n_leaves, self.root)
        return inner[np.argsort(self.leaf_counts[inner], kind="stable")]


def level_starts(ancestors: Sequence[ArrayLike]) -> list[int]:
    """Return the first node of each level of `Tree.from_levels`, and the root.

    Args:
        ancestors: As for `Tree.from_levels`.

    Returns:
        As many ints as levels, and one more.

    Raises:
        ValueError: If a level has no node.

    Source: own definition.

    >>> level_starts([[0, 1, 2], [0, 0, 1]])
    [0, 3, 5]
    """
    sizes = [int(np.max(level)) + 1 for level in ancestors]
    return [sum(sizes[:index]) for index in range(len(sizes) + 1)]


def node_probabilities(tree: Tree, leaves: ArrayLike) -> NDArray[np.float64]:
    """Return the probability of every node: the sum of the probabilities of its children.

    Args:
        tree: The tree of the leaves.
        leaves: (n, leaves), any floats. NaN spreads to the nodes above.

    Returns:
        (n, nodes) float64, the leaves first: sums in float32 would make unlike probabilities equal.

    Raises:
        ValueError: If there is not one column a leaf.

    Source: J. Deng, J. Krause, A. C. Berg and L. Fei-Fei, Hedging Your Bets, CVPR 2012; RealBirdID, arXiv 2603.27033,
    Section 4.

    >>> node_probabilities(Tree.from_levels([[0, 1, 2], [0, 0, 1]]), [[0.25, 0.25, 0.5]]).tolist()
    [[0.25, 0.25, 0.5, 0.5, 0.5, 1.0]]
    """
    leaf_values = np.asarray(leaves)
    fits = leaf_values.ndim == 2 and leaf_values.shape[1] == tree.n_leaves
    require(fits, "node_probabilities", "leaves", f"an array of shape (n, {tree.n_leaves})", leaf_values)
    probabilities = np.empty((len(leaf_values), tree.root + 1))
    probabilities[:, : tree.n_leaves] = leaf_values
    for above, below, starts in tree._sums:
        probabilities[:, above] = np.add.reduceat(probabilities[:, below], starts, axis=1)
    return probabilities


def tree_gt(tree: Tree, leaves: ArrayLike, thresholds: ArrayLike) -> Ints:
    """Return the predicted node at each threshold: the most informative node whose probability reaches it.

    Args:
        tree: The tree of the leaves.
        leaves: (n, leaves) probabilities.
        thresholds: (t,) any numbers: above 1 it is the root.

    Returns:
        (n, t) nodes; where two are equal in both, the first, which is never above the other.

    Raises:
        ValueError: As `threshold_steps` does, and for a threshold that is NaN.

    Source: TreeGT of J. Deng et al., CVPR 2012, as arXiv 2603.27033 uses it, Section 4 and Figure 4.

    >>> tree_gt(Tree.from_levels([[0, 1, 2], [0, 0, 1]]), [[0.3, 0.3, 0.4]], [0.7, 0.6, 0.4]).tolist()
    [[5, 3, 2]]
    """
    return threshold_steps(tree, leaves).predict_at(thresholds)


def threshold_steps(tree: Tree, leaves: ArrayLike) -> ThresholdSteps:
    """Return what `tree_gt` predicts at all thresholds.

    Rows are divided by their sums. A row of NaN alone has the root's step only.

    Args:
        tree: The tree of the leaves.
        leaves: (n, leaves) probabilities.

    Returns:
        ThresholdSteps of n images; each step is more informative than the one before (the first after the root may
        equal it, where it stands for all leaves).

    Raises:
        ValueError: If there is not one column a leaf, a probability is negative, or a row does not add up to 1 within
            0.001.

    Source: own algorithm: a node is a step where it is likelier than all that are as informative or more.

    >>> found = threshold_steps(Tree.from_levels([[0, 1, 2], [0, 0, 1]]), [[0.25, 0.25, 0.5]])
    >>> found.thresholds.tolist(), found.nodes.tolist()
    ([1.0, 0.5], [5, 2])
    """
    nodes = node_probabilities(tree, leaves)
    leaf_values = nodes[:, : tree.n_leaves]
    odd = first_invalid_row(leaf_values, nodes[:, -1])
    require(
        odd is None,
        "threshold_steps",
        "leaves",
        "rows of probabilities that add up to 1",
        None if odd is None else leaf_values[odd],
    )
    best = leaf_values.argmax(axis=1)
    return steps_from_node_probabilities(tree, nodes, best)


def first_invalid_row(leaves: Floats, sums: Floats) -> int | None:
    """Return the first row that is no distribution: a negative number, a NaN, or a sum other than 1.

    Args:
        leaves: (n, leaves).
        sums: (n,) of the rows.

    Returns:
        A row's index, or None.

    Source: own definition; 0.001 leaves room for probabilities that were rounded or kept in half precision.

    >>> first_invalid_row(np.array([[0.5, 0.5], [0.5, 0.6]]), np.array([1, 1.1]))
    1
    """
    wrong = ~(np.abs(sums - 1) <= SUM_TOLERANCE)
    if leaves.size and np.fmin.reduce(leaves, axis=None) < 0:
        wrong |= (leaves < 0).any(axis=1)
    wrong[wrong] = ~np.isnan(leaves[wrong]).all(axis=1)
    return int(wrong.argmax()) if wrong.any() else None


def steps_from_node_probabilities(tree: Tree, nodes: Floats, best: Ints) -> ThresholdSteps:
    """Return the threshold steps of node probabilities that were already checked.

    Args:
        tree: The tree of the nodes.
        nodes: (n, nodes) as `node_probabilities` gives them.
        best: (n,) the likeliest leaf, of equals the first.

    Returns:
        ThresholdSteps of n images.

    Source: as `threshold_steps`.

    >>> tree = Tree.from_levels([[0, 1, 2], [0, 0, 1]])
    >>> steps_from_node_probabilities(tree, node_probabilities(tree, [[0.3, 0.3, 0.4]]), np.array([2])).nodes.tolist()
    [5, 3, 2]
    """
    inner, every = tree._inner, np.arange(len(nodes))
    likely = np.concatenate([nodes[every, best][:, None], nodes[:, inner]], axis=1)
    steps = np.ones((len(nodes), len(inner) + 2), np.bool_)
    steps[:, -1] = likely[:, 0] > 0
    steps[:, -2:0:-1] = likely[:, 1:] > np.maximum.accumulate(likely, axis=1)[:, :-1]
    image, column = np.nonzero(steps)
    kind = np.concatenate([[-1], tree.leaf_counts[inner[::-1]], [0]])[column]
    first = np.append(True, (image[1:] != image[:-1]) | (kind[1:] != kind[:-1]))[: len(image)]  # likeliest of its kind
    image, column = image[first], column[first]
    chosen = np.concatenate([[tree.root], inner[::-1], [0]])[column]
    leaf = column == len(inner) + 1
    chosen[leaf] = best[image[leaf]]
    thresholds = nodes[image, chosen].astype(np.float64) / nodes[image, -1]
    thresholds[column == 0] = 1
    return ThresholdSteps(np.append(0, np.cumsum(np.bincount(image, minlength=len(nodes)))), thresholds, chosen)


def _columns(indices: Ints) -> Columns:
    """Return consecutive indices as a slice, which copies nothing, and other indices unchanged."""
    start, stop = int(indices[0]), int(indices[-1]) + 1
    return slice(start, stop) if np.array_equal(indices, np.arange(start, stop)) else indices
