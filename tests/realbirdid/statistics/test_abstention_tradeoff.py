"""The abstention trade-off, UA/A and the harmonic mean against counting pairs, thresholds and resamples one by one."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from eyechart.realbirdid.statistics.abstention_tradeoff import (
    CRITERIA,
    abstention_curve,
    abstention_rate_at,
    harmonic_mean,
    harmonic_mean_interval,
    ua_a,
    uncertainty,
)
from eyechart.statistics.degenerate_intervals import share_interval
from eyechart.statistics.resampling import percentile_interval

few = st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.5, 1.0])  # so that ties abound
unsure = st.one_of(few, st.floats(0, 8))
images = st.lists(st.tuples(unsure, st.booleans()), min_size=1, max_size=25)
both = images.filter(lambda drawn: len({without for _, without in drawn}) == 2)
rows = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=25)


def columns(drawn):
    scores, without = zip(*drawn, strict=True)
    return np.array(scores, np.float64), np.array(without, bool)


def finite(scores):
    """The same order in numbers that scikit-learn takes."""
    return np.unique(scores, return_inverse=True)[1]


def pair_share(drawn):
    """Which of an unanswerable and an answerable image is less certain, pair by pair, ties a half."""
    kinds = [[score for score, without in drawn if without is kind] for kind in (True, False)]
    return np.mean([(a > b) + (a == b) / 2 for a in kinds[0] for b in kinds[1]])


def plain_points(drawn):
    """(answerable, unanswerable) shares abstained from at infinity and at each distinct score."""
    for threshold in (math.inf, *sorted({score for score, _ in drawn}, reverse=True)):
        gone = [without for score, without in drawn if score >= threshold]
        total = sum(without for _, without in drawn)
        yield gone.count(False) / (len(drawn) - total), gone.count(True) / total


@given(both)
def test_ua_a_is_the_share_of_pairs_in_order(drawn) -> None:
    assert ua_a(*columns(drawn)).value == pytest.approx(pair_share(drawn), abs=1e-12)


@given(both)
def test_ua_a_is_scikit_learns_auroc(drawn) -> None:
    scores, without = columns(drawn)
    assert ua_a(scores, without).value == pytest.approx(roc_auc_score(without, finite(scores)))


@given(both)
def test_the_tradeoff_is_a_plain_loop_over_thresholds(drawn) -> None:
    curve = abstention_curve(*columns(drawn))
    assert list(zip(curve.answerable, curve.unanswerable, strict=True)) == list(plain_points(drawn))


@given(both)
def test_the_tradeoff_is_scikit_learns_curve(drawn) -> None:
    scores, without = columns(drawn)
    x, y, _ = roc_curve(without, finite(scores), drop_intermediate=False)
    np.testing.assert_allclose(abstention_curve(scores, without)[1:], [x, y])


@given(both)
def test_the_tradeoff_rises_from_nothing_to_all(drawn) -> None:
    thresholds, x, y = abstention_curve(*columns(drawn))
    assert (np.diff(thresholds) < 0).all()
    assert (np.diff(x) >= 0).all()
    assert (np.diff(y) >= 0).all()
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)


@given(both)
def test_ua_a_is_the_area_under_the_tradeoff(drawn) -> None:
    _, x, y = abstention_curve(*columns(drawn))
    assert ua_a(*columns(drawn)).value == pytest.approx(np.trapezoid(y, x))


@given(both)
def test_only_the_order_of_uncertainties_counts(drawn) -> None:
    scores, without = columns(drawn)
    for monotone in (finite(scores), np.exp(finite(scores)), 3 * finite(scores) - 7):
        assert ua_a(monotone, without).value == ua_a(scores, without).value
        np.testing.assert_array_equal(abstention_curve(monotone, without)[1:], abstention_curve(scores, without)[1:])
        assert ua_a(monotone, without).interval(20) == ua_a(scores, without).interval(20)


@given(both, st.randoms(use_true_random=False))
def test_the_order_of_the_images_does_not_count(drawn, random) -> None:
    mixed = random.sample(drawn, len(drawn))
    assert ua_a(*columns(mixed)).value == ua_a(*columns(drawn)).value
    np.testing.assert_array_equal(abstention_curve(*columns(mixed)), abstention_curve(*columns(drawn)))


@given(both)
def test_the_opposite_score_has_the_opposite_area(drawn) -> None:
    scores, without = columns(drawn)
    assert ua_a(-finite(scores), without).value == pytest.approx(1 - ua_a(scores, without).value)
    assert ua_a(scores, ~without).value == pytest.approx(1 - ua_a(scores, without).value)


@given(both)
def test_no_order_is_better_than_all_unanswerable_first_or_worse_than_last(drawn) -> None:
    scores, without = columns(drawn)
    best, worst = (ua_a(np.where(without, side, 0), without).value for side in (1, -1))
    assert (worst, best) == (0, 1)
    assert worst <= ua_a(scores, without).value <= best


@given(both, st.floats(0, 1, exclude_min=True))
def test_a_share_is_reached_at_the_first_threshold_that_does(drawn, share) -> None:
    assert abstention_rate_at(*columns(drawn), share).value == next(x for x, y in plain_points(drawn) if y >= share)


@pytest.mark.parametrize("share", [1e-12, 0.001, 0.33])
def test_a_share_of_less_than_one_image_is_that_of_one(share) -> None:
    assert abstention_rate_at([0.9, 0.8, 0.7, 0.1], [False, True, True, True], share).value == 1
    assert abstention_rate_at([0.9, 0.8, 0.7, 0.1], [True, False, True, True], share).value == 0


@given(both, st.sampled_from([0.3, 0.95, 1]), st.integers(0, 9))
def test_a_shares_interval_is_a_loop_over_resampled_rows(drawn, share, seed) -> None:
    scores, without = columns(sorted(drawn, key=lambda image: -image[0]))
    random, value = np.random.default_rng(seed), abstention_rate_at(scores, without, share).value
    taken = [resampled_by_kind(without, random) for _ in range(30)]
    found = [abstention_rate_at(scores[rows], without[rows], share).value for rows in taken]
    low, high = share_interval(found, value, min(without.sum(), (~without).sum()), 0.9)
    ours = abstention_rate_at(scores, without, share).interval(30, seed, 0.9)
    assert ours == pytest.approx((min(low, value), max(high, value)))


def resampled_by_kind(without, random):
    """The rows of a resample, as many of either kind as there are."""
    return np.concatenate([random.choice(np.flatnonzero(without == kind), (without == kind).sum()) for kind in (0, 1)])


@pytest.mark.deep
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_a_shares_intervals_cover(share) -> None:
    random, truth = np.random.default_rng(4), math.erfc((NormalDist().inv_cdf(1 - share) + 1) / math.sqrt(2)) / 2
    without, found = np.arange(300) < 100, []
    for seed in range(100):
        low, high = abstention_rate_at(random.normal(size=300) + without, without, share).interval(200, seed)
        found.append(low <= truth <= high)
    assert np.mean(found) >= 0.88


@given(images)
def test_images_without_an_uncertainty_change_nothing(drawn) -> None:
    scores, without = columns([*drawn, (math.nan, True), (math.nan, False)])
    np.testing.assert_array_equal(abstention_curve(scores, without), abstention_curve(*columns(drawn)))
    np.testing.assert_array_equal(
        [ua_a(scores, without).value, *ua_a(scores, without).interval(9)],
        [ua_a(*columns(drawn)).value, *ua_a(*columns(drawn)).interval(9)],
    )


@given(both, st.integers(0, 3))
def test_constant_uncertainty_tells_nothing(drawn, score) -> None:
    _, without = columns(drawn)
    constant = np.full(len(without), float(score))
    assert ua_a(constant, without).value == 0.5
    np.testing.assert_array_equal(abstention_curve(constant, without)[1:], [[0, 1], [0, 1]])
    low, high = ua_a(constant, without).interval(9)
    assert 0 <= low < 0.5 < high <= 1


@given(st.lists(unsure, max_size=9), st.booleans())
def test_images_of_one_kind_have_no_area(scores, kind) -> None:
    without = np.full(len(scores), kind)
    curve, rate = abstention_curve(scores, without), abstention_rate_at(scores, without)
    assert np.isnan([ua_a(scores, without).value, *ua_a(scores, without).interval()]).all()
    assert np.isnan([rate.value, *rate.interval()]).all()
    assert np.isnan(curve.answerable if kind or not scores else curve.unanswerable).all()
    assert len(curve.thresholds) == 1 + len(set(scores))


@pytest.mark.deep
@given(both, st.integers(0, 9))
def test_the_interval_is_a_loop_over_resampled_rows(drawn, seed) -> None:
    scores, without = columns(sorted(drawn, key=lambda image: -image[0]))
    random = np.random.default_rng(seed)
    taken = [resampled_by_kind(without, random) for _ in range(30)]
    found = [ua_a(scores[rows], without[rows]).value for rows in taken]
    expected = share_interval(found, ua_a(scores, without).value, min(without.sum(), (~without).sum()), 0.9)
    low, high = expected
    value = ua_a(scores, without).value
    assert ua_a(scores, without).interval(30, seed, 0.9) == pytest.approx((min(low, value), max(high, value)))


@pytest.mark.deep
@pytest.mark.parametrize("strength", [0.7, 2.0])
def test_intervals_cover(strength) -> None:
    random, truth = np.random.default_rng(3), 0.5 * (1 + math.erf(strength / 2))
    without, found = np.arange(150) < 50, []
    for seed in range(150):
        low, high = ua_a(random.normal(size=150) + strength * without, without).interval(300, seed)
        found.append(low <= truth <= high)
    assert np.mean(found) >= 0.9


def test_perfect_separation_is_not_known_for_sure() -> None:
    low, high = ua_a([0.9] * 40 + [0.1] * 400, [True] * 40 + [False] * 400).interval(50)
    assert 0.9 < low < high == 1


def test_the_criteria_are_those_of_the_two_likeliest_and_the_entropy() -> None:
    found = {name: uncertainty(name, [0.5, math.nan], [0.25, math.nan], [1.0, math.nan])[0] for name in CRITERIA}
    assert found == {"max_probability": 0.5, "entropy": 1.0, "margin": 0.75}


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_a_certain_distribution_is_the_least_uncertain(parts) -> None:
    p = np.sort(np.array(parts) + 1e-9)[::-1] / (sum(parts) + 3e-9)
    entropy = -(p * np.log(p)).sum()
    for name in CRITERIA:
        assert uncertainty(name, [1.0], [0.0], [0.0])[0] == 0 <= uncertainty(name, [p[0]], [p[1]], [entropy])[0]


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_harmonic_mean_is_between_the_two_and_below_the_mean(a, b) -> None:
    found = harmonic_mean(a, b)
    assert found == harmonic_mean(b, a)
    assert min(a, b) - 1e-12 <= found <= (a + b) / 2 + 1e-12
    assert harmonic_mean(a, a) == pytest.approx(a)
    assert harmonic_mean(a, 0) == 0


@pytest.mark.parametrize("pair", [(math.nan, 0.5), (0.5, math.nan), (math.nan, 0)])
def test_the_harmonic_mean_of_no_number_is_none(pair) -> None:
    assert math.isnan(harmonic_mean(*pair))


@given(rows, rows, st.integers(0, 9))
def test_the_harmonic_means_interval_is_inside_its_bounds(a, b, seed) -> None:
    low, high = harmonic_mean_interval(a, b, 40, seed)
    assert 0 <= low <= high <= 1
    assert harmonic_mean_interval([*a, math.nan], [math.nan, *b], 40, seed) == (low, high)


def test_the_harmonic_means_interval_is_that_of_resampled_rows() -> None:
    random = np.random.default_rng(0)
    a, b = (random.random(300) < 0.3).astype(float), (random.random(80) < 0.7).astype(float)
    draws = [harmonic_mean(random.choice(a, 300).mean(), random.choice(b, 80).mean()) for _ in range(4000)]
    assert harmonic_mean_interval(a, b, 4000) == pytest.approx(percentile_interval(draws), abs=0.012)


def test_where_none_was_right_the_harmonic_mean_may_be_above_nothing() -> None:
    low, high = harmonic_mean_interval([0, 1] * 20, [0] * 40)
    other = share_interval([0.0, 0.0], 0.0, 40).high
    assert low == 0 < harmonic_mean(0.3, other) < high < harmonic_mean(0.8, other)


@pytest.mark.parametrize("nothing", [([], [1]), ([1], []), ([math.nan], [1])])
def test_no_image_of_a_kind_has_no_interval(nothing) -> None:
    assert np.isnan(harmonic_mean_interval(*nothing)).all()
    assert np.isnan(harmonic_mean_interval([1, 0], [1, 0], times=0)).all()
    assert np.isnan(ua_a([1, 2], [True, False]).interval(times=0)).all()
