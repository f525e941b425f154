"""Drawing numbers of distinct rows against drawing the rows, one by one and all that can be drawn."""

import sys
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ks_2samp

from eyechart.statistics._sweeps import count_blocks, total_resamples
from eyechart.statistics.bootstrap_samples import BootstrapSamples
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


def test_a_generator_goes_on_and_a_seed_starts_anew() -> None:
    rows, random = np.eye(5, dtype=int), np.random.default_rng(1)
    first, second = bootstrap_totals(rows, 9, random), bootstrap_totals(rows, 9, random)
    np.testing.assert_array_equal(first, bootstrap_totals(rows, 9, 1))
    assert (first != second).any()


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


def test_a_generator_goes_on_from_where_it_is() -> None:
    random = np.random.default_rng(4)
    parts = [list(bootstrap_counts(9, times, random)) for times in (2, 3)]
    np.testing.assert_array_equal(np.concatenate(parts), list(bootstrap_counts(9, 5, 4)))


@pytest.mark.parametrize("sizes", [[1], [9], [300], [54, 42], [1, 3, 200], [7, 1, 1, 30]], ids=str)
def test_draws_of_a_seed_are_those_of_its_generator_however_often_they_are_asked_for(sizes, monkeypatch) -> None:
    strata = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(strata)
    expected = np.array(list(bootstrap_counts(n, 5, np.random.default_rng(4), strata)))
    resampling = sys.modules[BootstrapSamples.__module__]
    for small in (2**20, 0):  # many tables are kept, or two
        monkeypatch.setattr(resampling, "SMALL", small)
        for counts in bootstrap_counts(n, 5, 4, strata):
            counts[:] = 0  # what somebody does to them is nobody else's
        for block in (1, 2 * n, 2**20):  # one, two and all draws at once
            monkeypatch.setattr(resampling, "BLOCK", block)
            resampling._kept.cache_clear()
            resampling._kept_small.cache_clear()
            np.testing.assert_array_equal(list(bootstrap_counts(n, 5, 4, strata)), expected)
    for kept, spilled in ((5 * n, 5 * n), (5 * n - 1, 5 * n), (5 * n - 1, 5 * n - 1)):
        monkeypatch.setattr(resampling, "KEPT", kept)
        monkeypatch.setattr(resampling, "SPILLED", spilled)
        found = np.array(list(bootstrap_counts(n, 5, 4, strata)))
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == np.int64


def test_half_a_million_units_are_drawn_once_for_all_numbers_of_a_case(monkeypatch) -> None:
    """What is drawn for the first number is read again for the others, in memory or from a file."""
    resampling, times, units = sys.modules[BootstrapSamples.__module__], 1000, 500_000
    assert times * units <= resampling.SPILLED
    made, draw, make_sampler = [], resampling._drawn, resampling._sampler

    def counting(stratum, times, random):
        made.append(len(stratum))
        return draw(stratum, times, random)

    def counting_at_once(stratum):
        made.append(len(stratum))
        return make_sampler(stratum)

    monkeypatch.setattr(resampling, "SMALL", 0)
    monkeypatch.setattr(resampling, "_drawn", counting)
    monkeypatch.setattr(resampling, "_sampler", counting_at_once)
    for n in (301, 302):
        for kept in (5 * n, 5 * n - 1):  # in memory, in a file
            monkeypatch.setattr(resampling, "KEPT", kept)
            for _ in range(6):
                assert sum(1 for _ in bootstrap_counts(n, 5, 17)) == 5
    assert made == [301, 301, 302, 302]


def test_the_draws_of_many_small_splits_are_kept(monkeypatch) -> None:
    resampling = sys.modules[BootstrapSamples.__module__]
    resampling._kept_small.cache_clear()
    made, make_sampler = [], resampling._sampler
    monkeypatch.setattr(resampling, "_sampler", lambda stratum: made.append(1) or make_sampler(stratum))
    for n in (*range(20, 50), *range(20, 50)):
        assert sum(1 for _ in bootstrap_counts(n, 5, 17)) == 5
    assert len(made) == 30


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), max_size=9), seeds)
def test_a_table_has_the_counts_that_are_iterated_and_measures_are_the_same(units, seed) -> None:
    strata, clusters = (np.array([unit[side] for unit in units], int) for side in range(2))
    samples, values = bootstrap_counts(len(units), 5, seed, strata, clusters), np.random.default_rng(seed).random(9)
    table, sides = samples.table(), values[: len(units), None]
    assert table is not None
    np.testing.assert_array_equal(table, np.array(list(samples)).reshape(5, len(units)))
    rows = np.arange(len(units))[::2]
    blocks = [[*count_blocks("test", taken, len(units), rows)] for taken in (samples, list(samples))]
    np.testing.assert_array_equal(np.concatenate(blocks[0]), np.concatenate(blocks[1]))
    totals = [total_resamples("test", taken, sides) for taken in (samples, list(samples))]
    np.testing.assert_allclose(totals[0], totals[1], rtol=1e-14)


def test_there_is_no_table_of_many_counts_or_of_a_generator(monkeypatch) -> None:
    assert bootstrap_counts(50, 6, np.random.default_rng(3)).table() is None
    monkeypatch.setattr(sys.modules[BootstrapSamples.__module__], "SMALL", 6 * 50 - 1)
    assert bootstrap_counts(50, 6, 3).table() is None
    assert bootstrap_counts(50, 5, 3).table() is not None


@pytest.mark.parametrize("measure", [count_blocks, total_resamples])
def test_a_table_of_another_length_is_refused(measure) -> None:
    more = (7, slice(None)) if measure is count_blocks else (np.zeros((7, 1)),)
    with pytest.raises(ValueError, match="of length 7"):
        list(measure("test", bootstrap_counts(6, 3), *more))


def test_several_readers_go_through_the_same_file(monkeypatch) -> None:
    monkeypatch.setattr(sys.modules[BootstrapSamples.__module__], "SMALL", 0)
    monkeypatch.setattr(sys.modules[BootstrapSamples.__module__], "KEPT", 0)
    found = [np.array(pair) for pair in zip(bootstrap_counts(50, 6, 3), bootstrap_counts(50, 6, 3), strict=True)]
    assert all((one == other).all() for one, other in found)
    np.testing.assert_array_equal([one for one, _ in found], list(bootstrap_counts(50, 6, np.random.default_rng(3))))


def test_a_generator_goes_on_where_draws_would_be_kept_for_a_seed(monkeypatch) -> None:
    expected = list(bootstrap_counts(50, 6, np.random.default_rng(3)))
    for kept in (0, 6 * 50):  # in a file, in memory
        monkeypatch.setattr(sys.modules[BootstrapSamples.__module__], "KEPT", kept)
        generator = np.random.default_rng(3)
        np.testing.assert_array_equal(
            [*bootstrap_counts(50, 3, generator), *bootstrap_counts(50, 3, generator)], expected
        )


def test_without_room_for_a_file_draws_are_made_anew(monkeypatch) -> None:
    resampling = sys.modules[BootstrapSamples.__module__]

    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(resampling, "KEPT", 0)
    monkeypatch.setattr(resampling, "TemporaryFile", full)
    for _ in range(2):
        np.testing.assert_array_equal(
            list(bootstrap_counts(31, 4, 23)), list(bootstrap_counts(31, 4, np.random.default_rng(23)))
        )


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
