"""The search for the likeliest choice, on log-probabilities that are drawn: no model is asked."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from eyechart.models.choices.best_first_search import BestFirstSearch
from eyechart.models.choices.trie import EdgeScores, Ints, Tokens, Trie

WORDS = st.lists(st.integers(0, 3), max_size=5).map(tuple)
CHOICES = st.lists(WORDS, min_size=1, max_size=30).map(lambda words: [(*word, 9) for word in words])
ANY = st.lists(WORDS.filter(len), min_size=1, max_size=12)  # a choice may be the beginning of another
VALUES = st.sampled_from([-np.inf, -8, -4, -2, -1, -0.5, 0])  # few, so that choices are often equal


@dataclass
class Oracle:
    """Knows every edge's log-probability, and remembers which nodes it was asked for."""

    trie: Trie
    values: NDArray[np.float32]
    asked: list[list[int]] = field(default_factory=list)

    def look(self, nodes: Ints) -> EdgeScores:
        self.asked.extend([int(node) for node in row if node >= 0] for row in nodes)
        rows, _, edges = self.trie.outgoing_edges(nodes)
        return rows, edges, self.values[rows, edges]

    def search(self, width: int) -> BestFirstSearch:
        search = BestFirstSearch(self.trie, len(self.values))
        search.add_scores(self.look(np.zeros((len(self.values), 1), np.int64)))
        while (nodes := search.next_nodes(width)).size:
            assert all(
                search.prefix_nodes[row, node] for row, found in enumerate(nodes) for node in found[:1] if node >= 0
            )
            search.add_scores(self.look(nodes))
        return search


@st.composite
def oracles(draw: st.DrawFn, choices: st.SearchStrategy[list[Tokens]]) -> Oracle:
    trie = Trie.from_choices(draw(choices))
    row = st.lists(VALUES, min_size=len(trie.edges), max_size=len(trie.edges))
    return Oracle(trie, np.array(draw(st.lists(row, min_size=1, max_size=3)), np.float32))


@given(oracles(CHOICES | ANY), st.integers(1, 9))
def test_the_best_is_the_first_of_the_likeliest(oracle: Oracle, width: int) -> None:
    scores = oracle.trie.choice_sums(oracle.values).astype(np.float32)
    indices, values = oracle.search(width).best
    assert indices.tolist() == scores.argmax(axis=1).tolist()
    assert values.tolist() == scores.max(axis=1).tolist()


@given(oracles(CHOICES), st.integers(1, 9))
def test_no_node_is_looked_at_twice_nor_before_its_beginnings(oracle: Oracle, width: int) -> None:
    oracle.values = oracle.values[:1]
    oracle.search(width)
    asked = [node for row in oracle.asked for node in row]
    assert len(asked) == len(set(asked))
    assert all(
        oracle.trie.edge_sources[oracle.trie.incoming_edges[node]] in asked[:index]
        for index, node in enumerate(asked)
        if node
    )


@given(oracles(CHOICES))
def test_one_at_a_time_none_is_looked_at_that_is_less_likely_than_the_best(oracle: Oracle) -> None:
    oracle.values = oracle.values[:1]
    _, (best,) = oracle.search(1).best
    reached = oracle.trie.node_sums(oracle.values)[0]
    assert all(reached[node] >= best for row in oracle.asked for node in row)


@given(oracles(CHOICES))
def test_what_a_row_needs_does_not_depend_on_its_neighbours(oracle: Oracle) -> None:
    together = oracle.search(2).seen
    alone = [Oracle(oracle.trie, row[None]).search(2).seen[0] for row in oracle.values]
    np.testing.assert_array_equal(together, alone)


def test_it_stops_as_soon_as_nothing_can_be_likelier() -> None:
    trie = Trie.from_choices([(1, 2, 9), (3, 4, 9), (3, 5, 9)])
    sure = {((), 1): -0.1, ((), 3): -4.0}
    values = [sure.get((trie.nodes[node], token), -0.1) for node, token in trie.edges]
    oracle = Oracle(trie, np.array([values], np.float32))
    assert oracle.search(1).best[0].tolist() == [0]
    assert [trie.nodes[node] for row in oracle.asked for node in row] == [(), (1,), (1, 2)]


def test_steps_without_a_choice_are_one_where_there_is_room() -> None:
    trie = Trie.from_choices([(1, 2, 3, 4, 9), (1, 2, 3, 5, 9)])
    oracle = Oracle(trie, np.full((1, len(trie.edges)), -1, np.float32))
    oracle.search(4)
    assert [[trie.nodes[node][-1:] for node in row] for row in oracle.asked] == [[()], [(1,), (2,), (3,)], [(4,), (5,)]]
