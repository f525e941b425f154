"""Falls, their intervals and p-values against enumeration and plain loops; sizes and coverage in simulation."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eyechart.oodbench.statistics.degradation import degradation, degradation_band, is_equivalent, tost
from eyechart.statistics.yes_no import MEASURES, confusion_measures

pytestmark = pytest.mark.deep

# Both questions of a pair right, the first alone, the second alone, neither.
KINDS = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0]])
GOOD, FAIR, POOR = (0.85, 0.04, 0.08, 0.03), (0.7, 0.06, 0.18, 0.06), (0.4, 0.05, 0.45, 0.1)
RUNS = 400  # a share of 10 per cent, twice what it should be, is beyond the limits in 9 of 10 simulations
ERROR = 3 * np.sqrt(0.05 * 0.95 / RUNS)  # of a simulated share of 5 per cent
kinds = st.integers(0, 3)
pairs = st.lists(kinds, min_size=1, max_size=12).map(lambda chosen: KINDS[chosen])
few, fewer = (st.lists(kinds, min_size=1, max_size=m).map(lambda chosen: KINDS[chosen]) for m in (3, 2))
seeds = st.integers(0, 2**32)


def drawn(random, chances, n):
    return KINDS[random.choice(4, n, p=chances)]


@cache
def truth(chances):
    return {name: float(value) for name, value in confusion_measures(10**6 * np.array(chances) @ KINDS).items()}


def fall(first, second, name):
    return confusion_measures(first.sum(axis=0))[name] - confusion_measures(second.sum(axis=0))[name]


@given(pairs, pairs, st.sampled_from(MEASURES))
def test_the_fall_is_the_difference_and_turns_with_the_sets(first, second, name) -> None:
    found, turned = degradation(first, second, 1)[name], degradation(second, first, 1)[name]
    assert found.delta == fall(first, second, name) == -turned.delta


@given(pairs, pairs, seeds, st.randoms(use_true_random=False))
def test_the_order_of_pairs_changes_nothing(first, second, seed, random) -> None:
    mixed = [np.array(random.sample(rows.tolist(), len(rows))) for rows in (first, second)]
    found, again = degradation(first, second, 20, seed), degradation(*mixed, 20, seed)
    for name in MEASURES:
        assert found[name][:4] == again[name][:4]
        np.testing.assert_array_equal(found[name].bootstrap_samples, again[name].bootstrap_samples)


@given(pairs, pairs, st.integers(1, 50))
def test_a_p_value_is_in_its_own_interval_and_never_nothing(first, second, times) -> None:
    for found in degradation(first, second, times).values():
        assert 1 / (times + 1) <= found.p <= 1
        assert 0 <= found.p_ci.low <= found.p <= found.p_ci.high <= 1
        assert found.ci.low <= found.ci.high
        assert found.bootstrap_samples.shape == found.null_samples.shape == (times,)


@given(few, few, st.sampled_from(MEASURES), seeds)
def test_the_p_value_is_that_of_all_shuffles(first, second, name, seed) -> None:
    rows, times = np.concatenate([first, second]), 4000
    indices = set(range(len(rows)))
    dealt = [(list(one), list(indices - set(one))) for one in combinations(indices, len(first))]
    exact = np.mean([fall(rows[one], rows[other], name) >= fall(first, second, name) - 1e-9 for one, other in dealt])
    found = degradation(first, second, times, seed)[name]
    assert found.p == pytest.approx(exact, abs=6 * np.sqrt(exact * (1 - exact) / times) + 1 / times)


@given(few, fewer, st.sampled_from(MEASURES), seeds)
def test_the_draws_are_those_of_all_resamples(first, second, name, seed) -> None:
    both = np.zeros((len(first) + len(second), 8), int)
    both[: len(first), :4], both[len(first) :, 4:] = first, second
    every = np.array([both[list(chosen)].sum(axis=0) for chosen in product(range(len(both)), repeat=len(both))])
    draws, times = degradation(first, second, 4000, seed)[name].bootstrap_samples, 4000
    falls = confusion_measures(every[:, :4])[name] - confusion_measures(every[:, 4:])[name]
    chances, found = (Counter(np.nan_to_num(np.round(each, 9), nan=9.0).tolist()) for each in (falls, draws))
    assert set(found) <= set(chances)
    for value, count in chances.items():
        chance = count / chances.total()
        assert found[value] / times == pytest.approx(chance, abs=6 * np.sqrt(chance * (1 - chance) / times))


def test_falls_that_rounding_parts_are_equal() -> None:
    rows = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 1, 0], [1, 0, 0, 0]])
    shares = []  # of right answers, the first of them observed
    for one in combinations(range(6), 3):
        halves = rows[list(one)].sum(axis=0), np.delete(rows, one, axis=0).sum(axis=0)
        shares.append([Fraction(int(half[0] + half[3]), int(half.sum())) for half in halves])
    exact = np.mean([first - second >= shares[0][0] - shares[0][1] for first, second in shares])
    assert degradation(rows[:3], rows[3:], 20_000)["acc"].p == pytest.approx(exact, abs=0.02)


def test_without_a_yes_all_that_is_about_yes_stays_nothing() -> None:
    found = degradation([[0, 0, 1, 1]] * 5, [[0, 0, 1, 1]] * 3, 20)
    assert all((found[name].delta, found[name].p) == (0, 1) for name in MEASURES)
    assert all(found[name].ci.low < 0 < found[name].ci.high for name in MEASURES)


@pytest.mark.parametrize("nothing", [[], np.zeros((0, 4), int), [[0, 0, 0, 0]]])
def test_a_set_without_an_answer_falls_nowhere(nothing) -> None:
    for found in degradation(nothing, [[1, 0, 0, 1]], 5).values():
        assert np.isnan([found.delta, *found.ci, found.p, *found.p_ci]).all()
    for found in tost([nothing] * 2, [[[1, 0, 0, 1]]] * 2, 5).values():
        assert np.isnan([found.delta, *found.ci, found.eta]).all()
        assert found.equivalent is False


def test_one_pair_a_set_says_next_to_nothing() -> None:
    found = degradation([[1, 0, 0, 1]], [[0, 1, 1, 0]], 50)["acc"]
    assert (found.delta, found.p) == (1, pytest.approx(0.5, abs=0.2))
    assert found.ci.low < 0.3
    assert found.ci.high == 1


@given(st.integers(1, 200))
def test_a_fall_between_sets_that_are_all_right_is_no_point(n: int) -> None:
    found = degradation([[1, 0, 0, 1]] * n, [[1, 0, 0, 1]] * n, 5)
    assert all(found[name].ci.low < 0 < found[name].ci.high for name in MEASURES)


def test_a_shuffle_that_leaves_a_set_empty_speaks_for_chance() -> None:
    found = degradation([[1, 0, 0, 1]], [[0, 1, 1, 0], [0, 0, 0, 0]], 2000)["acc"]
    assert np.isnan(found.null_samples).mean() == pytest.approx(
        1 / 3, abs=0.05
    )  # the pair without answers becomes first
    assert found.p == pytest.approx(2 / 3, abs=0.05)


finite = st.floats(-1, 1)


@given(st.lists(st.tuples(finite, finite).map(sorted), max_size=6))
def test_the_band_holds_every_interval_and_touches_two(intervals) -> None:
    band = degradation_band([*intervals, (float("nan"), float("nan"))])
    if intervals:
        assert band == (min(low for low, _ in intervals), max(high for _, high in intervals))
    else:
        assert np.isnan(band).all()


@given(st.tuples(finite, finite).map(sorted), st.floats(0, 1))
def test_inside_is_strictly_inside(ends, eta) -> None:
    assert is_equivalent(ends, eta) == (max(abs(end) for end in ends) < eta)
    assert is_equivalent(ends, eta) == is_equivalent((-ends[1], -ends[0]), eta)


together = st.integers(2, 4).flatmap(
    lambda models: st.tuples(*[arrays(np.int64, (models, n), elements=kinds).map(KINDS.__getitem__) for n in (6, 9)])
)


@given(together, seeds)
def test_a_model_is_itself_to_the_last_draw(sets, seed) -> None:
    alike = [np.repeat(rows[:1], 3, axis=0) for rows in sets]
    for found in tost(*alike, 20, seed).values():
        assert found[:2] == (0, (0, 0))
        assert not np.nan_to_num(found.bootstrap_samples).any()  # NaN where a resample left a set empty
        assert found.equivalent == (found.eta > 0)


@given(together, seeds)
def test_the_difference_is_that_of_the_falls(sets, seed) -> None:
    found = tost(*sets, 20, seed)
    for name in MEASURES:
        falls = [fall(one, other, name) for one, other in zip(*sets, strict=True)]
        assert found[name].delta == pytest.approx(falls[0] - np.mean(falls[1:]))
        assert found[name].equivalent == is_equivalent(found[name].ci, found[name].eta)


def test_equivalence_is_the_loop_over_resamples_of_the_same_pairs() -> None:
    random, name = np.random.default_rng(8), "mcc"
    models = ((FAIR, GOOD, GOOD), (GOOD, POOR, POOR))  # the first falls otherwise, and eta is not of it
    sets = [np.stack([drawn(random, chances, 80) for chances in each]) for each in models]
    indices = [random.integers(0, 80, (2000, 80)) for _ in sets]
    of = [confusion_measures(rows[:, index].sum(axis=2))[name] for rows, index in zip(sets, indices, strict=True)]
    slow = of[0] - of[1]
    found, apart = tost(*sets, 4000, seed=9)[name], slow[0] - slow[1:].mean(axis=0)
    assert found.eta == pytest.approx(slow[1:].std(), rel=0.05)
    assert found.ci == pytest.approx(np.quantile(apart, [0.05, 0.95]), abs=0.02)
    assert found.bootstrap_samples.std() == pytest.approx(apart.std(), rel=0.08)


def test_one_reference_model_has_its_own_error_for_a_margin() -> None:
    random = np.random.default_rng(1)
    one, other = (drawn(random, chances, 200) for chances in (GOOD, POOR))
    alone = degradation(one, other, 4000, seed=2)["acc"].bootstrap_samples.std()
    found = tost(np.stack([drawn(random, GOOD, 200), one]), np.stack([drawn(random, POOR, 200), other]), 4000)["acc"]
    assert found.eta == pytest.approx(alone, rel=0.06)


def test_a_permutation_test_holds_its_size() -> None:
    """Of two sets of one distribution, at most 5 per cent fall significantly, by any measure."""
    random, chances = np.random.default_rng(11), (0.5, 0.2, 0.2, 0.1)
    found = [degradation(drawn(random, chances, 60), drawn(random, chances, 90), 199, seed) for seed in range(RUNS)]
    for name in MEASURES:
        assert np.mean([each[name].p <= 0.05 for each in found]) <= 0.05 + ERROR


def test_a_permutation_test_sees_a_fall() -> None:
    random = np.random.default_rng(12)
    found = [degradation(drawn(random, GOOD, 60), drawn(random, POOR, 60), 199, seed) for seed in range(100)]
    assert np.mean([each["acc"].p <= 0.05 for each in found]) > 0.95


def test_the_percentile_interval_covers_the_fall() -> None:
    random = np.random.default_rng(13)
    found = [degradation(drawn(random, GOOD, 150), drawn(random, POOR, 150), 400, seed) for seed in range(RUNS)]
    for name in MEASURES:
        true = truth(GOOD)[name] - truth(POOR)[name]
        assert np.mean([each[name].ci.low <= true <= each[name].ci.high for each in found]) == pytest.approx(
            0.95, abs=0.01 + ERROR
        )


def test_the_papers_two_thousand_permutations_are_the_default() -> None:
    right, wrong = [[1, 0, 0, 1]] * 200, [[0, 1, 1, 0]] * 200
    assert degradation(right, wrong)["acc"].p == 1 / 2001


def compared(own, reference, seed, n=200):
    """A model that falls from GOOD to `own`, beside two that fall to `reference`."""
    random = np.random.default_rng(seed)
    first = np.stack([drawn(random, GOOD, n) for _ in range(3)])
    second = np.stack([drawn(random, chances, n) for chances in (own, reference, reference)])
    return tost(first, second, 400, seed)


def test_two_one_sided_tests_hold_their_size_where_the_difference_is_the_margin() -> None:
    """Where models differ by eta exactly, at most 5 per cent are called equivalent."""
    found = [compared(FAIR, POOR, seed) for seed in range(RUNS // 2)]
    for name in MEASURES:
        eta = abs(truth(FAIR)[name] - truth(POOR)[name])
        assert np.mean([is_equivalent(each[name].ci, eta) for each in found]) <= 0.05 + np.sqrt(2) * ERROR


def test_two_one_sided_tests_find_what_is_equivalent() -> None:
    assert np.mean([is_equivalent(compared(FAIR, FAIR, seed)["acc"].ci, 0.15) for seed in range(60)]) > 0.9
