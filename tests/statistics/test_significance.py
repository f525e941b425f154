"""McNemar's test, Holm's adjustment and their relatives against statsmodels, exact sums and their own mirrors."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats import contingency_tables, multitest, proportion

from eyechart.statistics import significance
from eyechart.statistics.degenerate_intervals import max_unseen_share
from eyechart.statistics.intervals import Interval, wilson
from eyechart.statistics.significance import Change, bootstrap_change, holm, interval_change, mcnemar, mcnemar_p

NAN = float("nan")
COUNTS = st.integers(0, 400)
OUTCOME = st.sampled_from([0.0, 1.0, NAN])
PAIRS = st.lists(st.tuples(OUTCOME, OUTCOME), min_size=1, max_size=40).map(lambda rows: np.array(rows).T)
PS = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 1.0])), max_size=30).map(np.array)
HOLED = st.lists(st.one_of(st.floats(0, 1), st.just(NAN)), max_size=30).map(np.array)
SHARE = st.floats(0, 1)
DRAWS = st.lists(st.tuples(SHARE, SHARE), max_size=30).map(lambda rows: np.array(rows, float).reshape(-1, 2).T)
UNITS = st.none() | st.integers(1, 10**6)
AROUND = st.tuples(SHARE, SHARE, SHARE).map(sorted).map(lambda v: (v[1], Interval(v[0], v[2])))


def turned(change: Change) -> Change:
    return Change(-change.delta, Interval(-change.ci.high, -change.ci.low), change.p)


def flat(change: Change) -> tuple[float, ...]:
    return change.delta, *change.ci, change.p


def outcomes(lost: int, gained: int, right: int, wrong: int) -> tuple[np.ndarray, np.ndarray]:
    sizes = [lost, gained, right, wrong]
    return np.repeat([1.0, 0.0, 1.0, 0.0], sizes), np.repeat([0.0, 1.0, 1.0, 0.0], sizes)


# McNemar


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_mcnemar_is_statsmodels(lost, gained, right, wrong) -> None:
    found = mcnemar(*outcomes(lost, gained, right, wrong))
    if found.n:
        theirs = contingency_tables.mcnemar([[right, lost], [gained, wrong]], exact=True).pvalue
        assert found == (lost, gained, lost + gained + right + wrong, pytest.approx(theirs, rel=1e-9))
        assert found.p == mcnemar_p([lost], [gained])[0]


@pytest.mark.parametrize(("lost", "gained"), [(1500, 1000), (1252, 1248), (25_400, 24_600), (30, 2), (7, 0)])
def test_p_is_the_exact_sum_for_many_samples(lost, gained) -> None:
    term, total = 1, 0
    for k in range(gained + 1):
        total, term = total + term, term * (lost + gained - k) // (k + 1)
    assert mcnemar_p([lost], [gained])[0] == pytest.approx(float(Fraction(2 * total, 2 ** (lost + gained))), rel=1e-9)


def test_fifty_thousand_samples_neither_overflow_nor_warn() -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = mcnemar_p([50_000, 25_000, 0, 0, 1074], [0, 25_000, 50_000, 0, 0])
    assert found.tolist() == [0, 1, 0, 1, 2.0**-1073]


@given(PAIRS)
def test_exchanging_the_runs_exchanges_lost_and_gained(pair) -> None:
    found, back = mcnemar(*pair), mcnemar(*pair[::-1])
    assert (back.lost, back.gained, back.n) == (found.gained, found.lost, found.n)
    assert back.p == pytest.approx(found.p, abs=0, nan_ok=True)


@given(PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_samples_does_not_count(pair, random) -> None:
    order = random.sample(range(pair.shape[1]), pair.shape[1])
    assert mcnemar(*pair[:, order]) == pytest.approx(mcnemar(*pair), abs=0, nan_ok=True)


@given(PAIRS)
def test_samples_scored_in_one_run_only_are_left_out(pair) -> None:
    both = ~np.isnan(pair).any(axis=0)
    assert mcnemar(*pair) == pytest.approx(mcnemar(*pair[:, both]), abs=0, nan_ok=True)
    assert mcnemar(*pair).n == both.sum()


@given(PAIRS)
def test_a_run_compared_with_itself_has_p_one(pair) -> None:
    lost, gained, n, p = mcnemar(pair[0], pair[0])
    assert (lost, gained) == (0, 0)
    assert p == 1 if n else np.isnan(p)


@pytest.mark.parametrize("values", [[], [NAN, NAN]])
def test_without_a_sample_there_is_no_p(values) -> None:
    assert mcnemar(values, [0.0] * len(values)) == pytest.approx((0, 0, 0, NAN), nan_ok=True)


@given(st.integers(0, 60), st.floats(0.001, 0.5))
def test_it_never_rejects_more_often_than_alpha(changed, alpha) -> None:
    lost = np.arange(changed + 1)
    chances = np.array([math.comb(changed, k) for k in lost]) / 2.0**changed
    assert chances[mcnemar_p(lost, changed - lost) <= alpha].sum() <= alpha * (1 + 1e-9)


# Holm


@pytest.mark.deep
@pytest.mark.parametrize("size", [1, 2, 3, 10, 200, 1000])
@pytest.mark.parametrize("ties", [False, True])
def test_holm_is_statsmodels(size, ties) -> None:
    p = np.random.default_rng(size).random(size) ** 4
    p = np.round(p, 2) if ties else p
    assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1], abs=1e-12)


@given(PS.map(lambda p: p[:6]))
def test_holm_is_the_closure_of_bonferronis(p) -> None:
    sets = [list(s) for size in range(1, len(p) + 1) for s in combinations(range(len(p)), size)]
    hardest = [max(min(1, len(s) * p[s].min()) for s in sets if index in s) for index in range(len(p))]
    assert holm(p) == pytest.approx(hardest)


@given(HOLED)
def test_what_was_not_tested_does_not_count(p) -> None:
    assert np.array_equal(np.isnan(holm(p)), np.isnan(p))
    assert np.array_equal(holm(p)[~np.isnan(p)], holm(p[~np.isnan(p)]))


@given(PS)
def test_adjusted_values_keep_their_order_and_are_never_less(p) -> None:
    adjusted = holm(p)
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
    assert ((p <= adjusted) & (adjusted <= 1)).all()
    assert all(len({*adjusted[p == value].tolist()}) == 1 for value in p)


@given(PS, SHARE, st.integers(0, 30))
def test_a_test_more_never_lowers_another(p, extra, index) -> None:
    index = min(index, len(p))
    more = holm(np.insert(p, index, extra))
    assert (np.delete(more, index) >= holm(p)).all()


@given(PS, st.integers(0, 29), SHARE)
def test_a_smaller_p_never_raises_any(p, index, share) -> None:
    if index < len(p):
        smaller = p.copy()
        smaller[index] *= share
        assert (holm(smaller) <= holm(p)).all()


@given(HOLED, st.randoms(use_true_random=False))
def test_the_order_of_tests_does_not_count(p, random) -> None:
    order = random.sample(range(len(p)), len(p))
    assert np.array_equal(holm(p[order]), holm(p)[order], equal_nan=True)


# Changes of drawn numbers


@given(SHARE, SHARE, DRAWS, UNITS)
def test_exchanging_the_runs_turns_a_drawn_change(before, after, draws, n) -> None:
    found, back = bootstrap_change(before, after, *draws, n), bootstrap_change(after, before, *draws[::-1], n)
    assert flat(back) == pytest.approx(flat(turned(found)), abs=1e-12, nan_ok=True)
    assert not found.ci.low > found.delta
    assert not found.ci.high < found.delta


@given(SHARE, DRAWS, UNITS)
def test_drawn_numbers_compared_with_themselves_have_p_one(value, draws, n) -> None:
    delta, ci, p = bootstrap_change(value, value, draws[0], draws[0], n)
    assert (delta, p) == (0, 1)
    if n and draws.shape[1] > 1:
        assert ci == pytest.approx((-max_unseen_share(n), max_unseen_share(n)))


@given(SHARE, SHARE, DRAWS, UNITS, st.randoms(use_true_random=False))
def test_neither_the_order_of_draws_nor_those_of_one_run_count(before, after, draws, n, random) -> None:
    order = random.sample(range(draws.shape[1]), draws.shape[1])
    more = np.insert(draws[:, order], 0, [[NAN, 0.3], [0.2, NAN]], axis=1)
    expected = flat(bootstrap_change(before, after, *draws, n))
    assert flat(bootstrap_change(before, after, *more, n)) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_many_draws_give_the_normal_tail_of_their_standard_error() -> None:
    draws = np.random.default_rng(0).normal(0.02, 0.01, 10**5)
    found = bootstrap_change(0.5, 0.52, np.zeros(10**5), draws)
    assert found.p == pytest.approx(math.erfc(2 / math.sqrt(2)), rel=0.05)
    assert found.ci == pytest.approx((0.02 - 0.0196, 0.02 + 0.0196), abs=3e-4)


@given(st.integers(1, 60))
def test_where_every_sample_changed_it_is_the_sign_test(n) -> None:
    found = bootstrap_change(1.0, 0.0, np.ones(9), np.zeros(9), n)
    assert found.p == pytest.approx(mcnemar(np.ones(n), np.zeros(n)).p)
    assert found.ci == pytest.approx((-1, -1 + 2 * max_unseen_share(n)))


@given(st.floats(0.001, 2), st.integers(1, 10**6))
def test_where_no_draw_differs_p_falls_with_the_change_and_with_the_units(delta, n) -> None:
    few, many, more = (
        bootstrap_change(0.0, change, [0.0] * 3, [change] * 3, units).p
        for change, units in ((delta, n), (delta, 2 * n), (1.5 * delta, n))
    )
    assert 0 <= max(many, more) <= few <= 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((NAN, 0.5, [0.1, 0.2], [0.3, 0.5]), (NAN,) * 4),
        ((0.5, NAN, [0.1, 0.2], [NAN, NAN], 9), (NAN,) * 4),
        ((0.5, 0.25, [], []), (-0.25, NAN, NAN, NAN)),
        ((0.5, 0.25, [0.5, NAN], [0.25, 0.25], 9), (-0.25, NAN, NAN, NAN)),
        ((0.5, 0.5, [], []), (0, NAN, NAN, 1)),
        ((0.5, 0.25, [0.5] * 3, [0.25] * 3), (-0.25, NAN, NAN, 1)),
        ((0.5, 0.25, [0.5] * 3, [0.25] * 3, 0), (-0.25, NAN, NAN, 1)),
        ((0.3, 0.1 + 0.2, [0.3, 0.3], [0.1 + 0.2, 0.3]), (5.6e-17, NAN, NAN, 1)),
    ],
)
def test_numbers_and_draws_that_are_missing_or_too_few(arguments, expected) -> None:
    assert flat(bootstrap_change(*arguments)) == pytest.approx(expected, abs=1e-15, nan_ok=True)


# Changes without pairs


@given(AROUND, AROUND)
def test_exchanging_the_runs_turns_a_change_of_intervals(one, other) -> None:
    found, back = interval_change(*one, *other), interval_change(*other, *one)
    assert flat(back) == pytest.approx(flat(turned(found)), abs=1e-9, nan_ok=True)
    assert found.ci.low <= found.delta <= found.ci.high
    assert interval_change(*one, *one).p == 1


@given(st.integers(100, 10**5), st.floats(0.2, 0.8), st.floats(0.2, 0.8))
def test_intervals_of_shares_give_newcombes_interval(n, before, after) -> None:
    hits = [round(share * n) for share in (before, after)]
    one, other = ((hit / n, wilson(hit, n)) for hit in hits)
    found = interval_change(*one, *other)
    theirs = proportion.confint_proportions_2indep(hits[1], n, hits[0], n, method="newcomb", compare="diff")
    assert found.ci == pytest.approx(theirs, abs=1e-9)
    assert (found.p < 0.05) == (not found.ci.low <= 0 <= found.ci.high)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (interval_change(0.5, (NAN, NAN), 0.25, (0, 1)), (-0.25, NAN, NAN, NAN)),
        (interval_change(0.5, (NAN, NAN), 0.5, (0, 1)), (0, NAN, NAN, 1)),
        (interval_change(0.5, (0.5, 0.5), 0.25, (0.25, 0.25)), (-0.25, -0.25, -0.25, NAN)),
        (interval_change(0.5, (0.6, 0.7), 0.5, (0.2, 0.4)), (0, -math.hypot(0.3, 0.2), 0, 1)),
    ],
)
def test_aggregates_that_are_missing_or_odd(found, expected) -> None:
    assert flat(found) == pytest.approx(expected, nan_ok=True)


# Refusals


@pytest.mark.parametrize(
    ("function", "arguments", "parameter"),
    [
        ("mcnemar", ([0.5], [1]), "before"),
        ("mcnemar", ([1, 0], [1]), "after"),
        ("mcnemar_p", ([1, 2], [1]), "gained"),
        ("mcnemar_p", ([-1], [1]), "lost"),
        ("bootstrap_change", (math.inf, 0, [], []), "before"),
        ("bootstrap_change", (0, 0, [1, 2], [1]), "draws_after"),
        ("bootstrap_change", (0, 0, [math.inf], [1]), "draws_before"),
        ("bootstrap_change", (0, 0, [], [], -1), "n"),
        ("bootstrap_change", (0, 0, [], [], 9, 95), "level"),
        ("interval_change", (0.5, (0.6, 0.4), 0.5, (0.4, 0.6)), "before_ci"),
        ("interval_change", (0.5, (0.4, 0.6), math.inf, (0.4, 0.6)), "after"),
        ("holm", ([1.5],), "p"),
        ("holm", ([[0.5]],), "p"),
        ("minimum_detectable_loss", (9, 5, 0.01), "discordance"),
        ("minimum_detectable_loss", (9, 0.5, 1), "alpha"),
        ("minimum_detectable_loss", (9, 0.5, 0.2, 0.1), "power"),
        ("minimum_detectable_loss", (-1, 0.5, 0.2), "n"),
    ],
)
def test_refusals_name_the_parameter(function, arguments, parameter) -> None:
    with pytest.raises(ValueError, match=rf"^The '{parameter}' parameter of {function} must be .+ Got .+ instead\.$"):
        getattr(significance, function)(*arguments)


@given(AROUND, AROUND)
def test_independent_runs_differ_surely_where_the_interval_leaves_no_change_out(before, after) -> None:
    found = interval_change(*before, *after)
    nearer = found.ci.high if found.delta < 0 else -found.ci.low
    if abs(found.delta) > 1e-6 and abs(nearer) > 1e-9 and not math.isnan(found.p):
        assert (found.p < 0.05) == (nearer < 0)


def test_few_draws_are_read_by_students_distribution() -> None:
    change = np.array([-0.5, -0.1, -0.3, -0.2])
    expected = 2 * stats.t.sf(0.25 / change.std(ddof=1), 3)
    assert bootstrap_change(0.5, 0.25, np.full(4, 0.5), 0.5 + change).p == pytest.approx(expected)
