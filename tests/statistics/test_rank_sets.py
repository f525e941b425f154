"""Rank sets: against plain loops, their coverage in the least favourable cells, and how many pairs they tell apart."""

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyechart.statistics.rank_sets import RankSets, rank_sets

ALPHA = 0.05


def draw(chance: np.random.Generator, means: Any, units: int, size: int = 1) -> tuple[Any, Any]:
    """Outcomes of models, which share how hard a unit of some samples is, and the unit of each sample."""
    hard = np.repeat(chance.normal(size=units), size)
    own = chance.normal(size=(len(means), len(hard))) * 0.7
    level = np.quantile(chance.normal(size=20_000) * np.sqrt(1.49), means)
    return (hard + own < level[:, None]).astype(float), np.repeat(np.arange(units), size)


def is_covered(sets: RankSets, means: Any) -> bool:
    """Whether no model is shown to be better than one that is as good or better."""
    return not ((sets.p <= ALPHA) & (np.subtract.outer(means, means) <= 0)).any()


def by_loops(scores: Any) -> Any:
    """The adjusted p-values over all signs, in plain loops."""
    k, n = np.shape(scores)
    pairs = [
        (i, j) for i, j in permutations(range(k), 2) if any(a != b for a, b in zip(scores[i], scores[j], strict=True))
    ]

    def statistic(pair: Any, signs: Any) -> float:
        changes = [a - b for a, b in zip(scores[pair[0]], scores[pair[1]], strict=True)]
        signed = sum(sign * change for sign, change in zip(signs, changes, strict=True))
        return float(signed / sum(change * change for change in changes) ** 0.5)

    p, before = np.ones((k, k)), 0.0
    ordered = sorted(pairs, key=lambda pair: -statistic(pair, [1] * n))
    for step, pair in enumerate(ordered):
        limit = statistic(pair, [1] * n) - 1e-9
        signs = [*product((1, -1), repeat=n)]
        share = sum(max(statistic(other, one) for other in ordered[step:]) >= limit for one in signs) / len(signs)
        before = p[pair] = max(before, share)
    return p


@st.composite
def scores_of_models(draw: st.DrawFn) -> list[list[int]]:
    k, n = draw(st.integers(2, 3)), draw(st.integers(1, 5))
    return draw(st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=k, max_size=k))


@given(scores_of_models())
@example([[0, 0], [1, 1]])  # a drawn statistic that equals a negative one
def test_few_units_have_the_p_values_of_plain_loops(scores: list[list[int]]) -> None:
    assert rank_sets(scores, draws=4000).p == pytest.approx(by_loops(scores), abs=0.04)


@pytest.mark.parametrize(("k", "units", "size"), [(5, 60, 1), (10, 60, 1), (5, 12, 5), (10, 40, 5)])
def test_tied_models_are_covered(k: int, units: int, size: int) -> None:
    """The least favourable case: all models are equal, so that each pair that is told apart is an error."""
    chance, times, means = np.random.default_rng(k + units), 600, [0.8] * k
    covered = sum(
        is_covered(rank_sets(*draw(chance, means, units, size), draws=300, seed=seed), means) for seed in range(times)
    )
    assert 0.93 <= covered / times <= 0.99


@pytest.mark.deep
@pytest.mark.parametrize(
    ("means", "units", "size", "power"),
    [
        (np.linspace(0.6, 0.9, 5), 60, 1, 0.3),
        (np.linspace(0.6, 0.9, 5), 200, 1, 0.6),
        ([0.8, 0.8, 0.8, 0.7, 0.7], 200, 5, 0.6),
        (np.linspace(0.6, 0.9, 30), 200, 1, 0.25),
    ],
)
def test_models_that_differ_are_covered_and_told_apart(means: Any, units: int, size: int, power: float) -> None:
    chance, times = np.random.default_rng(units), 200
    better = np.subtract.outer(means, means) > 0
    covered, found = 0, 0.0
    for seed in range(times):
        sets = rank_sets(*draw(chance, means, units, size), draws=500, seed=seed)
        covered += is_covered(sets, means)
        found += (sets.p <= ALPHA)[better].mean()
    assert covered / times >= 0.93
    assert found / times > power


def test_samples_as_units_would_tell_equal_models_apart() -> None:
    """Ten samples of a unit that are alike are one observation, not ten."""
    chance = np.random.default_rng(0)
    scores = np.repeat(chance.integers(0, 2, (4, 30)), 10, axis=1)
    units = np.repeat(np.arange(30), 10)
    assert (rank_sets(scores).p <= ALPHA).any()
    assert not (rank_sets(scores, units).p <= ALPHA).any()


def test_weights_are_those_of_splits() -> None:
    """With equal weights of two splits, ten samples of the one weigh as much as a hundred of the other."""
    few, many = np.array([[1] * 10, [0] * 10]), np.array([[0] * 100, [1] * 20 + [0] * 80])
    scores, weights = np.hstack([few, many]), np.r_[np.full(10, 1 / 10), np.full(100, 1 / 100)]
    assert rank_sets(scores, weights=weights).lowest.tolist() == [1, 2]
    assert rank_sets(scores).lowest.tolist() != [1, 2]
    assert rank_sets(scores, weights=weights).effective_units < 13 < rank_sets(scores).effective_units == 110


def test_order_and_copies_of_models_change_no_set() -> None:
    scores, units = draw(np.random.default_rng(3), [0.9, 0.8, 0.6, 0.6], 80)
    sets = rank_sets(scores, units)
    turned = rank_sets(scores[::-1], units)
    assert turned.lowest.tolist()[::-1] == sets.lowest.tolist()
    assert turned.highest.tolist()[::-1] == sets.highest.tolist()
    twice = rank_sets([scores[0] / 3, scores[0] / 3], units)
    assert (twice.lowest.tolist(), twice.highest.tolist()) == ([1, 1], [2, 2])


def test_models_without_samples_or_a_single_one_may_have_every_rank() -> None:
    assert rank_sets(np.zeros((3, 0))).highest.tolist() == [3, 3, 3]
    assert rank_sets([[1], [0]]).highest.tolist() == [2, 2]
    assert rank_sets([[1, 0, 1]]).highest.tolist() == [1]


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ({"scores": [1, 0]}, "'scores' parameter of rank_sets must be a finite array of 2 dimensions"),
        ({"scores": [[1.0, float("nan")]]}, "'scores' parameter"),
        ({"units": [0]}, "'units' parameter of rank_sets must be of length 2"),
        ({"weights": [1, 0]}, "'weights' parameter of rank_sets must be positive and of length 2"),
        ({"alpha": 1}, "'alpha' parameter of rank_sets must be between 0 and 1. Got 1"),
        ({"draws": 10}, "'draws' parameter of rank_sets must be at least 100"),
    ],
)
def test_wrong_arguments_are_refused(what: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        rank_sets(**{"scores": [[1, 0]]} | what)
