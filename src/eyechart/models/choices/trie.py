"""A trie of tokenized choices, so that a common prefix is scored once.

A node is a proper beginning of some choice, an edge a node with the token after it. A choice's log-probability is the
sum over the edges on its path; the first of them leaves the root.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from eyechart.models.types import Floats, Request, Scorer

Tokens = tuple[int, ...]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
EdgeScores = tuple[Ints, Ints, Floats]  # rows, edges of a trie, and the edges' log-probabilities there
NO_NODE = -1  # where there is no node
TRIED = 4  # tokens of a choice, and of other choices, on which two ways of scoring must agree
TOLERANCE = {"float32": 1e-3}  # of a log-probability
LOW_PRECISION_TOLERANCE = 0.5


class ExhaustiveScorer(Scorer):
    """A scorer that finds the most likely choice by scoring all of them."""

    def best(self, requests: Sequence[Request], choices: Sequence[str]) -> tuple[Ints, Floats]:
        """Return the index (n,) of each request's most likely choice, the first of equals, and its log-probability."""
        check_choices(choices)
        scores = self.score(requests, choices)
        first = scores.argmax(axis=1)
        return first, scores[np.arange(len(scores)), first]


def check_choices(choices: Sequence[str]) -> None:
    """Raise ValueError if there is no choice."""
    if not choices:
        raise ValueError("The best choice is one of some choices; got none.")


def truncate_to_unique(choices: Sequence[Tokens]) -> list[Tokens]:
    """Truncate every choice after the first token that distinguishes it from all others; equal choices stay equal.

    >>> truncate_to_unique([(5, 6, 9), (5, 6, 7, 9), (4, 8, 9), (5, 6, 9)])
    [(5, 6, 9), (5, 6, 7), (4,), (5, 6, 9)]
    """
    # In sorted order, a choice shares its longest prefix with a neighbour. No other pair needs a look.
    every = sorted(set(choices))
    shared = [0, *(_shared(left, right) for left, right in pairwise(every)), 0]
    longest = {choice: 1 + max(near) for choice, near in zip(every, pairwise(shared), strict=False)}
    return [choice[: longest[choice]] for choice in choices]


def _shared(left: Tokens, right: Tokens) -> int:
    """Return the length of the common prefix of two choices."""
    return next((index for index, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), len(left))


@dataclass(frozen=True)
class Trie:
    """The trie of some choices; no choice is empty.

    `nodes` are the beginnings in their alphabet's order, so that the root () is first and all that begin with a node
    stand right behind it; `edges` are pairs of a node's index and a token, those of a node side by side; `paths` has
    for every choice the indices of its edges.

    >>> trie = Trie.from_choices([(5, 9), (5, 6, 9)])
    >>> trie.nodes
    ((), (5,), (5, 6))
    >>> trie.edges
    ((0, 5), (1, 6), (1, 9), (2, 9))
    >>> trie.paths
    ((0, 2), (0, 1, 3))
    """

    nodes: tuple[Tokens, ...]
    edges: tuple[tuple[int, int], ...]
    paths: tuple[tuple[int, ...], ...]

    @classmethod
    def from_choices(cls, choices: Sequence[Tokens]) -> "Trie":
        """Build the trie."""
        nodes = sorted({choice[:length] for choice in choices for length in range(len(choice))})
        indices = {node: index for index, node in enumerate(nodes)}
        paths = [[(indices[choice[:length]], token) for length, token in enumerate(choice)] for choice in choices]
        edges = sorted({edge for path in paths for edge in path})
        edge_index = {edge: index for index, edge in enumerate(edges)}
        return cls(tuple(nodes), tuple(edges), tuple(tuple(edge_index[edge] for edge in path) for path in paths))

    @cached_property
    def node_tokens(self) -> Ints:
        """The last token (nodes,) of every node; the root has none."""
        return np.array([node[-1] if node else NO_NODE for node in self.nodes], np.int64)

    @cached_property
    def depths(self) -> Ints:
        """The number of tokens (nodes,) that lead to each node."""
        return np.array([len(node) for node in self.nodes], np.int64)

    @cached_property
    def edge_tokens(self) -> Ints:
        """The tokens (edges,) of the edges."""
        return np.array([token for _, token in self.edges], np.int64)

    @cached_property
    def edge_sources(self) -> Ints:
        """The node (edges,) that each edge leaves."""
        return np.array([node for node, _ in self.edges], np.int64)

    @cached_property
    def edge_targets(self) -> Ints:
        """The node (edges,) that each edge leads to; NO_NODE where a choice ends."""
        indices = {node: index for index, node in enumerate(self.nodes)}
        return np.array([indices.get((*self.nodes[node], token), NO_NODE) for node, token in self.edges], np.int64)

    @cached_property
    def incoming_edges(self) -> Ints:
        """The edge (nodes,) that leads to each node; NO_NODE for the root."""
        incoming = np.full(len(self.nodes), NO_NODE)
        led = np.flatnonzero(self.edge_targets >= 0)
        incoming[self.edge_targets[led]] = led
        return incoming

    @cached_property
    def last_edges(self) -> Ints:
        """The last edge (choices,) of every path."""
        return np.array([path[-1] for path in self.paths], np.int64)

    @cached_property
    def only_children(self) -> Ints:
        """The child (nodes,) of each node with a single edge; NO_NODE for other nodes."""
        leaving = np.bincount(self.edge_sources, minlength=len(self.nodes))
        first = np.searchsorted(self.edge_sources, np.arange(len(self.nodes)))
        return np.where(leaving == 1, self.edge_targets[first], NO_NODE)

    @cached_property
    def subtree_ends(self) -> Ints:
        """The end (nodes,) of the range of nodes below each node."""
        # Nodes are sorted, so that a node's subtree is the range behind it. From the last node to the first one, each
        # passes the end of its own range on to its parent.
        ends = np.arange(1, len(self.nodes) + 1)
        for index in range(len(self.nodes) - 1, 0, -1):
            above = self.edges[self.incoming_edges[index]][0]
            ends[above] = max(ends[above], ends[index])
        return ends

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """The nodes of each depth."""
        return tuple(np.flatnonzero(self.depths == depth) for depth in range(self.depths.max() + 1))

    def is_prefix(self, nodes: Ints, others: Ints) -> Bools:
        """Return whether each node is a prefix of its partner in `others` or equal to it; NO_NODE is no prefix."""
        return (nodes >= 0) & (nodes <= others) & (others < self.subtree_ends[nodes])

    def outgoing_edges(self, nodes: Ints) -> tuple[Ints, Ints, Ints]:
        """Return row, column and edge of every edge that leaves one of `nodes` (rows, columns)."""
        first, stop = (np.searchsorted(self.edge_sources, nodes, side) for side in ("left", "right"))
        counts = (stop - first).ravel()  # 0 for NO_NODE, from which no edge starts
        # Each edge gets the position of its node in `nodes`, and its rank among the edges of that node.
        which = np.repeat(np.arange(nodes.size), counts)
        rank = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows, columns = np.divmod(which, nodes.shape[1])
        return rows, columns, first.ravel()[which] + rank

    def node_sums(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the sums of values (..., edges) along the path to every node: (..., nodes)."""
        sums = np.zeros((*values.shape[:-1], len(self.nodes)))
        for level in self.levels[1:]:
            edges = self.incoming_edges[level]
            sums[..., level] = sums[..., self.edge_sources[edges]] + values[..., edges]
        return sums

    def choice_sums(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the sums of values (..., edges) along the path of every choice: (..., choices)."""
        totals: NDArray[np.float64] = (
            self.node_sums(values)[..., self.edge_sources[self.last_edges]] + values[..., self.last_edges]
        )
        return totals


def nodes_to_try(trie: Trie) -> list[int]:
    """Return nodes on which two ways of scoring must agree: the beginning of the longest path, and nodes beside it."""
    path, node = list[int](), int(trie.depths.argmax())
    while node:
        path.append(node)
        node = int(trie.edge_sources[trie.incoming_edges[node]])
    beside = [int(node) for node in np.flatnonzero(trie.depths == 1) if node not in path]
    return [*path[::-1][:TRIED], *beside[:TRIED]]


def tolerance(dtype: str) -> float:
    """Return how far two ways of computing a log-probability may be apart with weights of some precision."""
    return TOLERANCE.get(dtype.removeprefix("torch."), LOW_PRECISION_TOLERANCE)
