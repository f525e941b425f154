"""Operating points are those of scikit-learn's ROC curve, and resamples those of repeated samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

from eyechart.statistics.operating_points import (
    sensitivity_at_specificity,
    specificity_at_sensitivity,
    threshold_at_sensitivity,
    threshold_at_specificity,
)

samples = st.lists(
    st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.9, -3.0]), st.booleans()), min_size=2, max_size=30
).filter(lambda pairs: len({kind for _, kind in pairs}) == 2)
levels = st.sampled_from([0.2, 0.5, 0.9, 0.95, 1.0])


@given(samples, levels)
def test_they_are_those_of_the_curve_of_scikit_learn(pairs: list[tuple[float, bool]], level: float) -> None:
    scores, positive = map(np.array, zip(*pairs, strict=True))
    alarms, hits, _ = roc_curve(positive, scores, drop_intermediate=False)
    assert sensitivity_at_specificity(scores, positive, level).value == pytest.approx(
        hits[1 - alarms >= level - 1e-9].max()
    )
    assert specificity_at_sensitivity(scores, positive, level).value == pytest.approx(
        (1 - alarms)[hits >= level - 1e-9].max()
    )


@given(samples, levels)
def test_thresholds_are_the_outermost_ones_of_the_curve_of_scikit_learn(
    pairs: list[tuple[float, bool]], level: float
) -> None:
    scores, positive = map(np.array, zip(*pairs, strict=True))
    alarms, hits, thresholds = roc_curve(positive, scores, drop_intermediate=False)
    for found, expected in (
        (threshold_at_specificity(scores, positive, level), thresholds[1 - alarms >= level - 1e-9].min()),
        (threshold_at_sensitivity(scores, positive, level), thresholds[hits >= level - 1e-9].max()),
    ):
        assert found == (expected if np.isfinite(expected) else np.nextafter(scores.max(), np.inf))


@given(samples, levels)
def test_a_threshold_has_the_operating_point_on_its_own_samples(pairs: list[tuple[float, bool]], level: float) -> None:
    scores, positive = map(np.array, zip(*pairs, strict=True))
    called = scores >= threshold_at_specificity(scores, positive, level)
    assert called[positive].mean() == pytest.approx(sensitivity_at_specificity(scores, positive, level).value)
    called = scores >= threshold_at_sensitivity(scores, positive, level)
    assert (~called[~positive]).mean() == pytest.approx(specificity_at_sensitivity(scores, positive, level).value)


def test_no_threshold_is_found_without_both_classes_or_among_infinite_scores() -> None:
    for choose in (threshold_at_specificity, threshold_at_sensitivity):
        assert np.isnan(choose([0.9, 0.3], [1, 1], 0.9))
        assert choose([0.9, np.nan, 0.3, 0.5], [1, 1, 0, np.nan], 0.9) == 0.9
    assert np.isnan(threshold_at_specificity([np.inf, np.inf], [1, 0], 0.9))


@given(samples, levels, st.integers(0, 99))
def test_a_resample_has_the_value_of_its_samples(pairs: list[tuple[float, bool]], level: float, seed: int) -> None:
    scores, positive = map(np.array, zip(*pairs, strict=True))
    random = np.random.default_rng(seed)
    counts = np.bincount(random.integers(len(pairs), size=len(pairs)), minlength=len(pairs))
    for measure in (sensitivity_at_specificity, specificity_at_sensitivity):
        (found,) = measure(scores, positive, level).resample([counts])
        expected = measure(scores.repeat(counts), positive.repeat(counts), level).value
        assert found == pytest.approx(expected, nan_ok=True)


def test_samples_that_do_not_count_change_nothing_and_one_class_has_no_value() -> None:
    scores, positive = [0.9, np.nan, 0.3, 0.5], [1, 1, 0, np.nan]
    assert sensitivity_at_specificity(scores, positive, 0.9).value == 1
    assert np.isnan(sensitivity_at_specificity([0.9, 0.3], [1, 1], 0.9).value)
    assert np.isnan(specificity_at_sensitivity([], [], 0.9).value)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: sensitivity_at_specificity([0.1], [1, 0], 0.9), "positive"),
        (lambda: sensitivity_at_specificity([0.1], [2], 0.9), "positive"),
        (lambda: sensitivity_at_specificity([0.1], [1], 0), "specificity"),
        (lambda: specificity_at_sensitivity([0.1], [1], 1.5), "sensitivity"),
        (lambda: threshold_at_specificity([0.1], [1], 0), "specificity"),
        (lambda: threshold_at_sensitivity([0.1], [1, 0], 0.9), "positive"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], Any], parameter: str) -> None:
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of"):
        call()
