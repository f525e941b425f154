"""Numbers of birds: shares, harmonic means, and none of nobody."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eyechart.realbirdid.metrics import shares
from eyechart.realbirdid.metrics.shares import estimate
from eyechart.results.records import Metric
from eyechart.statistics.intervals import Interval

SIDES = np.array([1, 0, 1, math.nan]), np.array([0, 1, math.nan, math.nan, 1, 0])
NOBODY = np.array([math.nan, math.nan])


def harmonic(one: Any, other: Any, seed: int) -> Metric:
    """The harmonic mean of two sets of birds, each of an observation of its own."""
    right = np.concatenate([one, other])
    answerable, clusters = np.arange(len(right)) < len(one), np.arange(len(right))
    seen = SimpleNamespace(answerable=answerable, clusters=clusters)
    return shares.harmonic_mean_estimate("hm", "range", right, seen, seed).metric


def refused() -> Any:
    raise AssertionError("nobody was asked")


def test_a_number_of_nobody_is_none_and_not_worked_out() -> None:
    found = estimate("ig", "range", "answerable", np.zeros(0, np.int64), refused, "bootstrap").metric
    assert (found.value, found.ci, found.n, found.ci_method) == (None, None, 0, "bootstrap")


def test_a_number_is_plain() -> None:
    found = estimate(
        "ig",
        "range",
        "answerable",
        np.array([4, 7, 4]),
        lambda: (np.float64(0.5), Interval(np.float64(0.25), np.float64(1))),
        "bootstrap",
    ).metric
    assert (found.name, found.labels, found.subset_text, found.n, found.n_clusters) == (
        "ig",
        "range",
        "answerable",
        3,
        2,
    )
    assert (found.value, found.ci) == (0.5, (0.25, 1.0))
    assert {type(found.value), *map(type, found.ci or ())} == {float}


def test_a_harmonic_mean_is_of_both_sides_answers() -> None:
    found = harmonic(*SIDES, 0)
    assert (found.value, found.n, found.subset_text) == (pytest.approx(2 / (3 / 2 + 2)), 7, "all")
    assert found.ci is not None
    assert found.ci[0] < 0.5 < found.ci[1]


@pytest.mark.parametrize("sides", [(SIDES[0], NOBODY), (NOBODY, SIDES[1]), (NOBODY, NOBODY)])
def test_a_harmonic_mean_needs_both_sides(sides: Any) -> None:
    found = harmonic(*sides, 0)
    assert (found.value, found.ci, found.n) == (None, None, 0)


def test_a_harmonic_mean_hangs_on_the_seed_alone() -> None:
    many = np.arange(40) % 3 == 0, np.arange(50) % 7 == 0
    sides = [side.astype(np.float64) for side in many]
    first, again, other = (harmonic(*sides, seed).ci for seed in (1, 1, 2))
    assert first == again != other
