"""Shares of clustered samples: plain where nothing is shared, of the clusters where all is, and as sure as they say."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from eyechart.statistics.clusters import (
    clustered_change_interval,
    clustered_mcnemar,
    clustered_stratified_interval,
    clustered_t_interval,
    clustered_wilson,
    effective_sample_size,
)
from eyechart.statistics.intervals import stratified_interval, t_interval, wilson
from eyechart.statistics.paired import change_interval
from eyechart.statistics.significance import mcnemar

WORLDS = 800
outcome = st.sampled_from([0.0, 1.0, float("nan")])
outcomes = st.lists(outcome, max_size=12)
pairs = st.lists(st.tuples(outcome, outcome, st.integers(0, 3)), min_size=1, max_size=12)


def columns(rows):
    before, after, clusters = zip(*rows, strict=True)
    return np.array(before), np.array(after), np.array(clusters)


@given(st.lists(st.tuples(outcome, outcome), max_size=12))
def test_samples_alone_in_their_clusters_are_plain(rows) -> None:
    before, after = (np.array([row[side] for row in rows]) for side in range(2))
    alone = np.arange(len(rows))[::-1] * 3
    known = before[~np.isnan(before)]
    np.testing.assert_array_equal(clustered_wilson(before, alone), wilson(known.sum(), len(known)))
    np.testing.assert_array_equal(clustered_mcnemar(before, after, alone), mcnemar(before, after))
    np.testing.assert_array_equal(clustered_change_interval(before, after, alone), change_interval(before, after))


@given(st.lists(st.tuples(outcome, st.integers(-1, 2)), max_size=9))
def test_images_alone_in_their_clusters_have_the_plain_interval_of_mean_recall(rows) -> None:
    correct, classes = (np.array([row[side] for row in rows]) for side in range(2))
    found = clustered_stratified_interval(correct, classes.astype(int), np.arange(len(rows)))
    np.testing.assert_array_equal(found, stratified_interval(correct, classes.astype(int)))


@pytest.mark.deep
@given(
    st.lists(st.tuples(outcome, st.integers(-1, 2), st.integers(0, 3)), max_size=9),
    st.permutations(range(3)),
)
def test_the_names_of_classes_do_not_count_for_mean_recall(rows, names) -> None:
    correct, classes, clusters = (np.array([row[side] for row in rows]) for side in range(3))
    classes, clusters = classes.astype(int), clusters.astype(int)
    renamed = np.where(classes >= 0, np.array([*names, -1])[classes], -1)
    found, same = (clustered_stratified_interval(correct, each, clusters) for each in (classes, renamed))
    assert found == pytest.approx(same, nan_ok=True)


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=12), st.integers(2, 5))
def test_samples_that_repeat_their_cluster_say_no_more_than_it(values, copies) -> None:
    rows, clusters = np.repeat(values, copies), np.repeat(np.arange(len(values)), copies)
    assert effective_sample_size(rows, clusters) == pytest.approx(len(values))
    assert clustered_wilson(rows, clusters) == pytest.approx(wilson(sum(values), len(values)))


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=12), st.integers(1, 4))
def test_students_interval_of_values_that_repeat_their_cluster_is_that_of_the_clusters(values, copies) -> None:
    clusters = np.repeat(np.arange(len(values)), copies)
    found = clustered_t_interval(np.repeat(values, copies), clusters)
    assert found == pytest.approx(t_interval(values), abs=1e-9)


def test_students_interval_of_clustered_values_is_covered_as_often_as_it_says() -> None:
    random, covered, plainly = np.random.default_rng(3), 0, 0
    clusters = np.repeat(np.arange(40), 3)
    for _ in range(2000):
        values = random.normal(0, 1, 40)[clusters] + random.normal(0, 0.5, 120)
        low, high = clustered_t_interval(values, clusters)
        covered += low <= 0 <= high
        low, high = t_interval(values)
        plainly += low <= 0 <= high
    assert abs(covered / 2000 - 0.95) <= 0.015
    assert plainly / 2000 < 0.8


@given(pairs)
def test_the_effective_number_lies_between_clusters_and_samples(rows) -> None:
    values, _, clusters = columns(rows)
    known = ~np.isnan(values)
    found = effective_sample_size(values, clusters)
    if not known.any():
        assert np.isnan(found)
        return
    sizes = np.bincount(clusters[known])
    assert known.sum() ** 2 / (sizes**2).sum() - 1e-9 <= found <= known.sum() + 1e-9
    low, high = clustered_wilson(values, clusters)
    plain = wilson(values[known].sum(), known.sum())
    assert low <= plain.low + 1e-12
    assert plain.high <= high + 1e-12


@given(pairs)
def test_the_p_value_is_that_of_all_signs(rows) -> None:
    before, after, clusters = columns(rows)
    found = clustered_mcnemar(before, after, clusters)
    moved = np.nan_to_num(after - before)
    changes = [moved[clusters == each].sum() for each in range(4)]
    if not found.n:
        assert np.isnan(found.p)
        return
    every = [abs(np.dot(signs, changes)) >= abs(sum(changes)) for signs in product((-1, 1), repeat=4)]
    assert found.p == pytest.approx(np.mean(every))
    assert found[:3] == mcnemar(before, after)[:3]


@given(pairs)
def test_turning_the_runs_round_turns_the_change_round(rows) -> None:
    before, after, clusters = columns(rows)
    low, high = clustered_change_interval(before, after, clusters)
    assert clustered_change_interval(after, before, clusters) == pytest.approx((-high, -low), nan_ok=True)
    p, turned = (clustered_mcnemar(*sides, clusters).p for sides in ((before, after), (after, before)))
    assert turned == pytest.approx(p, nan_ok=True)


def test_many_clusters_of_many_sizes_are_tested_exactly() -> None:
    """Against the normal distribution, which the sum of so many signs is near to."""
    random = np.random.default_rng(3)
    clusters = np.repeat(np.arange(20_000), random.integers(1, 9, 20_000))
    before, after = (random.integers(0, 2, len(clusters)).astype(float) for _ in range(2))
    changes = np.bincount(clusters, after - before)
    z = abs(changes.sum()) / np.sqrt((changes**2).sum())
    assert clustered_mcnemar(before, after, clusters).p == pytest.approx(2 * norm.sf(z), rel=0.02)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 3)), min_size=2, max_size=20))
def test_the_effective_number_is_by_the_variances_and_by_how_well_they_are_known(rows) -> None:
    values, clusters = (np.array([row[side] for row in rows]) for side in range(2))
    apart = values - values.mean()
    sums = [apart[clusters == each].sum() for each in {*clusters.tolist()}]
    sizes = [(clusters == each).sum() for each in {*clusters.tolist()}]
    alike = len(values) ** 2 / sum(size**2 for size in sizes)  # what it is where samples of a cluster are all alike
    if len(sums) == len(values) or np.ptp(values) == 0 or np.abs(sums).max() < 1e-9:
        expected = alike
    else:
        squares = [sum(value**2 for value in each) for each in (sums, apart)]
        freedoms = [sum(value**2 for value in each) ** 2 / sum(value**4 for value in each) for each in (sums, apart)]
        quantiles = [t.ppf(0.975, freedom) for freedom in freedoms]
        expected = len(values) / max(1, squares[0] / squares[1] * (quantiles[0] / quantiles[1]) ** 2)
    assert effective_sample_size(values, clusters) == pytest.approx(max(alike, expected))


def chances(random, count, mean, deviation):
    return 1 / (1 + np.exp(-mean - deviation * random.normal(size=count)))


@pytest.mark.deep
@pytest.mark.parametrize(("images", "mean", "deviation"), [(54, 1, 1), (54, 5, 3), (100, 4, 2.5)])  # 0.70, 0.92, 0.90
def test_repeats_of_images_are_covered_as_often_as_the_interval_says(images, mean, deviation) -> None:
    """31 repeats of some images, most of which are nearly always right."""
    random, covered = np.random.default_rng(1), 0
    truth, clusters = chances(random, 400_000, mean, deviation).mean(), np.repeat(np.arange(images), 31)
    for _ in range(WORLDS):
        correct = random.random(images * 31) < np.repeat(chances(random, images, mean, deviation), 31)
        low, high = clustered_wilson(correct.astype(float), clusters)
        covered += low <= truth <= high
    assert 0.93 <= covered / WORLDS <= 0.985


@pytest.mark.parametrize(("mean", "deviation"), [(0, 1.5), (1.5, 1.5), (3, 1.5), (4, 0.5)])  # 0.50, 0.75, 0.90, 0.98
def test_clusters_of_several_sizes_are_covered_as_often_as_the_interval_says(mean, deviation) -> None:
    random, covered = np.random.default_rng(2), 0
    truth = chances(random, 400_000, mean, deviation).mean()
    for _ in range(WORLDS):
        clusters = np.repeat(np.arange(60), 1 + random.poisson(1.5, 60))
        correct = random.random(len(clusters)) < chances(random, 60, mean, deviation)[clusters]
        low, high = clustered_wilson(correct.astype(float), clusters)
        covered += low <= truth <= high
    assert 0.93 <= covered / WORLDS <= 0.975


@pytest.mark.deep
@pytest.mark.parametrize("per", [1, 3])
def test_the_test_of_a_change_holds_its_size_and_the_interval_its_level(per) -> None:
    """Two runs that differ by chance alone, of the same model: a cluster changes as a whole more often than not."""
    random, rejected, covered = np.random.default_rng(4), 0, 0
    for _ in range(WORLDS):
        clusters = np.repeat(np.arange(120), 1 + random.poisson(per - 1, 120))
        effect = random.normal(0.5, 1.5, (2, 120))[:, clusters]
        before, after = (random.random(effect.shape) < 1 / (1 + np.exp(-effect))).astype(float)
        rejected += clustered_mcnemar(before, after, clusters).p <= 0.05
        low, high = clustered_change_interval(before, after, clusters)
        covered += low <= 0 <= high
    assert rejected / WORLDS <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / WORLDS)
    assert 0.93 <= covered / WORLDS <= 0.98
