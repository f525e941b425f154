"""Drawing numbers of distinct rows against drawing the rows, one by one and all that can be drawn."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ks_2samp

from eyechart.statistics.resampling import (
    bootstrap_counts,
    bootstrap_totals,
    cluster_bootstrap_totals,
    percentile_interval,
    permutation_totals,
)

pytestmark = pytest.mark.deep

TIMES = 20_000
cells = st.integers(0, 2)
tables = st.integers(0, 8).flatmap(lambda m: arrays(np.int64, (m, 3), elements=cells))
small = st.integers(1, 4).flatmap(lambda m: arrays(np.int64, (m, 2), elements=cells))
seeds = st.integers(0, 2**32)


def chances(totals):
    """How often each total comes when all draws are as likely."""
    found = Counter(tuple(total) for total in totals)
    return {total: count / found.total() for total, count in found.items()}


def agree(drawn, expected):
    """Whether drawn totals are those that can be, each about as often as it is likely."""
    found = chances(drawn.tolist())
    far = [
        total
        for total, chance in expected.items()
        if abs(found.get(total, 0) - chance) > 6 * np.sqrt(chance * (1 - chance) / TIMES)
    ]
    return set(found) <= set(expected) and not far


@given(small, seeds)
def test_resamples_are_all_that_can_be_drawn(rows, seed) -> None:
    expected = chances(rows[list(chosen)].sum(axis=0) for chosen in product(range(len(rows)), repeat=len(rows)))
    assert agree(bootstrap_totals(rows, TIMES, seed), expected)


@given(small, small, seeds)
def test_shuffles_are_all_that_can_be_dealt(first, second, seed) -> None:
    rows = np.concatenate([first, second])
    expected = chances(rows[list(chosen)].sum(axis=0) for chosen in combinations(range(len(rows)), len(first)))
    assert agree(permutation_totals(first, second, TIMES, seed)[0], expected)


@given(small, small, seeds)
def test_strata_are_drawn_and_dealt_apart(one, other, seed) -> None:
    rows, strata = np.concatenate([one, other]), np.repeat([5, 2], [len(one), len(other)])
    kept = [bootstrap_totals(part, TIMES, seed).mean(axis=0) for part in (one, other)]
    np.testing.assert_allclose(bootstrap_totals(rows, TIMES, seed, strata).mean(axis=0), sum(kept), atol=0.15)
    first, _ = permutation_totals(one, other, 9, seed, (strata[: len(one)], strata[len(one) :]))
    assert (first == one.sum(axis=0)).all()  # nobody to change places with


def test_resampling_is_the_loop_over_rows() -> None:
    random = np.random.default_rng(3)
    rows = random.integers(0, 3, (60, 2))
    slow = np.array([rows[random.integers(0, 60, 60)].sum(axis=0) for _ in range(4000)])
    fast = bootstrap_totals(rows, 4000, seed=4)
    np.testing.assert_allclose(np.cov(fast.T), np.cov(slow.T), rtol=0.15, atol=4)
    assert all(ks_2samp(fast @ way, slow @ way).pvalue > 0.001 for way in ((1, 0), (0, 1), (1, -1)))


def test_permuting_is_the_loop_over_shuffles() -> None:
    random = np.random.default_rng(5)
    rows = random.integers(0, 3, (70, 2))
    slow = np.array([random.permutation(rows)[:30].sum(axis=0) for _ in range(4000)])
    fast, _ = permutation_totals(rows[:30], rows[30:], 4000, seed=6)
    assert all(ks_2samp(fast @ way, slow @ way).pvalue > 0.001 for way in ((1, 0), (0, 1), (1, -1)))


@given(tables, tables, seeds, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(first, second, seed, random) -> None:
    turned = random.sample(first.tolist(), len(first))
    turned = np.array(turned, np.int64).reshape(first.shape)
    np.testing.assert_array_equal(bootstrap_totals(turned, 9, seed), bootstrap_totals(first, 9, seed))
    np.testing.assert_array_equal(
        permutation_totals(turned, second, 9, seed), permutation_totals(first, second, 9, seed)
    )


@given(tables, tables, seeds)
def test_nothing_is_lost_in_a_shuffle(first, second, seed) -> None:
    counted = [np.column_stack([rows, np.ones(len(rows), np.int64)]) for rows in (first, second)]
    one, other = permutation_totals(*counted, 7, seed)
    assert (one[:, -1] == len(first)).all()
    assert (one + other == np.concatenate(counted).sum(axis=0)).all()


@given(tables, seeds)
def test_a_resample_has_as_many_rows(rows, seed) -> None:
    counted = np.column_stack([rows, np.ones(len(rows), np.int64)])
    assert (bootstrap_totals(counted, 7, seed)[:, -1] == len(rows)).all()


@given(tables, seeds)
def test_rows_alone_in_their_clusters_are_resampled(rows, seed) -> None:
    names = np.arange(len(rows))[::-1] * 5
    np.testing.assert_array_equal(cluster_bootstrap_totals(rows, names, 9, seed), bootstrap_totals(rows, 9, seed))


@given(tables, seeds)
def test_rows_of_a_cluster_come_together(rows, seed) -> None:
    twice, names = np.repeat(rows, 2, axis=0), np.repeat(np.arange(len(rows)), 2)
    np.testing.assert_array_equal(cluster_bootstrap_totals(twice, names, 9, seed), 2 * bootstrap_totals(rows, 9, seed))


@given(tables, seeds)
def test_one_cluster_cannot_vary(rows, seed) -> None:
    assert (cluster_bootstrap_totals(rows, np.zeros(len(rows), int), 9, seed) == rows.sum(axis=0)).all()


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=30), st.sampled_from([0.5, 0.9, 0.95]))
def test_percentiles_hold_the_middle_and_leave_out_what_has_no_value(draws, level) -> None:
    low, high = percentile_interval([*draws, float("nan")], level)
    assert (low, high) == pytest.approx(tuple(np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])))
    assert min(draws) <= low <= high <= max(draws)


def test_no_draws_have_no_percentiles() -> None:
    assert np.isnan([percentile_interval([]), percentile_interval([np.nan])]).all()


@settings(max_examples=10)  # each draws thousands of resamples
@given(st.integers(1, 4), seeds)
def test_numbers_of_draws_are_all_that_can_be_drawn(n, seed) -> None:
    chosen = (np.bincount(rows, minlength=n) for rows in product(range(n), repeat=n))
    assert agree(np.array(list(bootstrap_counts(n, TIMES, seed))), chances(map(tuple, chosen)))


@given(st.lists(st.integers(0, 3), max_size=12), seeds)
def test_of_each_stratum_as_many_are_drawn_as_it_has(strata, seed) -> None:
    sizes = np.bincount(np.array(strata, int))
    found = [np.bincount(np.array(strata, int), counts) for counts in bootstrap_counts(len(strata), 5, seed, strata)]
    assert len(found) == 5
    assert all((sums == sizes).all() for sums in found)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), max_size=9), seeds)
def test_units_of_a_cluster_are_drawn_as_often_as_one_another(units, seed) -> None:
    strata, clusters = (np.array([unit[side] for unit in units], int) for side in range(2))
    names = list(dict.fromkeys(units))
    of_clusters = list(bootstrap_counts(len(names), 5, seed, [stratum for stratum, _ in names]))
    for counts, wanted in zip(bootstrap_counts(len(units), 5, seed, strata, clusters), of_clusters, strict=True):
        assert counts.tolist() == [wanted[names.index(unit)] for unit in units]


@given(st.lists(st.integers(0, 1), max_size=9), seeds)
def test_units_alone_in_their_clusters_are_drawn_as_without(strata, seed) -> None:
    clusters = 7 * np.arange(len(strata))[::-1]
    plain, same = (list(bootstrap_counts(len(strata), 5, seed, strata, each)) for each in (None, clusters))
    np.testing.assert_array_equal(plain, same)
