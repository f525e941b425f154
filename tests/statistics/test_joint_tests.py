"""The joint test of many paired changes: against plain loops, its size, and its power beside Holm's correction."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from eyechart.statistics import joint_tests
from eyechart.statistics.joint_tests import sign_flip_max_t
from eyechart.statistics.significance import holm, mcnemar_p

ALPHA = 0.05


def adjusted(changes: Any, **more: Any) -> Any:
    """The p-values of a dense matrix of changes (numbers, units)."""
    rows, columns = np.nonzero(changes)
    return sign_flip_max_t(rows, columns, np.asarray(changes)[rows, columns], len(changes), **more)


def by_loops(changes: Any) -> list[float]:
    """Westfall and Young's step-down p-values over all signs, in plain loops."""

    def statistic(row: Any, signs: Any) -> float:
        size = sum(value * value for value in row) ** 0.5
        return abs(sum(value * sign for value, sign in zip(row, signs, strict=True))) / size if size else 0.0

    units = len(changes[0])
    observed = [statistic(row, [1] * units) for row in changes]
    order = sorted(range(len(changes)), key=lambda number: -observed[number])
    p, before = [1.0] * len(changes), 0.0
    for step, number in enumerate(order):
        if observed[number] == 0:
            continue
        signed = [*product((1, -1), repeat=units)]
        reached = sum(
            max(statistic(changes[other], signs) for other in order[step:]) >= observed[number] * (1 - 1e-5)
            for signs in signed
        )
        before = max(before, reached / len(signed))
        p[number] = before
    return p


@given(
    st.integers(1, 4).flatmap(
        lambda numbers: st.integers(1, 6).flatmap(
            lambda units: st.lists(
                st.lists(st.integers(-3, 3), min_size=units, max_size=units), min_size=numbers, max_size=numbers
            )
        )
    )
)
def test_few_units_have_the_exact_p_values_of_plain_loops(changes: Any) -> None:
    assert adjusted(changes).tolist() == pytest.approx(by_loops(changes))


@given(st.lists(st.sampled_from([-1, 1]), min_size=1, max_size=30))
def test_one_number_has_the_p_value_of_mcnemar(changes: list[int]) -> None:
    lost, gained = changes.count(-1), changes.count(1)
    exact = mcnemar([[0, lost], [gained, 0]], exact=True).pvalue
    error = 4 * (exact * (1 - exact) / joint_tests.DRAWS) ** 0.5 + 2 / joint_tests.DRAWS
    assert adjusted([changes])[0] == pytest.approx(exact, abs=0 if len(changes) <= 13 else error)


def test_a_copy_of_a_number_and_numbers_without_changes_cost_nothing() -> None:
    chance = np.random.default_rng(0)
    number = np.where(chance.random(60) < 0.7, -1, 1)
    alone = adjusted([number])[0]
    assert adjusted([number, *[number] * 50, *[0 * number] * 50])[:51].tolist() == pytest.approx([alone] * 51)
    assert len({*adjusted([number, number])}) == 1


def test_the_scale_of_a_number_and_the_order_change_nothing() -> None:
    chance = np.random.default_rng(1)
    changes = chance.integers(-1, 2, (5, 40))
    plain = adjusted(changes)
    assert adjusted(changes * [[1], [2], [0.1], [7], [3]]).tolist() == pytest.approx(plain.tolist(), abs=1e-3)
    assert adjusted(changes[::-1])[::-1].tolist() == pytest.approx(plain.tolist(), abs=1e-3)
    assert adjusted(-changes).tolist() == plain.tolist()


def correlated(chance: np.random.Generator, numbers: int, units: int, changed: float, shared: float) -> Any:
    """Changes without a loss: in `shared` of the changed units all numbers of a group of ten change alike."""
    groups = np.repeat(np.arange(numbers // 10), 10)
    signs = chance.choice([-1, 1], (2, numbers, units))
    one = np.where(chance.random((numbers // 10, units)) < changed, signs[0, : numbers // 10], 0)[groups]
    own = np.where(chance.random((numbers, units)) < changed, signs[1], 0)
    return np.where(chance.random((numbers, units)) < shared, one, own)


@pytest.mark.deep
@pytest.mark.parametrize(("numbers", "units", "changed"), [(100, 60, 0.1), (200, 25, 0.01)])
@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_the_family_wise_error_is_at_most_alpha(numbers: int, units: int, changed: float, shared: float) -> None:
    chance, times = np.random.default_rng(7), 150
    false = sum(
        adjusted(correlated(chance, numbers, units, changed, shared), draws=200, seed=seed).min() <= ALPHA
        for seed in range(times)
    )
    assert binomtest(false, times, ALPHA, alternative="greater").pvalue > 0.001


def test_the_normal_limit_of_many_signs_agrees_with_the_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = correlated(np.random.default_rng(3), 40, 6000, 0.05, 0.8)
    changes[0] = np.where(changes[0] > 0, np.where(np.arange(6000) % 3, 1, -1), changes[0])
    signs = adjusted(changes)
    monkeypatch.setattr(joint_tests, "_MOST_FLIPS", 0)
    assert adjusted(changes).tolist() == pytest.approx(signs.tolist(), abs=0.03)
    assert signs.min() < 0.05


@given(st.integers(0, 2**32 - 1), st.integers(14, 40), st.integers(2, 12))
def test_the_order_of_numbers_in_a_sparse_matrix_changes_nothing(seed: int, units: int, numbers: int) -> None:
    changes = correlated(np.random.default_rng(seed), 10 * numbers, units, 0.3, 0.5)
    with pytest.MonkeyPatch.context() as patch:
        dense = adjusted(changes, draws=300)
        patch.setattr(joint_tests, "_MOST_FLIPS", 0)
        patch.setattr(joint_tests, "_MOST_CORRELATED", 0)
        assert adjusted(changes, draws=300).tolist() == dense.tolist()


@pytest.mark.parametrize("sparse", [False, True])
@given(st.integers(0, 2**32 - 1), st.integers(14, 300))
def test_equal_sums_of_whole_changes_are_equal_without_tolerance(sparse: bool, seed: int, units: int) -> None:
    """Their sums are exact, so that no kernel can tell a tie from a larger statistic."""
    changes = correlated(np.random.default_rng(seed), 10, units, 0.9, 0.5)
    with pytest.MonkeyPatch.context() as patch:
        if sparse:
            patch.setattr(joint_tests, "_MOST_FLIPS", 0)
            patch.setattr(joint_tests, "_MOST_CORRELATED", 0)
        found = adjusted(changes, draws=300)
        patch.setattr(joint_tests, "_TIE", 0)
        assert adjusted(changes, draws=300).tolist() == found.tolist()


def test_a_library_with_other_vectors_of_equal_values_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signs of all vectors, and every rotation of those of one value, are another library's choice."""
    changes = np.zeros((6, 120))
    for number in range(6):  # no two share a unit, so that all values are 1
        changes[number, 20 * number : 20 * (number + 1)] = np.where(np.arange(20) < 13 + number, 1, -1)
    monkeypatch.setattr(joint_tests, "_MOST_FLIPS", 0)
    expected, eigh = adjusted(changes, draws=2000), np.linalg.eigh

    def turned(matrix: Any) -> Any:
        values, vectors = eigh(matrix)
        turn = np.linalg.qr(np.random.default_rng(0).normal(size=vectors.shape))[0]
        return values, (vectors @ turn).astype(vectors.dtype)

    monkeypatch.setattr(np.linalg, "eigh", turned)
    assert adjusted(changes, draws=2000).tolist() == pytest.approx(expected.tolist(), abs=0.001)


def test_thousands_of_numbers_have_the_p_values_of_few_if_they_are_copies() -> None:
    changes = correlated(np.random.default_rng(4), 20, 1000, 0.05, 0.5)
    changes[0] = np.where(changes[0] > 0, np.where(np.arange(1000) % 4, 1, -1), changes[0])
    few, many = adjusted(changes), adjusted(np.repeat(changes, 110, axis=0))
    assert len(many) > joint_tests._MOST_CORRELATED
    assert many.reshape(20, 110).std(axis=1).max() < 1e-9
    assert many[::110].tolist() == pytest.approx(few.tolist(), abs=0.03)
    assert few.min() < 0.2


def test_a_loss_beside_correlated_numbers_is_found_more_often_than_by_holm() -> None:
    chance, times, found = np.random.default_rng(5), 60, np.zeros(2)
    for seed in range(times):
        changes = correlated(chance, 200, 177, 0.05, 0.9)
        changes[0] = np.where(chance.random(177) < 0.10, -1, 0)
        p = holm(mcnemar_p((changes < 0).sum(axis=1), (changes > 0).sum(axis=1)))
        found += (adjusted(changes, draws=1000, seed=seed)[0] <= 0.01, p[0] <= 0.01)
    assert found[0] >= found[1] + 10
    assert multipletests([0.01, 0.02], method="holm")[1].tolist() == holm([0.01, 0.02]).tolist()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([0], [0, 1], [1.0], 1), "The 'units' parameter of sign_flip_max_t must be of length 1"),
        (([0], [0], [np.inf], 1), "The 'changes' parameter of sign_flip_max_t must be finite"),
        (([1], [0], [1.0], 1), "The 'numbers' parameter of sign_flip_max_t must be below 1"),
        (([0], [0], [1.0], 1, 10), "The 'draws' parameter of sign_flip_max_t must be at least 100"),
    ],
)
def test_bad_arguments_have_a_sentence(arguments: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        sign_flip_max_t(*arguments)
