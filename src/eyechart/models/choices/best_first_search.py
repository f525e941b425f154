"""Best-first search for the most likely of many choices without scoring all of them.

A choice is never likelier than its beginnings, so that only such nodes are looked at as are at least as likely as the
best choice known. The likeliest come first, several at once, which costs a model little more than one alone.
"""

from collections.abc import Callable

import numpy as np

from eyechart.models.choices.trie import NO_NODE, Bools, EdgeScores, Ints, Trie
from eyechart.models.types import Floats

WIDTH = 16  # nodes of a prompt that are looked at first, twice as many each time after


def find_best(
    trie: Trie,
    scores: EdgeScores,
    rows: int,
    score_nodes: "Callable[[BestFirstSearch, Ints], EdgeScores]",
    max_nodes: int,
) -> tuple[Ints, Floats]:
    """Return for each row the index (rows,) of its most likely choice, the first of equals, and its log-probability.

    `scores` are of the edges that leave the root; `score_nodes` scores the edges that leave nodes (rows, m), at most
    `max_nodes` per row.
    """
    search, width = BestFirstSearch(trie, rows), WIDTH
    search.add_scores(scores)
    while (nodes := search.next_nodes(min(width, max_nodes))).size:
        search.add_scores(score_nodes(search, nodes))
        width *= 2
    return search.best


class BestFirstSearch:
    """The scores of choices known so far for some prompts, and the nodes to score next."""

    def __init__(self, trie: Trie, rows: int) -> None:
        self.trie = trie
        self.values = np.full((rows, len(trie.edges)), -np.inf, np.float32)
        self.seen = np.zeros((rows, len(trie.nodes)), bool)

    def add_scores(self, scores: EdgeScores) -> None:
        """Add the log-probabilities of edges; all edges that leave a node must come together."""
        rows, edges, values = scores
        self.values[rows, edges] = values
        self.seen[rows, self.trie.edge_sources[edges]] = True
        # Edges without a score are -inf, so that a node behind one of them has not been reached.
        self._reached = self.trie.node_sums(self.values)
        self._totals = self.trie.choice_sums(self.values).astype(np.float32)
        # A node stays open if it has not been scored and is as likely as the best choice known. No choice behind a less
        # likely node can win, since every further token can only lower its probability. Both sides are compared in
        # single precision, in which ties are decided.
        least = self._totals.max(axis=1, keepdims=True)
        self._open: Bools = ~self.seen & (self._reached > -np.inf) & (self._reached.astype(np.float32) >= least)

    @property
    def best(self) -> tuple[Ints, Floats]:
        """Return the indices (rows,) of the most likely known choices and their log-probabilities."""
        first = self._totals.argmax(axis=1)
        return first, self._totals[np.arange(len(first)), first]

    @property
    def prefix_nodes(self) -> Bools:
        """Return which nodes (rows, nodes) are prefixes of a node that may be scored."""
        # A node is a prefix of an open node if its subtree, a range of nodes, has one: running counts of open nodes
        # differ between the ends of the range.
        before = np.pad(np.cumsum(self._open, axis=1), ((0, 0), (1, 0)))
        is_prefix: Bools = before[:, self.trie.subtree_ends] > before[:, :-1]
        return is_prefix

    def next_nodes(self, width: int) -> Ints:
        """Return the nodes (rows, m) to look at, up to `width`: the likeliest, and where there is room the nodes that
        they lead to without a choice. Rows with fewer nodes are filled with NO_NODE. There are no nodes when the best
        choices are known.
        """
        order = np.argsort(np.where(self._open, -self._reached, np.inf), axis=1, kind="stable")[:, :width]
        counts = np.minimum(self._open.sum(axis=1), width)
        chains = [self._with_chains(row[:count], width) for row, count in zip(order, counts, strict=True)]
        # All rows are scored in one pass of the model: shorter ones are filled.
        longest = max(map(len, chains), default=0)
        rows = [[*row, *[NO_NODE] * (longest - len(row))] for row in chains]
        return np.array(rows, np.int64).reshape(len(rows), longest)

    def _with_chains(self, nodes: Ints, width: int) -> list[int]:
        # A node with a single child leads nowhere else. Its chain costs little in the same pass, and saves one pass for
        # each of its nodes.
        chain_nodes: list[int] = nodes.tolist()
        for node in nodes:
            following = int(self.trie.only_children[node])
            while following != NO_NODE and len(chain_nodes) < width:
                chain_nodes.append(following)
                following = int(self.trie.only_children[following])
        return chain_nodes
