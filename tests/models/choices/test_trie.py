"""The trie of choices: every beginning once, every choice a path."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.models.choices.trie import NO_NODE, ExhaustiveScorer, Tokens, Trie, truncate_to_unique

CHOICES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5).map(tuple), min_size=1, max_size=12)


def beginnings(choices: list[Tokens]) -> set[Tokens]:
    return {choice[:length] for choice in choices for length in range(len(choice))}


@given(CHOICES)
def test_every_beginning_is_a_node_once_and_the_root_the_first(choices: list[Tokens]) -> None:
    nodes = Trie.from_choices(choices).nodes
    assert nodes[0] == ()
    assert len(nodes) == len(set(nodes))
    assert set(nodes) == beginnings(choices)


@given(CHOICES)
def test_a_path_spells_its_choice(choices: list[Tokens]) -> None:
    trie = Trie.from_choices(choices)
    assert [tuple(trie.edges[edge][1] for edge in path) for path in trie.paths] == choices
    for path in trie.paths:
        assert [trie.nodes[trie.edges[edge][0]] for edge in path] == [
            tuple(trie.edges[edge][1] for edge in path[:index]) for index in range(len(path))
        ]


@given(CHOICES)
def test_an_edge_is_there_once_beside_those_of_its_node(choices: list[Tokens]) -> None:
    trie = Trie.from_choices(choices)
    assert len(set(trie.edges)) == len(trie.edges)
    assert np.all(np.diff(trie.edge_sources) >= 0)


@given(CHOICES)
def test_nodes_and_edges_lead_to_one_another(choices: list[Tokens]) -> None:
    trie = Trie.from_choices(choices)
    assert [trie.nodes[target][-1] for target in trie.edge_targets if target != NO_NODE] == [
        token for (_, token), target in zip(trie.edges, trie.edge_targets, strict=True) if target != NO_NODE
    ]
    assert [trie.edge_targets[edge] for edge in trie.incoming_edges[1:]] == list(range(1, len(trie.nodes)))
    assert trie.node_tokens[1:].tolist() == [node[-1] for node in trie.nodes[1:]]
    assert trie.depths.tolist() == [len(node) for node in trie.nodes]


@given(CHOICES)
def test_a_node_begins_itself_and_all_that_stand_behind_it(choices: list[Tokens]) -> None:
    trie = Trie.from_choices(choices)
    indices = np.arange(-1, len(trie.nodes))
    expected = [[other[: len(node)] == node for other in trie.nodes] for node in trie.nodes]
    assert trie.is_prefix(indices[1:, None], indices[None, 1:]).tolist() == expected
    assert not trie.is_prefix(indices[:1], indices).any()
    assert not trie.is_prefix(indices, indices[:1]).any()


@given(CHOICES)
def test_one_way_leads_on_where_nothing_else_may_follow(choices: list[Tokens]) -> None:
    trie = Trie.from_choices(choices)
    for index, node in enumerate(trie.nodes):
        ways = {
            choice[: len(node) + 1] for choice in choices if len(choice) > len(node) and choice[: len(node)] == node
        }
        only = [trie.nodes.index(way) for way in ways if len(ways) == 1 and way in trie.nodes]
        assert trie.only_children[index] == (only or [NO_NODE])[0]


@given(CHOICES, st.lists(st.tuples(st.integers(-1, 99), st.integers(-1, 99)), min_size=1, max_size=4))
def test_the_edges_that_leave_some_nodes(choices: list[Tokens], drawn: list[tuple[int, int]]) -> None:
    trie = Trie.from_choices(choices)
    nodes = np.minimum(np.array(drawn), len(trie.nodes) - 1)
    expected = [
        (row, column, edge)
        for row, column in np.ndindex(*nodes.shape)
        for edge, (node, _) in enumerate(trie.edges)
        if node == nodes[row, column]
    ]
    assert list(zip(*trie.outgoing_edges(nodes), strict=True)) == expected


@given(CHOICES, st.integers(0, 99))
def test_totals_are_sums_along_the_paths(choices: list[Tokens], seed: int) -> None:
    trie = Trie.from_choices(choices)
    values = np.random.default_rng(seed).normal(size=(2, len(trie.edges)))
    expected = [[sum(row[edge] for edge in path) for path in trie.paths] for row in values]
    np.testing.assert_allclose(trie.choice_sums(values), expected)
    np.testing.assert_allclose(trie.choice_sums(values[0]), expected[0])


class KnownScores(ExhaustiveScorer):
    """Scores that are known."""

    identity = generate = None  # nobody asks for them

    def __init__(self, *scores: list[float]) -> None:
        self.scores = scores

    def score(self, *_: object, **__: object) -> np.ndarray:
        return np.array(self.scores, np.float32)


def test_the_best_by_scores_is_the_first_of_equals() -> None:
    indices, values = KnownScores([-3, -1, -1], [-2, -5, -4]).best([SimpleNamespace()] * 2, ["a", "b", "c"])
    assert (indices.tolist(), values.tolist()) == ([1, 0], [-1, -2])
    assert (indices.dtype, values.dtype) == (np.int64, np.float32)


def test_there_is_no_best_of_nothing() -> None:
    with pytest.raises(ValueError, match="one of some choices; got none"):
        KnownScores([]).best([SimpleNamespace()], [])


END = 9
ENDED = CHOICES.map(lambda choices: [(*choice, END) for choice in choices])


def shortest(choice: Tokens, choices: list[Tokens]) -> Tokens:
    """The shortest beginning, of at least a token, that no other choice has: tried one by one."""
    others = [other for other in choices if other != choice]
    lengths = range(1, len(choice) + 1)
    return next(choice[:size] for size in lengths if all(other[:size] != choice[:size] for other in others))


@given(ENDED)
def test_a_choice_is_cut_where_no_other_begins_alike(choices: list[Tokens]) -> None:
    assert truncate_to_unique(choices) == [shortest(choice, choices) for choice in choices]


@given(ENDED)
def test_a_choice_that_another_begins_with_keeps_its_end(choices: list[Tokens]) -> None:
    longer = [*choices, (*choices[0][:-1], 8, END)]
    assert truncate_to_unique(longer)[0] == choices[0]


@given(ENDED)
def test_of_cut_choices_none_begins_another(choices: list[Tokens]) -> None:
    cut = sorted(set(truncate_to_unique(choices)))
    assert not [pair for pair in pairwise(cut) if pair[1][: len(pair[0])] == pair[0]]
    assert truncate_to_unique(cut) == cut


def test_no_choices_are_cut_to_none() -> None:
    assert truncate_to_unique([]) == []
