"""Intervals where no resample differs from another: never a point, and never narrower than what is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.statistics.degenerate_intervals import (
    identical_unit_intervals,
    max_unseen_share,
    measure_intervals,
    share_interval,
)
from eyechart.statistics.intervals import wilson
from eyechart.statistics.resampling import bootstrap_totals, percentile_interval
from eyechart.statistics.yes_no import MEASURES, confusion_measures

SIZES = st.integers(1, 500)
KINDS = ([1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1])
ROWS = st.sampled_from(KINDS)


def intervals(rows: list[list[int]]) -> dict[str, tuple[float, float]]:
    return measure_intervals(rows, confusion_measures(bootstrap_totals(rows, 200, 1)))


@given(ROWS, SIZES)
def test_the_value_is_inside_and_the_interval_no_point(row: list[int], n: int) -> None:
    values, found = confusion_measures(row), intervals([row] * n)
    assert all(found[name].low <= values[name] <= found[name].high for name in MEASURES)
    assert all(found[name].low < found[name].high for name in MEASURES)


@given(SIZES)
def test_all_right_is_as_sure_as_wilson_says(n: int) -> None:
    assert identical_unit_intervals([1, 0, 0, 1], n)["acc"] == pytest.approx(wilson(n, n))


@given(ROWS, SIZES)
def test_more_pairs_make_it_narrower(row: list[int], n: int) -> None:
    few, many = identical_unit_intervals(row, n), identical_unit_intervals(row, 2 * n)
    assert all(few[name].low <= many[name].low and many[name].high <= few[name].high for name in MEASURES)


@given(st.lists(ROWS, min_size=2, max_size=40).filter(lambda rows: len({*map(tuple, rows)}) > 1))
def test_pairs_that_differ_have_the_bootstrap_s_own_interval(rows: list[list[int]]) -> None:
    drawn = confusion_measures(bootstrap_totals(rows, 200, 1))
    varying = [name for name in MEASURES if np.ptp(drawn[name]) > 1e-12]
    assert {name: intervals(rows)[name] for name in varying} == {
        name: percentile_interval(drawn[name]) for name in varying
    }


def test_pairs_without_an_answer_do_not_make_it_surer() -> None:
    answered = [[1, 0, 0, 1]] * 7
    assert intervals([*answered, [0, 0, 0, 0]]) == intervals(answered)


def test_without_an_answer_there_is_no_interval() -> None:
    assert np.isnan(list(intervals([[0, 0, 0, 0]] * 3).values())).all()


@given(st.integers(0, 30), st.integers(1, 30))
def test_a_share_of_nothing_or_of_all_is_wilson_s(hits: int, more: int) -> None:
    n = hits + more
    assert share_interval([0.0] * 9, 0.0, n) == pytest.approx(wilson(0, n))
    assert share_interval([1.0] * 9, 1.0, n) == pytest.approx(wilson(n, n))


@given(st.floats(0, 1), SIZES)
def test_a_constant_share_is_inside(share: float, n: int) -> None:
    low, high = share_interval([share] * 5, share, n)
    assert low <= share <= high
    assert high - low == pytest.approx(max_unseen_share(n))


def test_draws_that_differ_are_taken_as_they_are() -> None:
    assert share_interval([0.2, 0.4, float("nan")], 0.3, 10) == percentile_interval([0.2, 0.4])


def test_a_difference_of_rounding_is_none() -> None:
    assert share_interval([1.0, 1 - 2**-53], 1.0, 41) == share_interval([1.0, 1.0], 1.0, 41)
    assert share_interval([1.0, 1 - 1e-9], 1.0, 41).low > 0.99
