"""One threshold on a tree: against trying every threshold on every image."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.realbirdid.statistics.abstention_tradeoff import harmonic_mean
from eyechart.realbirdid.statistics.hierarchy import Tree, threshold_steps, tree_gt
from eyechart.realbirdid.statistics.stopping import best_threshold, correct_range, cross_fit_threshold

ANCESTORS = [[0, 1, 2, 3, 4], [0, 0, 1, 1, 2]]  # two genera of two species and one of one
TREE = Tree.from_levels(ANCESTORS)
grid = st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.75, 1.0])
spans = st.tuples(grid, grid).map(sorted)
images = st.lists(st.tuples(spans, st.booleans()), min_size=1, max_size=20)
both = images.filter(lambda drawn: len({without for _, without in drawn}) == 2)
weights = st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any), min_size=1, max_size=8)


def columns(drawn):
    low, high = np.array([span for span, _ in drawn], float).T
    return low, high, np.array([without for _, without in drawn])


def rates(drawn, threshold):
    """The accuracies of the answerable and of the unanswerable at a threshold, image by image."""
    right = {kind: [low < threshold <= high for (low, high), is_ in drawn if is_ is kind] for kind in (False, True)}
    return np.mean(right[False]), np.mean(right[True])


def probabilities(rows):
    table = np.array(rows, float)
    return table / table.sum(axis=1, keepdims=True)


@given(weights, st.data())
def test_an_image_is_right_where_the_predicted_node_is_the_true_one(rows, data) -> None:
    truth = np.array(data.draw(st.lists(st.integers(0, TREE.root), min_size=len(rows), max_size=len(rows))))
    found = threshold_steps(TREE, probabilities(rows))
    low, high = correct_range(found, truth)
    tried = np.unique(np.concatenate([found.thresholds, found.thresholds / 2, [1.5]]))
    nodes = tree_gt(TREE, probabilities(rows), tried)
    np.testing.assert_array_equal((low[:, None] < tried) & (tried <= high[:, None]), nodes == truth[:, None])


def test_an_image_without_probabilities_is_unscored() -> None:
    span = correct_range(threshold_steps(TREE, [[math.nan] * 5, [1, 0, 0, 0, 0]]), [5, 0])
    assert np.isnan([span.low[0], span.high[0]]).all()
    assert (span.low[1], span.high[1]) == (0, 1)


@given(both)
def test_no_threshold_is_better_than_the_best(drawn) -> None:
    best = best_threshold(*columns(drawn))
    tried = [*np.linspace(0.01, 1, 100), 0.2, 0.25, math.inf]
    assert best.harmonic_mean == pytest.approx(max(harmonic_mean(*rates(drawn, each)) for each in tried))


@given(both)
def test_the_best_is_what_its_threshold_gives(drawn) -> None:
    best = best_threshold(*columns(drawn))
    assert (best.answerable, best.unanswerable) == pytest.approx(rates(drawn, best.threshold))
    assert best.harmonic_mean == pytest.approx(harmonic_mean(best.answerable, best.unanswerable))


@given(both)
def test_of_equals_it_is_the_greater_sum_then_the_highest(drawn) -> None:
    best = best_threshold(*columns(drawn))
    for threshold in (0.2, 0.25, 0.5, 0.75, 1.0):
        a, b = rates(drawn, threshold)
        if harmonic_mean(a, b) == pytest.approx(best.harmonic_mean):
            assert a + b <= best.answerable + best.unanswerable + 1e-12
            assert a + b < best.answerable + best.unanswerable - 1e-12 or threshold <= best.threshold


@given(both, st.integers(0, 5))
def test_only_the_order_of_thresholds_counts(drawn, seed) -> None:
    low, high, without = columns(drawn)
    one, other = cross_fit_threshold(low, high, without, seed), cross_fit_threshold(low**3, high**3, without, seed)
    assert best_threshold(low**3, high**3, without)[1:] == best_threshold(low, high, without)[1:]
    np.testing.assert_array_equal(one.correct, other.correct)
    np.testing.assert_array_equal(one.thresholds**3, other.thresholds)


@given(both)
def test_unscored_images_change_nothing(drawn) -> None:
    low, high, without = columns([*drawn, ((math.nan, math.nan), True), ((math.nan, math.nan), False)])
    assert best_threshold(low, high, without) == best_threshold(*columns(drawn))
    assert np.isnan(cross_fit_threshold(low, high, without).correct[-2:]).all()


@given(both.filter(lambda drawn: 2 <= sum(w for _, w in drawn) <= len(drawn) - 2), st.integers(0, 5))
def test_every_image_is_judged_by_the_threshold_of_the_half_it_is_not_in(drawn, seed) -> None:
    low, high, without = columns(drawn)
    found, mine = cross_fit_threshold(low, high, without, seed), dealt(without, seed)
    for half in (0, 1):
        rows = mine == half
        chosen = best_threshold(low[rows], high[rows], without[rows]).threshold
        assert found.thresholds[half] == chosen
        np.testing.assert_array_equal(found.correct[~rows], (low[~rows] < chosen) & (chosen <= high[~rows]))
    means = [found.correct[without == kind].mean() for kind in (False, True)]
    assert found.harmonic_mean == pytest.approx(harmonic_mean(*means))


def dealt(without, seed):
    """The halves: each kind shuffled, then dealt in turn."""
    random, half = np.random.default_rng(seed), np.zeros(len(without), int)
    for kind in (False, True):
        half[random.permutation(np.flatnonzero(without == kind))[1::2]] = 1
    return half


def test_a_threshold_chosen_on_noise_is_not_praised_for_it() -> None:
    random = np.random.default_rng(0)
    ends = np.sort(random.random((2, 400)), axis=0)
    without = np.arange(400) < 20
    fitted, crossed = (best_threshold(*ends, without), cross_fit_threshold(*ends, without))
    assert crossed.harmonic_mean < fitted.harmonic_mean


@given(images.filter(lambda drawn: sum(w for _, w in drawn) < 2 or sum(not w for _, w in drawn) < 2))
def test_fewer_than_two_of_a_kind_are_not_halved(drawn) -> None:
    found = cross_fit_threshold(*columns(drawn))
    assert np.isnan([*found.thresholds, *found.correct, found.harmonic_mean]).all()


@given(st.lists(spans, max_size=9), st.booleans())
def test_one_kind_alone_has_no_best(drawn, kind) -> None:
    low, high = np.array(drawn, float).reshape(-1, 2).T
    assert np.isnan(best_threshold(low, high, np.full(len(low), kind))).all()
