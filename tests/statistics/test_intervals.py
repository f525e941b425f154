"""Intervals contain the estimate, shrink with n, and cover what they promise."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from eyechart.statistics.intervals import (
    clopper_pearson,
    effective_wilson,
    fisher_interval,
    stratified_interval,
    t_interval,
    wilson,
)
from eyechart.statistics.recall import mean_per_class_recall

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
PROPORTIONS = pytest.mark.parametrize("interval", [wilson, clopper_pearson])
KINDS = pytest.mark.parametrize("kind", ["pearson", "spearman"])
levels = st.sampled_from(LEVELS)
correlations = st.floats(-1, 1)
trials = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
images = st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=30)
runs = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40)


def width(interval):
    return interval.high - interval.low


def columns(drawn):
    correct, classes = zip(*drawn, strict=True)
    return np.array(correct, np.float64), np.array(classes)


@PROPORTIONS
@given(trials, levels)
def test_a_proportion_is_within_its_interval(interval, trial, level) -> None:
    k, n = trial
    low, high = interval(k, n, level)
    assert 0 <= low <= k / n <= high <= 1
    assert low < high


@PROPORTIONS
@given(trials, st.integers(2, 9))
def test_a_proportion_of_more_trials_is_known_better(interval, trial, times) -> None:
    k, n = trial
    assert width(interval(times * k, times * n)) < width(interval(k, n))


@PROPORTIONS
@given(trials)
def test_intervals_of_higher_levels_contain_the_lower(interval, trial) -> None:
    nested = [interval(*trial, level) for level in LEVELS]
    assert sorted(nested, key=lambda each: each.low, reverse=True) == nested
    assert sorted(nested, key=lambda each: each.high) == nested


@PROPORTIONS
@given(trials)
def test_failures_mirror_successes(interval, trial) -> None:
    k, n = trial
    mirrored = interval(n - k, n)
    assert interval(k, n) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-12)


@given(st.floats(0, 1), st.floats(0.01, 1e6), levels)
def test_an_effective_number_need_not_be_whole(p, n, level) -> None:
    low, high = effective_wilson(p, n, level)
    assert 0 <= low <= p <= high <= 1
    assert effective_wilson(p, 2 * n, level).low >= low - 1e-12


@given(trials, levels)
def test_an_effective_number_that_is_whole_gives_wilsons_interval(trial, level) -> None:
    k, n = trial
    assert effective_wilson(k / n, n, level) == wilson(k, n, level)


@given(trials, levels)
def test_wilson_ends_are_where_the_score_test_tips(trial, level) -> None:
    k, n = trial
    for end in wilson(k, n, level):
        z = stats.norm.ppf((1 + level) / 2)
        assert abs(k / n - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n), abs=1e-9)


def coverage(interval, n, p):
    """The exact probability that the interval of a binomial draw contains p."""
    k = np.arange(n + 1)
    ends = np.array([interval(int(each), n) for each in k])
    return float(stats.binom.pmf(k, n, p)[(ends[:, 0] <= p) & (p <= ends[:, 1])].sum())


@pytest.mark.parametrize("n", [5, 20, 60])
def test_clopper_pearson_always_covers(n) -> None:
    assert min(coverage(clopper_pearson, n, p) for p in np.linspace(0, 1, 101)) >= 0.95


@pytest.mark.parametrize("n", [5, 20, 60])
def test_wilson_covers_on_average(n) -> None:
    found = [coverage(wilson, n, p) for p in np.linspace(0.05, 0.95, 91)]
    assert 0.945 <= np.mean(found) <= 0.97
    assert min(found) >= 0.88


@pytest.mark.parametrize(("k", "n", "low"), [(49, 50, 0.8935), (27, 50, 0.3932)])
def test_clopper_pearson_goldens(k, n, low) -> None:
    assert round(clopper_pearson(k, n).low, 4) == low


@given(images, levels)
def test_mean_recall_is_within_its_interval(drawn, level) -> None:
    low, high = stratified_interval(*columns(drawn), level)
    assert 0 <= low <= mean_per_class_recall(*columns(drawn), 5) <= high <= 1
    assert low < high


@given(images, st.integers(2, 5))
def test_mean_recall_of_more_images_is_known_better(drawn, times) -> None:
    assert width(stratified_interval(*columns(drawn * times))) < width(stratified_interval(*columns(drawn)))


@given(trials.filter(lambda trial: trial[1] <= 200))
def test_one_class_is_a_plain_proportion(trial) -> None:
    k, n = trial
    drawn = (np.arange(n) < k).astype(float), np.zeros(n, int)
    assert stratified_interval(*drawn) == pytest.approx(wilson(k, n), abs=1e-12)


def test_images_that_come_twice_with_a_design_effect_of_2_tell_as_much_as_once() -> None:
    once = stratified_interval([1] * 6, [0, 0, 0, 1, 1, 1])
    assert stratified_interval([1] * 12, [0, 0, 0, 1, 1, 1] * 2, effect=2.0) == pytest.approx(once)


@pytest.mark.parametrize("sizes", [[1] * 200, [5] * 40, [50] * 10, [2, 5, 20, 60] * 5], ids=["1", "5", "50", "mixed"])
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_mean_recall_intervals_cover(sizes, spread) -> None:
    random = np.random.default_rng(7)
    truth = np.clip(0.7 + spread * np.linspace(-1, 1, len(sizes)), 0, 1)
    classes = np.repeat(np.arange(len(sizes)), sizes)
    draws = [
        stratified_interval((random.random(len(classes)) < truth[classes]).astype(float), classes) for _ in range(1000)
    ]
    assert 0.925 <= np.mean([low <= truth.mean() <= high for low, high in draws]) <= 0.98


@KINDS
@given(r=correlations, n=st.integers(4, 10_000), level=levels)
def test_a_correlation_is_within_its_interval(kind, r, n, level) -> None:
    low, high = fisher_interval(r, n, kind, level)
    assert -1 <= low <= r <= high <= 1


@KINDS
@given(r=st.floats(-0.99, 0.99), n=st.integers(4, 1000))
def test_a_correlation_of_more_pairs_is_known_better(kind, r, n) -> None:
    assert width(fisher_interval(r, 2 * n, kind)) < width(fisher_interval(r, n, kind))


@given(correlations, st.integers(4, 1000))
def test_fisher_mirrors_the_sign_and_spearman_is_wider(r, n) -> None:
    assert fisher_interval(-r, n) == pytest.approx(tuple(-end for end in reversed(fisher_interval(r, n))))
    assert width(fisher_interval(r, n, "spearman")) >= width(fisher_interval(r, n))


@KINDS
@pytest.mark.parametrize("r", [-1, 1])
@pytest.mark.parametrize("n", [4, 50])
def test_the_interval_of_a_perfect_correlation_is_that_correlation_alone(kind, r, n) -> None:
    """It is the limit of the intervals of correlations towards it, and what scipy has."""
    assert fisher_interval(r, n, kind) == (r, r)
    assert fisher_interval(r * (1 - 1e-15), n, kind) == pytest.approx((r, r), abs=1e-6)


@given(st.integers(4, 50), st.integers(0, 99), levels)
def test_pearsons_interval_is_scipys(n, seed, level) -> None:
    found = stats.pearsonr(*np.random.default_rng(seed).standard_normal((2, n)))
    assert fisher_interval(float(found.statistic), n, level=level) == pytest.approx(
        tuple(found.confidence_interval(level))
    )


@given(st.floats(-0.99, 0.99), st.integers(4, 1000))
def test_spearmans_variance_is_bonett_and_wrights(r, n) -> None:
    spearman, pearson = (
        np.arctanh(fisher_interval(r, n, kind).high) - np.arctanh(r) for kind in ("spearman", "pearson")
    )
    assume(fisher_interval(r, n, "spearman").high < 0.999999)
    assert spearman / pearson == pytest.approx(math.sqrt(1 + r * r / 2), rel=1e-4)


@pytest.mark.parametrize("rho", [0.0, 0.6])
@KINDS
def test_correlation_intervals_cover(kind, rho) -> None:
    random = np.random.default_rng(3)
    x, noise = random.standard_normal((2, 2000, 30))
    y = rho * x + math.sqrt(1 - rho**2) * noise
    measure, truth = (stats.pearsonr, rho) if kind == "pearson" else (stats.spearmanr, 6 / math.pi * math.asin(rho / 2))
    ends = np.array([fisher_interval(float(measure(a, b)[0]), 30, kind) for a, b in zip(x[:600], y[:600], strict=True)])
    assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) >= 0.93


@given(runs)
def test_a_mean_is_the_middle_of_its_interval(values) -> None:
    low, high = t_interval(values)
    assert (low + high) / 2 == pytest.approx(np.mean(values), abs=1e-9)
    assert low <= high


@given(runs)
def test_the_t_interval_is_scipys(values) -> None:
    assume(np.std(values) > 1e-6)
    expected = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    assert t_interval(values) == pytest.approx(tuple(expected))


@given(runs)
def test_a_mean_of_more_runs_is_known_better(values) -> None:
    assume(np.std(values) > 1e-6)
    assert width(t_interval(values * 2)) < width(t_interval(values))


@pytest.mark.parametrize(("hits", "mean", "half"), [(1, 0.09, 0.18), (2, 0.18, 0.25)])
def test_t_goldens_of_36_images_in_31_runs(hits, mean, half) -> None:
    low, high = t_interval([100 / 36] * hits + [0] * (31 - hits))
    assert (round((low + high) / 2, 2), round((high - low) / 2, 2)) == (mean, half)


NOTHING = [
    wilson(0, 0),
    clopper_pearson(0, 0),
    stratified_interval([], []),
    stratified_interval([math.nan], [0]),
    stratified_interval([1], [-1]),
]
NOTHING += [
    fisher_interval(math.nan, 50),
    fisher_interval(0.3, 3),
    fisher_interval(1, 0),
    t_interval([]),
    t_interval([1]),
    t_interval([1, math.nan]),
]


@pytest.mark.parametrize("interval", NOTHING)
def test_nothing_seen_is_no_interval(interval) -> None:
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
