"""No value, end of an interval or loss of a metric is outside of what the metric can be."""

from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.results.estimates import Estimate, score_estimates
from eyechart.results.metric_definitions import SHARE, largest_change, metric_definitions, range_of
from eyechart.statistics.intervals import Interval, wilson
from eyechart.statistics.least_probability import LEAST


@pytest.mark.parametrize("name", ["aurc", "auc_balanced", "auc", "acc1", "ece", "of_a_user"])
def test_rounding_is_removed(name: str) -> None:
    estimate = Estimate(name=name, value=-1e-17, n=4, interval=Interval(-2.2e-16, 1.0000000000000007))
    assert (estimate.value, estimate.interval) == (0.0, Interval(0.0, 1.0))
    estimate = Estimate(name=name, value=1 + 2e-16, n=4, interval=Interval(0.5, 1 + 1e-12))
    assert (estimate.value, estimate.interval) == (1.0, Interval(0.5, 1.0))


def test_the_ends_of_students_intervals_are_in_the_range_of_the_scores() -> None:
    for scores in (np.log([0.99, 0.2]), np.log([LEAST, 0.9]), np.zeros(3)):
        for estimate in score_estimates("ImGT", scores):
            least, most = range_of(estimate.name)
            assert estimate.interval is not None
            assert estimate.value is not None
            assert least <= estimate.interval.low <= estimate.value <= estimate.interval.high <= most


def test_epochs_of_a_rare_outcome_have_no_share_below_0() -> None:
    estimate = Estimate(name="acc1", value=0.01, n=9, epochs_interval=Interval(-0.02, 0.04))
    assert estimate.epochs_interval == Interval(0.0, 0.04)


SHARES = [definition.name for definition in metric_definitions().values() if definition.range == SHARE]


@given(st.sampled_from(SHARES), *[st.floats(-0.5, 1.5)] * 2, st.floats(0, 1))
def test_a_share_and_its_interval_are_from_0_to_1_and_the_share_is_inside(
    name: str, low: float, high: float, value: float
) -> None:
    estimate: Any = Estimate(name=name, value=value, n=9, interval=Interval(min(low, high), max(low, high)))
    assert 0 <= estimate.interval.low <= estimate.value <= estimate.interval.high <= 1


@pytest.mark.parametrize(("name", "value", "low", "high"), [("f1", 85.0, 80.0, 90.0), ("length", 9.9, -1.0, 12.5)])
def test_numbers_on_another_scale_stay_as_they_are(name: str, value: float, low: float, high: float) -> None:
    assert Estimate(name=name, value=value, n=9, interval=Interval(low, high)).interval == Interval(low, high)


def test_log_scores_have_the_range_of_their_floor() -> None:
    assert range_of("log_score") == (log(LEAST), 0)
    assert largest_change("log_score", -1.0) == -log(LEAST)


def test_a_proportion_is_of_the_samples_that_have_an_outcome() -> None:
    outcomes = np.array([1, 0, 1, np.nan])
    found = Estimate.proportion("acc", outcomes, labels="range", subset="unanswerable", level="genus")
    assert (found.key, found.n, found.metric.n_clusters) == (("acc", "range", "unanswerable", "genus", ""), 3, 3)
    assert (found.value, found.interval, found.method) == (2 / 3, wilson(2, 3), "wilson")
    assert found.correct is outcomes
    assert Estimate.proportion("acc", outcomes, compared=False).correct is None


def test_a_proportion_of_clusters_has_the_interval_of_their_number() -> None:
    found = Estimate.proportion("acc", np.array([1.0, 1, 0, 0, np.nan]), np.array([0, 0, 1, 1, 2]))
    assert (found.n, found.n_clusters, found.method) == (4, 2, "clustered wilson")
    assert found.interval == pytest.approx(wilson(1, 2))


def test_a_proportion_of_nothing_is_none() -> None:
    found = Estimate.proportion("acc", np.array([np.nan, np.nan]), np.arange(2))
    assert (found.value, found.interval, found.n) == (None, None, 0)
