"""Accuracy by information gain against a loop over thresholds and images."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.realbirdid.statistics.hierarchy import node_probabilities, threshold_steps, tree_gt
from eyechart.realbirdid.statistics.information_gain import (
    information_gain,
    information_gain_area,
)
from eyechart.statistics.resampling import percentile_interval
from eyechart.statistics.thresholds import accuracy_coverage
from tests.realbirdid.statistics.trees import TREES, answers

WAYS = [{}, {"correct_only": True}, {"depth": True}, {"correct_only": True, "depth": True}]
ways = pytest.mark.parametrize("how", WAYS, ids=lambda how: "+".join(how) or "plain")


cases = st.sampled_from(list(TREES.values())).flatmap(lambda tree: st.tuples(st.just(tree), answers(tree)))


def above(tree, node):
    while node >= 0:
        yield int(node)
        node = tree.parents[node]


def plain_point(tree, leaves, truth, threshold, correct_only=False, depth=False):
    """Mean gain and accuracy at a threshold, image by image."""
    gained, right = [], []
    for (node,), true in zip(tree_gt(tree, leaves, [threshold]), truth, strict=True):
        right.append(node in above(tree, true))
        worth = tree.depth[node] / max(tree.depth) if depth else tree.information[node]
        gained.append(worth if right[-1] or not correct_only else 0)
    return np.mean(gained), np.mean(right)


def plain_area(points):
    """Trapezoids, as far as each reaches further to the right than all before."""
    furthest = area = 0.0
    for (_, one), (gain, other) in pairwise(points):
        area += max(0, gain - furthest) * (one + other) / 2
        furthest = max(furthest, gain)
    return area


def of(tree, leaves, truth, **how):
    return information_gain(tree, threshold_steps(tree, leaves), truth, **how)


@pytest.mark.deep
@ways
@given(cases)
def test_the_curve_is_a_plain_loop_over_thresholds(how, case) -> None:
    tree, (leaves, truth) = case
    found = of(tree, leaves, truth, **how)
    expected = [plain_point(tree, leaves, truth, threshold, **how) for threshold in found.thresholds]
    np.testing.assert_allclose(np.transpose([found.gain, found.accuracy]), expected, atol=1e-12)
    assert found.area == pytest.approx(plain_area(expected), abs=1e-12)


@given(cases)
def test_no_threshold_between_the_points_predicts_anything_else(case) -> None:
    tree, (leaves, truth) = case
    found = of(tree, leaves, truth)
    for threshold in np.unique(node_probabilities(tree, leaves)):
        index = np.flatnonzero(found.thresholds >= threshold)[-1]
        point = plain_point(tree, leaves, truth, threshold)
        assert point == pytest.approx((found.gain[index], found.accuracy[index]), abs=1e-12)


@ways
@given(cases)
def test_the_curve_starts_at_the_root_and_stays_within_its_square(how, case) -> None:
    tree, (leaves, truth) = case
    found = of(tree, leaves, truth, **how)
    assert (found.thresholds[0], found.gain[0], found.accuracy[0]) == (math.inf, 0, 1)
    assert (np.diff(found.thresholds) < 0).all()
    assert 0 <= found.gain.min() <= found.gain.max() <= 1 + 1e-12
    assert 0 <= found.accuracy.min() <= found.accuracy.max() <= 1
    assert 0 <= found.area <= 1


@given(cases)
def test_a_lower_threshold_never_gains_less(case) -> None:
    tree, (leaves, truth) = case
    assert (np.diff(of(tree, leaves, truth).gain) >= -1e-12).all()


@given(cases)
def test_the_lowest_threshold_is_plain_species_accuracy(case) -> None:
    tree, (leaves, truth) = case
    found = of(tree, leaves, truth)
    assert found.gain[-1] == pytest.approx(float(tree.n_leaves > 1))
    assert found.accuracy[-1] == pytest.approx(np.mean(leaves.argmax(axis=1) == truth))


@given(cases)
def test_what_is_wrong_gains_nothing_with_correct_only(case) -> None:
    tree, (leaves, truth) = case
    plain, kept = of(tree, leaves, truth), of(tree, leaves, truth, correct_only=True)
    assert (kept.gain <= plain.gain + 1e-12).all()
    assert (kept.gain <= kept.accuracy + 1e-12).all()
    np.testing.assert_array_equal(kept.accuracy, plain.accuracy)


@ways
@pytest.mark.parametrize("tree", [TREES["species and genera"], TREES["and families"], TREES["a star"]])
def test_a_perfect_species_model_has_1(how, tree) -> None:
    truth = np.arange(tree.n_leaves)
    assert of(tree, np.eye(tree.n_leaves), truth, **how).area == pytest.approx(1)
    unsure = 0.75 * np.eye(tree.n_leaves) + 0.25 / tree.n_leaves  # the best, though not sure, is as perfect
    assert of(tree, unsure, truth, **how).area == pytest.approx(1)


def test_always_the_right_genus_and_the_wrong_species_is_known() -> None:
    tree = TREES["species and genera"]
    worth = tree.information[tree.parents[1]]
    assert of(tree, [[0, 0.6, 0.4, 0, 0]], [2]).area == pytest.approx(worth + (1 - worth) / 2)


@given(answers(TREES["a star"]))
def test_a_star_is_accuracy_by_coverage(case) -> None:
    leaves, truth = case
    tree, right = TREES["a star"], leaves.argmax(axis=1) == truth
    found, flat = of(tree, leaves, truth), accuracy_coverage(leaves.max(axis=1), right)
    assert found.thresholds[1:].tolist() == flat.thresholds.tolist()
    np.testing.assert_allclose(found.gain[1:], flat.coverage)
    np.testing.assert_allclose(found.accuracy[1:], 1 - flat.coverage * (1 - flat.accuracy), atol=1e-12)


@pytest.mark.deep
@given(answers(TREES["a star"]))
def test_on_a_star_depth_is_information(case) -> None:
    assert of(TREES["a star"], *case, depth=True).area == pytest.approx(of(TREES["a star"], *case).area)


@pytest.mark.deep
@ways
@given(cases, st.randoms(use_true_random=False))
def test_the_order_and_number_of_the_images_do_not_count(how, case, random) -> None:
    tree, (leaves, truth) = case
    mixed = random.sample([*range(len(truth))] * 2, 2 * len(truth))
    one, other = of(tree, leaves, truth, **how), of(tree, leaves[mixed], truth[mixed], **how)
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@given(cases)
def test_images_without_a_truth_are_left_out(case) -> None:
    tree, (leaves, truth) = case
    more = np.concatenate([leaves, leaves[:1], np.full((1, tree.n_leaves), np.nan)])
    one, other = of(tree, leaves, truth), of(tree, more, [*truth, -1, -1])
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_constant_probabilities_have_as_many_points_as_there_are_levels() -> None:
    found = of(TREES["species and genera"], np.full((6, 5), 0.2), [0, 1, 2, 3, 4, 6])
    assert found.thresholds.tolist() == [math.inf, pytest.approx(0.4), 0.2]
    assert found.accuracy.tolist() == [1, pytest.approx(3 / 6), pytest.approx(1 / 6)]


def test_an_image_without_probabilities_stays_at_the_root() -> None:
    found = of(TREES["a star"], [[math.nan] * 4, [1, 0, 0, 0]], [0, 0])
    assert (found.gain.tolist(), found.area) == ([0, 0.5], 0.5)


@pytest.mark.parametrize("truth", [[], [-1]], ids=["no image", "none that counts"])
def test_nothing_is_no_number(truth) -> None:
    tree = TREES["a star"]
    steps = threshold_steps(tree, np.full((len(truth), 4), 0.25))
    found = information_gain(tree, steps, truth)
    assert [column.size for column in found[:3]] == [0, 0, 0]
    assert np.isnan([found.area, *information_gain_area(tree, steps, truth).interval()]).all()


@pytest.mark.deep
@ways
@given(cases)
def test_a_resample_is_scored_as_if_it_were_the_images(how, case) -> None:
    tree, (leaves, truth) = case
    random, n = np.random.default_rng(7), len(truth)
    samples = [random.integers(n, size=n) for _ in range(20)]
    areas = [of(tree, leaves[rows], truth[rows], **how).area for rows in samples]
    found = information_gain_area(tree, threshold_steps(tree, leaves), truth, **how).interval(20, 7)
    assert np.ptp(np.round(areas, 12)) == 0 or found == pytest.approx(percentile_interval(areas), abs=1e-9)


@ways
@given(cases)
@settings(max_examples=30)
def test_resamples_that_are_given_are_scored_in_the_same_way(how, case) -> None:
    tree, (leaves, truth) = case
    taken = [np.random.default_rng(seed).integers(len(truth), size=len(truth)) for seed in range(3)]
    samples = [np.bincount(rows, minlength=len(truth)) for rows in taken]
    found = information_gain_area(tree, threshold_steps(tree, leaves), truth, **how).resample(samples)
    assert found == pytest.approx([of(tree, leaves[rows], truth[rows], **how).area for rows in taken])


@ways
@given(cases)
def test_the_area_is_within_an_interval_that_is_no_point(how, case) -> None:
    tree, (leaves, truth) = case
    low, high = information_gain_area(tree, threshold_steps(tree, leaves), truth, **how).interval(50)
    assert 0 <= low < high <= 1
    if len({*map(tuple, leaves)}) == len({*truth}) == 1:
        assert low <= of(tree, leaves, truth, **how).area <= high


def test_intervals_cover() -> None:
    tree, random = TREES["species and genera"], np.random.default_rng(5)
    leaves = random.dirichlet(np.full(5, 0.7), 20_000)
    truth = (random.random(20_000)[:, None] > leaves.cumsum(axis=1)).sum(axis=1)
    steps, area = threshold_steps(tree, leaves), of(tree, leaves, truth).area
    chosen = [random.integers(20_000, size=100) for _ in range(200)]
    found = [information_gain_area(tree, steps.select(rows), truth[rows]).interval(200) for rows in chosen]
    assert 0.9 <= np.mean([low <= area <= high for low, high in found]) <= 0.99


@pytest.mark.parametrize("truth", [[5], [-2], [0.5], [0, 0], [[0]]], ids=str)
def test_a_truth_that_is_no_node_is_refused(truth) -> None:
    with pytest.raises(ValueError, match="The 'truth' parameter of information_gain must be"):
        of(TREES["a star"], [[0.25] * 4], truth)


@pytest.mark.parametrize(("name", "value"), [("level", 95), ("times", -1)])
def test_an_interval_that_is_none_is_refused(name, value) -> None:
    steps = threshold_steps(TREES["a star"], [[0.25] * 4])
    with pytest.raises(ValueError, match=f"The '{name}' parameter of"):
        information_gain_area(TREES["a star"], steps, [0]).interval(**{name: value})
