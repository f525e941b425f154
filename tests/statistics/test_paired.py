"""The interval of a change holds the change, turns with it, and is never empty of doubt."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from eyechart.statistics.paired import change_interval

OUTCOME = st.sampled_from([0.0, 1.0, float("nan")])
PAIRS = st.lists(st.tuples(OUTCOME, OUTCOME), min_size=1, max_size=40).map(lambda rows: np.array(rows).T)


@given(PAIRS)
def test_it_holds_the_observed_change_and_has_a_width(pair):
    low, high = change_interval(*pair)
    moved = np.diff(pair, axis=0)
    if np.isnan(moved).all():
        assert np.isnan([low, high]).all()
    else:
        assert -1 <= low <= np.nanmean(moved) <= high <= 1
        assert high > low


@given(PAIRS, st.floats(0.01, 0.99))
def test_it_is_walds_with_one_more_that_was_lost_and_one_that_was_gained(pair, level):
    moved = np.diff(pair, axis=0)[0]
    moved = moved[~np.isnan(moved)]
    if moved.size:
        more = np.array([*moved, 1, -1])
        half = ndtri((1 + level) / 2) * more.std() / np.sqrt(more.size)
        ends = min(more.mean() - half, moved.mean()), max(more.mean() + half, moved.mean())
        assert change_interval(*pair, level) == pytest.approx(np.clip(ends, -1, 1))


@given(PAIRS)
def test_it_turns_when_before_and_after_are_exchanged(pair):
    low, high = change_interval(*pair)
    assert change_interval(*pair[::-1]) == pytest.approx((-high, -low), nan_ok=True)


def test_it_shrinks_with_more_images():
    widths = [np.ptp(change_interval([0, 1] * n, [1, 1] * n)) for n in (5, 50, 500)]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(("gain", "loss"), [(0.1, 0.05), (0.3, 0.0), (0.02, 0.02)])
def test_it_covers_the_true_change(gain, loss):
    draws = np.random.default_rng(7).multinomial(60, [gain, loss, 1 - gain - loss], 1000)
    intervals = [change_interval([0] * up + [1] * down + [1] * rest, [1] * up + [0] * down + [1] * rest)
                 for up, down, rest in draws]  # fmt: skip
    assert np.mean([low <= gain - loss <= high for low, high in intervals]) > 0.93


@pytest.mark.parametrize("arguments", [([0, 1], [1]), ([0.5], [1]), ([0], [1], 1.5)])
def test_it_refuses_what_is_no_pair_of_outcomes(arguments):
    with pytest.raises(ValueError, match=r"parameter of change_interval must be"):
        change_interval(*arguments)
