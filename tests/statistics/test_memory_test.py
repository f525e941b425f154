"""The memory test: its exactness over all permutations, its size and power, and the interval of the effect."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.statistics.memory_test import memory_test


def draw(chance: np.random.Generator, n: int, redraws: int, learnt: float) -> tuple[Any, Any]:
    """Outcomes of questions of which a share is answered by memory under the published draw."""
    easy = chance.beta(2, 1, n)
    outcomes = (chance.random((n, 1 + redraws)) < easy[:, None]).astype(float)
    published = np.where(chance.random(n) < learnt, 1.0, outcomes[:, 0])
    return published, outcomes[:, 1:]


@given(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=1, max_size=5))
def test_the_p_value_is_that_over_all_choices_of_a_draw(outcomes: Any) -> None:
    array = np.array(outcomes, float)
    sums = [sum(row) for row in product(*outcomes)]
    exact = float(np.mean([total >= array[:, 0].sum() for total in sums]))
    assert memory_test(array[:, 0], array[:, 1:]).p == pytest.approx(exact, abs=0.025)


@pytest.mark.parametrize("redraws", [1, 4])
def test_p_values_below_a_level_are_at_most_as_frequent_as_it_says(redraws: int) -> None:
    chance, times = np.random.default_rng(redraws), 500
    p = np.array([memory_test(*draw(chance, 60, redraws, 0.0), permutations=199, seed=seed).p for seed in range(times)])
    for level in (0.05, 0.1, 0.2, 0.5):
        assert (p <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / times)
    assert (p <= 0.5).mean() > 0.3  # it is conservative, not silent


def test_what_was_learnt_is_found_and_measured() -> None:
    """A tenth of 1,000 questions is answered by memory, a third of which would be wrong: 3.3 points."""
    chance, times = np.random.default_rng(0), 40
    found = [memory_test(*draw(chance, 1000, 4, 0.1), permutations=999, seed=seed) for seed in range(times)]
    assert np.mean([one.p <= 0.05 for one in found]) > 0.5
    assert np.mean([one.effect for one in found]) == pytest.approx(0.033, abs=0.006)
    assert np.mean([one.learnt for one in found]) == pytest.approx(0.1, abs=0.02)
    assert np.mean([one.detectable for one in found]) == pytest.approx(0.1, abs=0.03)


@pytest.mark.deep
@pytest.mark.parametrize("size", [1, 5])
def test_the_effect_lies_in_its_interval(size: int) -> None:
    chance, times, covered = np.random.default_rng(size), 600, 0
    for seed in range(times):
        published, redrawn = draw(chance, 100, 4, 0.1)
        alike = (np.repeat(published, size), np.repeat(redrawn, size, axis=0), np.repeat(np.arange(100), size))
        found = memory_test(*alike, permutations=99, seed=seed)
        covered += found.ci.low <= 0.1 / 3 <= found.ci.high
    assert 0.93 <= covered / times <= 0.975


def test_questions_of_one_image_are_permuted_together() -> None:
    """Twenty questions of one image that share a draw are one observation."""
    published, redrawn = np.ones(20), np.zeros((20, 4))
    assert memory_test(published, redrawn).p < 0.01
    assert memory_test(published, redrawn, np.zeros(20, int)).p == pytest.approx(0.2, abs=0.02)


def test_equal_answers_prove_nothing_and_none_have_no_number() -> None:
    found = memory_test([1, 1, 0], [[1], [1], [0]])
    assert (found.p, found.effect, found.learnt) == (1.0, 0.0, 0.0)
    assert np.isnan(memory_test([1, 1], [[1], [1]]).learnt)  # nothing is answered wrong
    empty = memory_test([], np.zeros((0, 2)))
    assert empty.p == 1
    assert np.isnan(empty.effect)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: memory_test([1, 0], [[1]]), "'redrawn' parameter of memory_test must be of length 2"),
        (lambda: memory_test([1], np.zeros((1, 0))), "of at least one redraw"),
        (lambda: memory_test([1], [[float("nan")]]), "leave out questions without an answer"),
        (lambda: memory_test([1], [[1]], permutations=9), "'permutations' parameter of memory_test"),
    ],
)
def test_wrong_arguments_are_refused(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()
