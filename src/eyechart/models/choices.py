"""Choices as a trie of tokens, so that what several of them begin with is looked at once.

A node is a proper beginning of some choice, an edge a node with the token after it. A choice's log-probability is the
sum over the edges on its path, of which the first leaves the root.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Tokens = tuple[int, ...]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Trie:
    """The trie of some choices, none of them empty.

    `nodes` are the beginnings in an order in which every one stands behind its own beginnings, the root () first;
    `edges` are pairs of a node's place and a token; `paths` has for every choice the places of its edges.

    >>> trie = Trie.of([(5, 9), (5, 6, 9)])
    >>> trie.nodes
    ((), (5,), (5, 6))
    >>> trie.edges
    ((0, 5), (1, 9), (1, 6), (2, 9))
    >>> trie.paths
    ((0, 1), (0, 2, 3))
    """

    nodes: tuple[Tokens, ...]
    edges: tuple[tuple[int, int], ...]
    paths: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, choices: Sequence[Tokens]) -> "Trie":
        """Build the trie."""
        nodes: dict[Tokens, int] = {(): 0}
        edges: dict[tuple[int, int], int] = {}
        paths = []
        for choice in choices:
            at = [nodes.setdefault(choice[:length], len(nodes)) for length in range(len(choice))]
            paths.append(tuple(edges.setdefault(edge, len(edges)) for edge in zip(at, choice, strict=True)))
        return cls(tuple(nodes), tuple(edges), tuple(paths))

    @cached_property
    def inner(self) -> Ints:
        """The last tokens (n,) of all nodes but the root."""
        return np.array([node[-1] for node in self.nodes[1:]], np.int64)

    @cached_property
    def depths(self) -> Ints:
        """How many tokens (n,) lead to each node but the root."""
        return np.array([len(node) for node in self.nodes[1:]], np.int64)

    @cached_property
    def visible(self) -> NDArray[np.bool_]:
        """Which nodes each node but the root stands behind, itself included: (n, n)."""
        places = {node: place for place, node in enumerate(self.nodes[1:])}
        found = np.eye(len(places), dtype=bool)
        for node, place in places.items():
            if len(node) > 1:
                found[place] |= found[places[node[:-1]]]
        return found

    def totals(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Add values (..., edges) up along every choice's path: (..., choices)."""
        along = np.array([edge for path in self.paths for edge in path], np.int64)
        starts = np.cumsum([0, *(len(path) for path in self.paths[:-1])])
        return np.add.reduceat(values[..., along].astype(np.float64), starts, axis=-1)


def cut(choices: Sequence[Tokens], most: int) -> Iterator[list[int]]:
    """Give the places of choices whose trie has about `most` nodes or fewer, those that begin alike together.

    >>> list(cut([(1, 2, 9), (5, 6, 9), (1, 3, 9)], 3))
    [[0, 2], [1]]
    """
    part: list[int] = []
    before: Tokens = ()
    size = 0
    for place in sorted(range(len(choices)), key=choices.__getitem__):
        fresh = len(choices[place]) - 1 - _shared(before, choices[place])
        if part and size + fresh > most:
            yield part
            part, size, fresh = [], 0, len(choices[place]) - 1
        part.append(place)
        size, before = size + fresh, choices[place]
    if part:
        yield part


def _shared(one: Tokens, other: Tokens) -> int:
    """How many nodes two neighbours share."""
    longest = min(len(one), len(other)) - 1
    return next((at for at in range(longest) if one[at] != other[at]), max(longest, 0))
