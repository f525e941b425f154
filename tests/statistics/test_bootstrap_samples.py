"""Tests of `eyechart.statistics.bootstrap_samples`."""

import sys

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eyechart.statistics.bootstrap_samples import BootstrapSamples
from eyechart.statistics.resampling import (
    bootstrap_counts,
    bootstrap_totals,
)

pytestmark = pytest.mark.deep

cells = st.integers(0, 2)

small = st.integers(1, 4).flatmap(lambda m: arrays(np.int64, (m, 2), elements=cells))


def test_a_generator_goes_on_and_a_seed_starts_anew() -> None:
    rows, random = np.eye(5, dtype=int), np.random.default_rng(1)
    first, second = bootstrap_totals(rows, 9, random), bootstrap_totals(rows, 9, random)
    np.testing.assert_array_equal(first, bootstrap_totals(rows, 9, 1))
    assert (first != second).any()


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


def test_there_is_no_table_of_many_counts_or_of_a_generator(monkeypatch) -> None:
    assert bootstrap_counts(50, 6, np.random.default_rng(3)).table() is None
    monkeypatch.setattr(sys.modules[BootstrapSamples.__module__], "SMALL", 6 * 50 - 1)
    assert bootstrap_counts(50, 6, 3).table() is None
    assert bootstrap_counts(50, 5, 3).table() is not None


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
