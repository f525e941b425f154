"""The trie of choices: every beginning once, every choice a path."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eyechart.models.choices import Tokens, Trie, cut

CHOICES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5).map(tuple), min_size=1, max_size=12)


def beginnings(choices: list[Tokens]) -> set[Tokens]:
    return {choice[:length] for choice in choices for length in range(len(choice))}


@given(CHOICES)
def test_every_beginning_is_a_node_once(choices: list[Tokens]) -> None:
    nodes = Trie.of(choices).nodes
    assert nodes[0] == ()
    assert len(nodes) == len(set(nodes))
    assert set(nodes) == beginnings(choices)


@given(CHOICES)
def test_a_path_spells_its_choice(choices: list[Tokens]) -> None:
    trie = Trie.of(choices)
    assert [tuple(trie.edges[edge][1] for edge in path) for path in trie.paths] == choices
    for path in trie.paths:
        assert [trie.nodes[trie.edges[edge][0]] for edge in path] == [
            tuple(trie.edges[edge][1] for edge in path[:place]) for place in range(len(path))
        ]


@given(CHOICES)
def test_an_edge_is_there_once(choices: list[Tokens]) -> None:
    trie = Trie.of(choices)
    assert len(set(trie.edges)) == len(trie.edges)


@given(CHOICES)
def test_a_node_sees_its_own_beginnings_and_itself(choices: list[Tokens]) -> None:
    trie = Trie.of(choices)
    behind = trie.nodes[1:]
    assert trie.visible.tolist() == [[node[: len(other)] == other for other in behind] for node in behind]
    assert trie.inner.tolist() == [node[-1] for node in behind]
    assert trie.depths.tolist() == [len(node) for node in behind]


@given(CHOICES, st.integers(0, 99))
def test_totals_are_sums_along_the_paths(choices: list[Tokens], seed: int) -> None:
    trie = Trie.of(choices)
    values = np.random.default_rng(seed).normal(size=(2, len(trie.edges)))
    expected = [[sum(row[edge] for edge in path) for path in trie.paths] for row in values]
    np.testing.assert_allclose(trie.totals(values), expected)


@given(CHOICES, st.integers(1, 8))
def test_cutting_loses_no_choice_and_keeps_to_the_size(choices: list[Tokens], most: int) -> None:
    ended = [(*choice, 9) for choice in choices]  # as an end of turn ends them
    parts = list(cut(ended, most))
    assert sorted(place for part in parts for place in part) == list(range(len(ended)))
    for part in parts:
        assert len(part) == 1 or len(Trie.of([ended[place] for place in part]).inner) <= most


@given(CHOICES)
def test_nothing_is_cut_that_fits(choices: list[Tokens]) -> None:
    ended = [(*choice, 9) for choice in choices]
    assert len(list(cut(ended, len(Trie.of(ended).inner)))) <= 1 + (not Trie.of(ended).inner.size)
