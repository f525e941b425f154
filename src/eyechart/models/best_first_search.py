"""The likeliest of many choices, found without looking at all of them.

A choice is never likelier than its beginnings, so that only such nodes are looked at as are at least as likely as the
best choice known. The likeliest come first, several at once, which costs a model little more than one alone.
"""

from collections.abc import Callable

import numpy as np

from eyechart.models.choice_trie import NO_NODE, Bools, EdgeScores, Ints, Trie
from eyechart.models.types import Floats

WIDTH = 16  # nodes of a prompt that are looked at first, twice as many each time after


def find_best(
    trie: Trie, told: EdgeScores, rows: int, look: "Callable[[BestFirstSearch, Ints], EdgeScores]", most: int
) -> tuple[Ints, Floats]:
    """Return for each row the place (rows,) of its likeliest choice, of equals the first, and its log-probability.

    `told` are the edges that leave the root; `look` tells those that leave nodes (rows, m), at most so many of a row.
    """
    search, width = BestFirstSearch(trie, rows), WIDTH
    search.add_scores(told)
    while (nodes := search.next_nodes(min(width, most))).size:
        search.add_scores(look(search, nodes))
        width *= 2
    return search.best


class BestFirstSearch:
    """What is known of some prompts' choices, and what is to be looked at next."""

    def __init__(self, trie: Trie, rows: int) -> None:
        self.trie = trie
        self.values = np.full((rows, len(trie.edges)), -np.inf, np.float32)
        self.seen = np.zeros((rows, len(trie.nodes)), bool)

    def add_scores(self, told: EdgeScores) -> None:
        """Take in the log-probabilities of edges, all those that leave a node at once."""
        rows, edges, values = told
        self.values[rows, edges] = values
        self.seen[rows, self.trie.edge_sources[edges]] = True
        self._reached = self.trie.node_sums(self.values)
        self._totals = self.trie.choice_sums(self.values).astype(np.float32)
        least = self._totals.max(axis=1, keepdims=True)
        self._open: Bools = ~self.seen & (self._reached > -np.inf) & (self._reached.astype(np.float32) >= least)

    @property
    def best(self) -> tuple[Ints, Floats]:
        """The places (rows,) of the likeliest choices known, of equals the first, and their log-probabilities."""
        first = self._totals.argmax(axis=1)
        return first, self._totals[np.arange(len(first)), first]

    @property
    def prefix_nodes(self) -> Bools:
        """Which nodes (rows, nodes) are the beginnings of one that may be looked at."""
        before = np.pad(np.cumsum(self._open, axis=1), ((0, 0), (1, 0)))
        found: Bools = before[:, self.trie.subtree_ends] > before[:, :-1]
        return found

    def next_nodes(self, width: int) -> Ints:
        """Give the nodes (rows, m) to look at, up to `width`: the likeliest, and where there is room the nodes to which
        they lead without a choice. Rows with fewer end in nothing; none are left when the best choices are known.
        """
        order = np.argsort(np.where(self._open, -self._reached, np.inf), axis=1, kind="stable")[:, :width]
        counts = np.minimum(self._open.sum(axis=1), width)
        found = [self._with_chains(row[:count], width) for row, count in zip(order, counts, strict=True)]
        longest = max(map(len, found), default=0)
        rows = [[*row, *[NO_NODE] * (longest - len(row))] for row in found]
        return np.array(rows, np.int64).reshape(len(rows), longest)

    def _with_chains(self, nodes: Ints, width: int) -> list[int]:
        found: list[int] = nodes.tolist()
        for node in nodes:
            following = int(self.trie.only_children[node])
            while following != NO_NODE and len(found) < width:
                found.append(following)
                following = int(self.trie.only_children[following])
        return found
