"""Choices as a trie of tokens, so that what several of them begin with is looked at once.

A node is a proper beginning of some choice, an edge a node with the token after it. A choice's log-probability is the
sum over the edges on its path, of which the first leaves the root.
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


class ExhaustiveScorer(Scorer):
    """Finds the likeliest choice by the scores of all."""

    def best(self, requests: Sequence[Request], choices: Sequence[str]) -> tuple[Ints, Floats]:
        """Return the place (n,) of each request's likeliest choice, of equals the first, and its log-probability."""
        check_choices(choices)
        scores = self.score(requests, choices)
        first = scores.argmax(axis=1)
        return first, scores[np.arange(len(scores)), first]


def check_choices(choices: Sequence[str]) -> None:
    """Refuse to look for the best of nothing."""
    if not choices:
        raise ValueError("The best choice is one of some choices; got none.")


def truncate_to_unique(choices: Sequence[Tokens]) -> list[Tokens]:
    """Cut every choice behind the first token that tells it from all others; equal ones are one, and one is one token.

    >>> truncate_to_unique([(5, 6, 9), (5, 6, 7, 9), (4, 8, 9), (5, 6, 9)])
    [(5, 6, 9), (5, 6, 7), (4,), (5, 6, 9)]
    """
    every = sorted(set(choices))
    shared = [0, *(_shared(one, other) for one, other in pairwise(every)), 0]
    longest = {choice: 1 + max(near) for choice, near in zip(every, pairwise(shared), strict=False)}
    return [choice[: longest[choice]] for choice in choices]


def _shared(one: Tokens, other: Tokens) -> int:
    """How many tokens two choices begin with alike."""
    return next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


@dataclass(frozen=True)
class Trie:
    """The trie of some choices, none of them empty.

    `nodes` are the beginnings in their alphabet's order, so that the root () is first and all that begin with a node
    stand right behind it; `edges` are pairs of a node's place and a token, those of a node side by side; `paths` has
    for every choice the places of its edges.

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
        places = {node: place for place, node in enumerate(nodes)}
        paths = [[(places[choice[:length]], token) for length, token in enumerate(choice)] for choice in choices]
        edges = sorted({edge for path in paths for edge in path})
        found = {edge: place for place, edge in enumerate(edges)}
        return cls(tuple(nodes), tuple(edges), tuple(tuple(found[edge] for edge in path) for path in paths))

    @cached_property
    def node_tokens(self) -> Ints:
        """The last token (nodes,) of every node; the root has none."""
        return np.array([node[-1] if node else NO_NODE for node in self.nodes], np.int64)

    @cached_property
    def depths(self) -> Ints:
        """How many tokens (nodes,) lead to each node."""
        return np.array([len(node) for node in self.nodes], np.int64)

    @cached_property
    def edge_tokens(self) -> Ints:
        """The tokens (edges,) of the edges."""
        return np.array([token for _, token in self.edges], np.int64)

    @cached_property
    def edge_sources(self) -> Ints:
        """The nodes (edges,) that the edges leave."""
        return np.array([node for node, _ in self.edges], np.int64)

    @cached_property
    def edge_targets(self) -> Ints:
        """The nodes (edges,) that the edges lead to; nothing where choices only end."""
        places = {node: place for place, node in enumerate(self.nodes)}
        return np.array([places.get((*self.nodes[node], token), NO_NODE) for node, token in self.edges], np.int64)

    @cached_property
    def incoming_edges(self) -> Ints:
        """The edge (nodes,) that leads to each node; nothing leads to the root."""
        found = np.full(len(self.nodes), NO_NODE)
        led = np.flatnonzero(self.edge_targets >= 0)
        found[self.edge_targets[led]] = led
        return found

    @cached_property
    def last_edges(self) -> Ints:
        """The last edge (choices,) of every path."""
        return np.array([path[-1] for path in self.paths], np.int64)

    @cached_property
    def only_children(self) -> Ints:
        """The node (nodes,) behind each node from which there is one way only; nothing where there are several."""
        leaving = np.bincount(self.edge_sources, minlength=len(self.nodes))
        first = np.searchsorted(self.edge_sources, np.arange(len(self.nodes)))
        return np.where(leaving == 1, self.edge_targets[first], NO_NODE)

    @cached_property
    def subtree_ends(self) -> Ints:
        """Where (nodes,) those that begin with a node stop."""
        found = np.arange(1, len(self.nodes) + 1)
        for place in range(len(self.nodes) - 1, 0, -1):
            above = self.edges[self.incoming_edges[place]][0]
            found[above] = max(found[above], found[place])
        return found

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """The nodes of each depth."""
        return tuple(np.flatnonzero(self.depths == depth) for depth in range(self.depths.max() + 1))

    def is_prefix(self, nodes: Ints, others: Ints) -> Bools:
        """Whether each node is a beginning of its partner among `others`, or that one itself; nothing is none."""
        return (nodes >= 0) & (nodes <= others) & (others < self.subtree_ends[nodes])

    def outgoing_edges(self, nodes: Ints) -> tuple[Ints, Ints, Ints]:
        """Give the row, the column and the edge of every edge that leaves one of `nodes` (rows, columns)."""
        first, stop = (np.searchsorted(self.edge_sources, nodes, side) for side in ("left", "right"))
        counts = (stop - first).ravel()  # nothing is no edge's start, so nothing leaves it
        which = np.repeat(np.arange(nodes.size), counts)
        rank = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows, columns = np.divmod(which, nodes.shape[1])
        return rows, columns, first.ravel()[which] + rank

    def node_sums(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Add values (..., edges) up along the path to every node: (..., nodes)."""
        found = np.zeros((*values.shape[:-1], len(self.nodes)))
        for level in self.levels[1:]:
            edges = self.incoming_edges[level]
            found[..., level] = found[..., self.edge_sources[edges]] + values[..., edges]
        return found

    def choice_sums(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Add values (..., edges) up along every choice's path: (..., choices)."""
        totals: NDArray[np.float64] = (
            self.node_sums(values)[..., self.edge_sources[self.last_edges]] + values[..., self.last_edges]
        )
        return totals
