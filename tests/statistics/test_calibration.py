"""Calibration against its plainest spelling, and intervals that cover what they promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import foldnorm, norm

from eyechart.statistics.calibration import (
    brier_interval,
    brier_score,
    calibration_error,
    calibration_error_interval,
    reliability,
)
from eyechart.statistics.intervals import wilson

BINNING = pytest.mark.parametrize("binning", ["width", "mass"])
INTERVALS = pytest.mark.parametrize(
    ("interval", "value"), [(calibration_error_interval, calibration_error), (brier_interval, brier_score)]
)
# Multiples of 1/8 lie on the edges of 4 and 8 bins, and abound in ties.
sure = st.one_of(st.floats(0, 1), st.integers(0, 8).map(lambda eighths: eighths / 8))
answers = st.lists(st.tuples(sure, st.sampled_from([0.0, 1.0])), min_size=1, max_size=40)
counts = st.integers(1, 20)
levels = st.sampled_from([0.5, 0.8, 0.95, 0.99])


def columns(drawn):
    confidence, correct = zip(*drawn, strict=True)
    return np.array(confidence, np.float64), np.array(correct, np.float64)


def plain_bins(drawn, edges):
    """The answers in each bin: those above its lower edge, not above its upper; the first bin takes what is left."""
    bins = [[] for _ in edges[1:]]
    for answer in drawn:
        bins[max(index for index in range(len(bins)) if index == 0 or answer[0] > edges[index])].append(answer)
    return bins


def plain_error(bins):
    gaps = [abs(sum(said for said, _ in each) - sum(right for _, right in each)) for each in bins]
    return sum(gaps) / sum(map(len, bins))


@BINNING
@given(drawn=answers, bins=counts)
def test_the_table_is_a_plain_loop_over_bins(binning, drawn, bins) -> None:
    table = reliability(*columns(drawn), bins, binning)
    plain = plain_bins(drawn, [*table.low, table.high[-1]])
    assert table.counts.tolist() == [len(each) for each in plain]
    for index, each in enumerate(plain):
        means = np.mean(each, axis=0) if each else [math.nan, math.nan]
        assert [table.confidence[index], table.accuracy[index]] == pytest.approx(means, nan_ok=True)
        interval = wilson(sum(right for _, right in each), len(each))
        assert (table.ci_low[index], table.ci_high[index]) == pytest.approx(interval, nan_ok=True)


@BINNING
@given(drawn=answers, bins=counts)
def test_the_error_is_the_mean_gap_of_the_bins(binning, drawn, bins) -> None:
    table = reliability(*columns(drawn), bins, binning)
    expected = plain_error(plain_bins(drawn, [*table.low, table.high[-1]]))
    assert calibration_error(*columns(drawn), bins, binning) == pytest.approx(expected)


@given(answers, counts)
def test_bins_of_equal_width_cut_the_unit(drawn, bins) -> None:
    table = reliability(*columns(drawn), bins)
    assert (table.low[0], table.high[-1]) == (0, 1)
    np.testing.assert_allclose(table.high - table.low, 1 / bins)


@given(st.integers(1, 10), st.integers(1, 12), st.randoms(use_true_random=False))
def test_bins_of_equal_mass_hold_equally_many_where_none_are_equal(bins, each, random) -> None:
    values = random.sample(range(10**6), bins * each)
    table = reliability(np.array(values) / 10**6, np.zeros(len(values)), bins, "mass")
    assert np.ptp(table.counts) <= 2
    assert (table.low[0], table.high[-1]) == (min(values) / 10**6, max(values) / 10**6)


@BINNING
@given(drawn=answers, bins=counts)
def test_unscored_images_change_nothing(binning, drawn, bins) -> None:
    confidence, correct = columns([*drawn, (math.nan, 1.0), (0.5, math.nan), (math.nan, math.nan)])
    assert calibration_error(confidence, correct, bins, binning) == calibration_error(*columns(drawn), bins, binning)
    assert brier_score(confidence, correct) == brier_score(*columns(drawn))
    assert calibration_error_interval(confidence, correct, bins, binning) == calibration_error_interval(
        *columns(drawn), bins, binning
    )


@given(answers)
def test_one_bin_compares_the_means(drawn) -> None:
    confidence, correct = columns(drawn)
    assert calibration_error(confidence, correct, 1) == pytest.approx(abs(confidence.mean() - correct.mean()))


@given(answers, st.integers(1, 6), st.integers(2, 4))
def test_finer_bins_never_show_less(drawn, bins, times) -> None:
    coarse, fine = (calibration_error(*columns(drawn), number) for number in (bins, bins * times))
    assert coarse <= fine + 1e-12


@given(answers)
def test_the_brier_score_is_the_mean_squared_difference(drawn) -> None:
    assert brier_score(*columns(drawn)) == pytest.approx(sum((c - y) ** 2 for c, y in drawn) / len(drawn))


@given(answers)
def test_one_who_is_sure_is_scored_by_the_share_of_errors(drawn) -> None:
    _, correct = columns(drawn)
    certain = np.ones_like(correct)
    assert brier_score(certain, correct) == calibration_error(certain, correct) == pytest.approx(1 - correct.mean())


@INTERVALS
@given(drawn=answers, level=levels)
def test_the_value_is_within_its_interval(interval, value, drawn, level) -> None:
    low, high = interval(*columns(drawn), level=level)
    assert 0 <= low <= value(*columns(drawn)) + 1e-12
    assert value(*columns(drawn)) - 1e-12 <= high <= 1
    assert low <= high


@INTERVALS
@given(drawn=answers)
def test_intervals_of_higher_levels_contain_the_lower(interval, value, drawn) -> None:
    narrow, wide = (interval(*columns(drawn), level=level) for level in (0.8, 0.99))
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


def truth_of_error(confidence, chance):
    """What the error would be with answers without number, under the same confidences."""
    index = np.ceil(confidence * 15).clip(1) - 1
    return sum(abs((confidence - chance)[index == each].sum()) for each in range(15)) / len(confidence)


def truth_of_brier(confidence, chance):
    return np.mean(chance * (1 - confidence) ** 2 + (1 - chance) * confidence**2)


TRUTHS = pytest.mark.parametrize(
    ("interval", "truth"), [(calibration_error_interval, truth_of_error), (brier_interval, truth_of_brier)]
)
CHANCES = {
    "calibrated": lambda sure: sure,
    "too sure": lambda sure: sure**2,
    "a little too sure": lambda sure: (sure - 0.05).clip(0),
    "in part": lambda sure: np.where(sure > 0.5, sure - 0.15, sure),
    "almost always right": lambda sure: np.full_like(sure, 0.97),
}


@pytest.mark.deep
@TRUTHS
@pytest.mark.parametrize("chance", CHANCES.values(), ids=CHANCES)
@pytest.mark.parametrize("n", [30, 300])
def test_intervals_cover(interval, truth, chance, n) -> None:
    random = np.random.default_rng(n)
    population = random.beta(3, 1, 200_000)
    value, found = truth(population, chance(population)), []
    for _ in range(300):
        confidence = random.beta(3, 1, n)
        low, high = interval(confidence, (random.random(n) < chance(confidence)).astype(float))
        found.append(low <= value <= high)
    assert np.mean(found) >= 0.915


def test_the_interval_of_a_large_error_is_not_wider_than_the_normal_one() -> None:
    confidence, correct = np.full(1000, 0.9), np.arange(1000) % 2
    low, high = calibration_error_interval(confidence, correct)
    assert (low, high) == pytest.approx(
        (0.4 - 1.96 * math.sqrt(0.25 / 1000), 0.4 + 1.96 * math.sqrt(0.25 / 1000)), 1e-3
    )


@pytest.mark.parametrize("right", [60, 58, 56, 50])
def test_the_lower_end_is_less_by_what_chance_adds_to_the_gaps(right) -> None:
    """Of 16 bins of 100 answers, each with `right` right ones; two standard errors of the gap are taken as chance."""
    confidence = np.repeat((np.arange(16) + 0.9) / 16, 100)
    outcome = np.tile(np.arange(100) < right, 16).astype(float)
    sure = np.unique(confidence)
    gaps = abs(sure - right / 100) / 16
    share = (right + norm.ppf(0.975) ** 2 / 2) / (100 + norm.ppf(0.975) ** 2)
    error = math.sqrt(share * (1 - share) / 100) / 16  # of each gap
    means = np.maximum(gaps / error - 2, 0)
    added = error * sum(foldnorm.mean(mean) - mean for mean in means)
    half = norm.ppf(0.975) * math.sqrt(16 * error**2 + (16 * (gaps**2).sum() - gaps.sum() ** 2) / 1600)
    low, high = calibration_error_interval(confidence, outcome, bins=16)
    assert (low, high) == pytest.approx((gaps.sum() - added - half, gaps.sum() + half))


NOTHING = [([], []), ([0.5], [math.nan]), ([math.nan], [1])]


@pytest.mark.parametrize("nothing", NOTHING)
@BINNING
def test_nothing_scored_is_no_number(nothing, binning) -> None:
    found = [calibration_error(*nothing, 3, binning), *calibration_error_interval(*nothing, 3, binning)]
    assert np.isnan([*found, brier_score(*nothing), *brier_interval(*nothing)]).all()
    table = reliability(*nothing, 3, binning)
    assert table.counts.tolist() == [0, 0, 0]
    edges = np.arange(4) / 3 if binning == "width" else np.full(4, math.nan)
    np.testing.assert_allclose([table.low, table.high], [edges[:-1], edges[1:]])
