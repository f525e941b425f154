"""Slices against the rest: against all permutations, the size where only churn differs, and the power."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eyechart.statistics.clusters import sign_flip_p
from eyechart.statistics.slice_contrasts import slice_contrasts

ALPHA, SURE = 0.05, 0.001


def by_loops(inside: Any, changes: Any) -> float:
    """The p-value of a slice over all permutations of the changes, in plain loops."""
    expected = sum(inside) * sum(changes) / len(changes)

    def distance(order: Any) -> float:
        return abs(sum(change for change, one in zip(order, inside, strict=True) if one) - expected)

    orders = [*permutations(changes)]
    return sum(distance(order) >= distance(changes) - 1e-9 for order in orders) / len(orders)


@given(st.lists(st.tuples(st.booleans(), st.integers(-1, 1)), min_size=1, max_size=7))
def test_the_p_value_is_the_larger_of_permutations_and_signs(samples: Any) -> None:
    inside, changes = zip(*samples, strict=True)
    p, least = (values[0] for values in slice_contrasts(np.subtract(inside, 1, dtype=np.int64), changes, 1))
    own = [change for one, change in samples if one]
    rest = [change for one, change in samples if not one]
    mean_of_rest = sum(rest) / max(1, len(rest))
    if not own or not rest or sum(own) * (sum(own) - len(own) * mean_of_rest) <= 0:
        assert p == 1
    elif not any(rest):
        assert p == pytest.approx(max(by_loops(inside, changes), sign_flip_p(own)))
        assert least == pytest.approx(min(1, 2.0 ** (1 - sum(map(abs, own)))))
    else:
        assert p >= by_loops(inside, changes) - 1e-9


def test_units_of_one_sample_are_samples_and_the_order_of_samples_does_not_matter() -> None:
    chance = np.random.default_rng(2)
    codes, changes, units = chance.integers(-1, 3, 300), chance.integers(-1, 2, 300), np.arange(300) // 3
    plain = slice_contrasts(codes, changes, 3)
    assert slice_contrasts(codes, changes, 3, 5 * np.arange(300)).p.tolist() == plain.p.tolist()
    order = chance.permutation(300)
    shuffled = slice_contrasts(codes[order], changes[order], 3, units[order])
    assert shuffled.p == pytest.approx(slice_contrasts(codes, changes, 3, units).p)


def test_copies_of_every_sample_in_its_unit_show_no_more() -> None:
    """Four photographs of one bird that all changed are one change, so that the p-value is not that of 40 changes."""
    codes, changes = np.arange(100) // 50, np.where(np.arange(100) < 10, -1, 0)
    once = slice_contrasts(codes, changes, 2).p[0]
    four = slice_contrasts(codes.repeat(4), changes.repeat(4), 2, np.arange(100).repeat(4)).p[0]
    assert once == pytest.approx(four, rel=0.5)
    assert slice_contrasts(codes.repeat(4), changes.repeat(4), 2).p[0] < once / 1000


def draw(chance: np.random.Generator, churn: Any, loss: Any, size: int) -> Any:
    """Changes of samples in units of some size, whose samples follow the unit or themselves with equal probability."""
    own, of_unit = chance.random(len(churn)), chance.random(len(churn) // size + 1).repeat(size)[: len(churn)]
    point = np.where((chance.random(len(churn)) < 0.5) & (size > 1), of_unit, own)
    return np.where(point < (churn + loss) / 2, -1, np.where(point < churn, 1, 0))


def rejected(inside: Any, churn: tuple[float, float], loss: tuple[float, float], size: int, times: int) -> int:
    """How often a slice is significant, by the churn and the loss of the rest and of the slice."""
    chance, count = np.random.default_rng(7), 0
    for _ in range(times):
        changes = draw(chance, np.take(churn, inside), np.take(loss, inside), size)
        count += slice_contrasts(inside - 1, changes, 1, np.arange(len(inside)) // size).p[0] <= ALPHA
    return count


NOTHING_DIFFERS = {
    "uniform loss": ((0.04, 0.04), (0.04, 0.04)),
    "more churn in the slice": ((0.02, 0.4), (0.0, 0.0)),
    "less churn in the slice": ((0.4, 0.02), (0.0, 0.0)),
    "more churn and a uniform loss": ((0.04, 0.4), (0.04, 0.04)),
}


def check_size(name: str, n: int, size: int, share: float, times: int) -> None:
    """Check that a slice with the same mean change as the rest is significant in at most alpha of draws."""
    inside = (np.arange(n) // size % round(1 / share) == 0).astype(int)
    count = rejected(inside, *NOTHING_DIFFERS[name], size, times)
    assert binomtest(count, times, ALPHA, alternative="greater").pvalue > SURE


@pytest.mark.parametrize("name", NOTHING_DIFFERS)
@pytest.mark.parametrize("size", [1, 4])
def test_a_slice_like_the_rest_is_significant_in_at_most_alpha_of_draws(name: str, size: int) -> None:
    check_size(name, 200, size, 0.25, 400)


@pytest.mark.deep
@pytest.mark.parametrize("name", NOTHING_DIFFERS)
@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("n", [60, 200, 1000])
@pytest.mark.parametrize("share", [0.1, 0.25])
def test_the_size_in_many_cells(name: str, size: int, n: int, share: float) -> None:
    check_size(name, n, size, share, 3000)


def test_a_quarter_that_lost_twelve_points_more_is_found() -> None:
    inside = (np.arange(1000) % 4 == 0).astype(int)
    assert rejected(inside, (0.06, 0.16), (0.0, 0.12), 1, 100) >= 95
