"""The sequential tests: the wealth of a player by plain loops, and how often they stop, rightly and wrongly."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.gate.sequential.stop_early import block_sizes, level_of_case
from eyechart.statistics.e_values import BETS, loss_log_e_value, margin_log_e_value, sequential_loss_limit

COUNTS = st.integers(0, 40)
SIZE, WORLDS = 50_000, 400
BLOCKS = np.array([*block_sizes(SIZE)])


@given(COUNTS, COUNTS, COUNTS, st.floats(0.001, 0.5), st.randoms())
def test_the_e_value_is_the_mean_wealth_of_bets(lost: int, gained: int, same: int, margin: float, deal: Any) -> None:
    steps = [1.0] * lost + [-1.0] * gained + [0.0] * same
    deal.shuffle(steps)
    for value, gain in (
        (loss_log_e_value(lost, gained), lambda step: step),
        (margin_log_e_value(lost, gained, len(steps), margin), lambda step: margin - step),
    ):
        wealth = np.ones(len(BETS))
        for step in steps:
            wealth *= 1 + BETS * gain(step)
        assert np.exp(value) == pytest.approx(wealth.mean(), rel=1e-9)


@given(COUNTS, COUNTS, COUNTS, st.sampled_from([0.001, 0.01, 0.05, 0.2]))
def test_the_limit_is_the_least_margin_that_is_shown(lost: int, gained: int, same: int, alpha: float) -> None:
    n = lost + gained + same
    limit = sequential_loss_limit(lost, gained, n, alpha)
    assert limit >= (lost - gained) / max(n, 1) - 1e-9
    if limit < 1:
        assert margin_log_e_value(lost, gained, n, min(1, limit + 1e-6)) >= -np.log(alpha) - 1e-6
    assert margin_log_e_value(lost, gained, n, max(-1, limit - 1e-6)) <= -np.log(alpha) + 1e-6


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (loss_log_e_value, (-1, 0)),
        (margin_log_e_value, (2, 2, 3, 0.1)),
        (margin_log_e_value, (0, 0, 3, 1.5)),
        (sequential_loss_limit, (0, 0, 3, 0.0)),
    ],
)
def test_numbers_out_of_range_are_refused(function: Any, arguments: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        function(*arguments)


def stops(discordance: float, loss: float, alpha: float, margin: float = 0.0, seed: int = 0) -> Any:
    """The number of images after which each world stops, infinity without a stop."""
    draws = np.random.default_rng(seed)
    ends = np.full(WORLDS, np.inf)
    for world in range(WORLDS):
        uniform = draws.random(SIZE)
        lost = np.cumsum(uniform < (discordance + loss) / 2)[BLOCKS - 1]
        gained = np.cumsum(uniform < discordance)[BLOCKS - 1] - lost
        wealth = margin_log_e_value(lost, gained, BLOCKS, margin) if margin else loss_log_e_value(lost, gained)
        first = np.flatnonzero(wealth >= -np.log(alpha))
        ends[world] = BLOCKS[first[0]] if len(first) else np.inf
    return ends


def test_a_loss_of_one_point_is_found_after_6000_images() -> None:
    ends = stops(discordance=0.05, loss=0.01, alpha=0.01)
    assert np.median(ends) <= 6000
    assert np.mean(np.isfinite(ends)) == 1
    assert np.median(stops(discordance=0.08, loss=0.05, alpha=0.01)) <= 500


def test_a_loss_below_one_point_is_shown_after_4500_images() -> None:
    assert np.median(stops(discordance=0.05, loss=0, alpha=0.05, margin=0.01)) <= 4500
    assert np.median(stops(discordance=0.01, loss=0, alpha=0.01, margin=0.01)) <= 2000


@pytest.mark.parametrize("discordance", [0.01, 0.05, 0.2])
def test_false_stops_are_no_more_than_alpha(discordance: float) -> None:
    error = 3 * np.sqrt(0.05 * 0.95 / WORLDS)
    assert np.isfinite(stops(discordance, 0, alpha=0.05)).mean() <= 0.05 + error
    assert np.isfinite(stops(discordance, 0.01, alpha=0.05, margin=0.01)).mean() <= 0.05 + error


def test_blocks_grow_and_end_with_all_images() -> None:
    assert [*block_sizes(1)] == [1]
    assert [*block_sizes(100)] == [100]
    assert (np.diff(BLOCKS) > 0).all()
    assert (BLOCKS[0], BLOCKS[-1], len(BLOCKS)) == (100, SIZE, 52)


def test_the_level_of_a_case_keeps_that_of_the_session() -> None:
    assert level_of_case(0.01, 1) == 0.01
    assert sum(level_of_case(0.01, 7) for _ in range(7)) == pytest.approx(0.005)
