"""Levels, shares and other probabilities that functions of the metrics refuse."""

from typing import Any

import pytest

from eyechart.oodbench.statistics import finite_population
from eyechart.realbirdid.statistics import abstention_tradeoff
from eyechart.statistics import calibration, intervals, measures, resampling, significance, thresholds

BOTH = [True, False]
LEVELS = [
    ("wilson", lambda level: intervals.wilson(1, 2, level)),
    ("effective_wilson", lambda level: intervals.effective_wilson(0.5, 2, level)),
    ("clopper_pearson", lambda level: intervals.clopper_pearson(1, 2, level)),
    ("stratified_interval", lambda level: intervals.stratified_interval([1, 0], [0, 0], level)),
    ("fisher_interval", lambda level: intervals.fisher_interval(0.5, 9, level=level)),
    ("t_interval", lambda level: intervals.t_interval([1, 2], level)),
    ("bootstrap_change", lambda level: significance.bootstrap_change(0, 1, [0, 1], [1, 1], level=level)),
    ("interval_change", lambda level: significance.interval_change(0, (0, 1), 1, (0, 1), level)),
    ("Measure.interval", lambda level: abstention_tradeoff.ua_a([1, 2], BOTH).interval(level=level)),
    ("paired_change", lambda level: measures.paired_change(*[abstention_tradeoff.ua_a([1, 2], BOTH)] * 2, level=level)),
    ("harmonic_mean_interval", lambda level: abstention_tradeoff.harmonic_mean_interval([1, 0], [1, 0], level=level)),
    ("brier_interval", lambda level: calibration.brier_interval([1, 0.5], [1, 0], level)),
    ("calibration_error_interval", lambda level: calibration.calibration_error_interval([1], [1], level=level)),
    (
        "accuracy_coverage_area_interval",
        lambda level: thresholds.accuracy_coverage_area_interval([1], [1], level=level),
    ),
    ("percentile_interval", lambda level: resampling.percentile_interval([1, 2], level)),
    ("population_share", lambda level: finite_population.population_share(1, 50, level)),
]


@pytest.mark.parametrize("level", [-0.5, 0, 1, 1.5])
def test_a_level_is_above_0_and_below_1(subtests: Any, level) -> None:
    for function, call in LEVELS:
        sentence = rf"^The 'level' parameter of {function} must be .*\. Got {level} instead\.$"
        with subtests.test(function), pytest.raises(ValueError, match=sentence):
            call(level)


@pytest.mark.parametrize(
    ("parameter", "arguments"),
    [
        ("alpha", (9, 0.5, 0)),
        ("alpha", (9, 0.5, 1)),
        ("power", (9, 0.5, 0.25, 0.25)),
        ("power", (9, 0.5, 0.25, 1)),
        ("discordance", (9, -0.5, 0.25)),
        ("discordance", (9, 1.5, 0.25)),
        ("n", (-1, 0.5, 0.25)),
    ],
)
def test_the_detectable_loss_is_of_probabilities_within_their_bounds(parameter, arguments) -> None:
    with pytest.raises(ValueError, match=rf"^The '{parameter}' parameter of minimum_detectable_loss must be "):
        significance.minimum_detectable_loss(*arguments)


@pytest.mark.parametrize("share", [-0.5, 0, 1.5])
def test_the_share_abstained_from_is_above_0_and_at_most_1(share) -> None:
    with pytest.raises(ValueError, match=r"^The 'share' parameter of abstention_rate_at must be "):
        abstention_tradeoff.abstention_rate_at([1, 2], BOTH, share)
