"""Bins at quantiles, and groups of variables that order the samples alike."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from eyechart.statistics.quantile_bins import correlated_groups, quantile_bins

NUMBERS = st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")) | st.integers(0, 3).map(float), max_size=80)


@given(NUMBERS)
def test_bins_are_ordered_with_equal_values_in_one_and_follow_their_edges(values: list[float]) -> None:
    codes, edges = quantile_bins(values, least=4)
    array = np.array(values, float)
    known = np.isfinite(array)
    if not edges:
        assert (codes == -1).all()
        return
    assert (codes[~known] == -1).all()
    assert [*edges] == sorted({*edges})
    assert codes[known].tolist() == np.searchsorted(edges, array[known], side="left").tolist()
    assert {*codes[known].tolist()} == {*range(len(edges) + 1)}


def test_quarters_of_many_numbers_have_short_edges() -> None:
    codes, edges = quantile_bins(np.random.default_rng(0).random(4000))
    assert np.bincount(codes) == pytest.approx(1000, abs=25)
    assert all(len(f"{edge:.12g}") <= 5 for edge in edges)


def test_edges_of_close_numbers_have_as_many_digits_as_they_need() -> None:
    codes, _ = quantile_bins(1000 + np.arange(100) / 1000)
    assert np.bincount(codes) == pytest.approx(25, abs=1)


@pytest.mark.parametrize("values", [[2.0] * 100, np.arange(29.0), [float("nan")] * 50, []])
def test_constant_and_few_values_have_no_bins(values: Any) -> None:
    assert quantile_bins(values)[1] == ()


def test_groups_are_of_variables_that_all_correlate() -> None:
    """A chain is no group: the second variable is like the first and the third, which are not alike."""
    chance = np.random.default_rng(1)
    first, third = chance.normal(size=(2, 500))
    second = first + third
    assert abs(spearmanr(first, second).statistic) > 0.6 < abs(spearmanr(second, third).statistic)
    groups = correlated_groups([first, second, third, -np.exp(first), chance.normal(size=500)])
    assert groups in ([[0, 3], [1, 2], [4]], [[0, 1, 3], [2], [4]])
    assert correlated_groups([first, np.ones(500)]) == [[0], [1]]
    assert correlated_groups([]) == []


def test_missing_values_are_left_out_pair_by_pair() -> None:
    first = np.arange(50.0)
    second = np.where(first < 10, np.nan, first**3)
    assert correlated_groups([first, second]) == [[0, 1]]
