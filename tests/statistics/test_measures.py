"""Measures and their paired changes against the areas themselves, resample by resample."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.realbirdid.statistics.abstention_tradeoff import ua_a
from eyechart.realbirdid.statistics.hierarchy import Tree, threshold_steps
from eyechart.realbirdid.statistics.information_gain import information_gain, information_gain_area
from eyechart.statistics.degenerate_intervals import max_unseen_share
from eyechart.statistics.measures import Measure, paired_change
from eyechart.statistics.resampling import bootstrap_counts, percentile_interval

TREE = Tree.from_levels([[0, 1, 2, 3], [0, 0, 1, 1]])
RANDOM = np.random.default_rng(3)
BEFORE, AFTER = (RANDOM.dirichlet(np.full(4, 0.7), 12) for _ in range(2))
TRUTH = RANDOM.integers(0, 4, 12)
KINDS = np.arange(12) % 3 == 0
UNSURE = tuple(np.round(RANDOM.random(12), 1) for _ in range(2))
images = st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.sampled_from([0.1, 0.5, 0.9]), st.booleans()))


def gained(rows):
    """The change of the gain of some images, each side on its own."""
    areas = [information_gain(TREE, threshold_steps(TREE, side[rows]), TRUTH[rows]).area for side in (BEFORE, AFTER)]
    return areas[1] - areas[0]


def told(rows):
    """The change of UA/A of some images, each side on its own."""
    return ua_a(UNSURE[1][rows], KINDS[rows]).value - ua_a(UNSURE[0][rows], KINDS[rows]).value


def plain(value, strata, times, seed):
    """The interval from images that are written down as often as they are drawn, for both sides alike."""
    draws = [value(np.repeat(np.arange(12), counts)) for counts in bootstrap_counts(12, times, seed, strata)]
    return percentile_interval(np.round(draws, 12))


def ua_a_change(before, after, unanswerable, **how):
    return paired_change(ua_a(before, unanswerable), ua_a(after, unanswerable), **how)


def information_gain_change(before, after, truth, **how):
    return paired_change(*(information_gain_area(TREE, steps, truth) for steps in (before, after)), **how)


def change_of_gain(**how):
    return information_gain_change(threshold_steps(TREE, BEFORE), threshold_steps(TREE, AFTER), TRUTH, **how)


def test_the_gains_change_is_that_of_the_areas_and_of_resamples_of_both():
    found = change_of_gain(times=50, seed=7)
    assert found.value == pytest.approx(gained(np.arange(12)))
    assert found.interval == pytest.approx(plain(gained, None, 50, 7))


def test_the_tradeoffs_change_is_that_of_the_areas_and_of_resamples_of_both():
    found = ua_a_change(*UNSURE, KINDS, times=50, seed=7)
    assert found.value == pytest.approx(told(np.arange(12)))
    assert found.interval == pytest.approx(plain(told, KINDS.astype(int), 50, 7))


@given(images)
def test_sides_the_other_way_round_change_the_sign(rows):
    before, after, kinds = np.array(rows).reshape(-1, 3).T
    one, other = (ua_a_change(*sides, kinds == 1, times=20) for sides in ((before, after), (after, before)))
    assert one.value == pytest.approx(-other.value, nan_ok=True)
    assert one.interval == pytest.approx((-other.interval.high, -other.interval.low), nan_ok=True)


@given(images)
def test_the_interval_holds_no_more_than_can_be_and_nothing_of_one_kind(rows):
    before, after, kinds = np.array(rows).reshape(-1, 3).T
    found = ua_a_change(before, after, kinds == 1, times=20)
    assert math.isnan(found.value) == (len({*kinds.tolist()}) < 2)
    assert math.isnan(found.value) or -1 <= found.interval.low <= found.interval.high <= 1


def test_sides_that_are_alike_are_no_proof_that_nothing_changes():
    same = threshold_steps(TREE, BEFORE)
    for found in (information_gain_change(same, same, TRUTH), ua_a_change(UNSURE[0], UNSURE[0], KINDS)):
        assert found.value == 0
        assert found.interval.low < 0 < found.interval.high


@pytest.mark.parametrize("turned", [False, True])
def test_images_that_all_change_alike_leave_room_for_a_share_that_changes_otherwise(turned):
    sides = [threshold_steps(TREE, np.tile(row, (9, 1))) for row in ([0.1, 0.1, 0.5, 0.3], [0.2, 0.5, 0.2, 0.1])]
    value, (low, high) = information_gain_change(*sides[:: -1 if turned else 1], np.zeros(9, int), times=20)
    rest = max_unseen_share(9)  # of the images, none of which was seen, and whose numbers may change by 1 either way
    assert (value < 0) is turned
    assert (low, high) == pytest.approx(((1 - rest) * value - rest, (1 - rest) * value + rest))
    assert -1 < low < high < 1


def test_pairs_say_more_than_each_side_on_its_own():
    before = RANDOM.random(200)
    kinds = RANDOM.random(200) < before
    low, high = ua_a_change(before, before + 0.05 * RANDOM.random(200), kinds).interval
    assert high - low < 0.05


def test_an_image_without_an_uncertainty_counts_on_neither_side():
    before, after = (np.where(np.arange(12) == 4, np.nan, side) for side in UNSURE)
    rest = np.arange(12) != 4
    assert ua_a_change(before, after, KINDS) == ua_a_change(before[rest], after[rest], KINDS[rest])


def test_measures_of_other_samples_are_refused():
    before, gap = UNSURE[0], np.where(np.arange(12) == 4, np.nan, UNSURE[1])
    with pytest.raises(ValueError, match=r"'after' .* must be a measure of the same 12 samples"):
        ua_a_change(before, gap, KINDS)
    with pytest.raises(ValueError, match=r"a measure of the same 12 samples as before\. Got 11 instead"):
        paired_change(ua_a(before, KINDS), ua_a(before[:11], KINDS[:11]))


def test_a_value_beside_its_resamples_is_in_the_interval():
    def largest(counts):
        return ((counts > 0) * np.arange(9)).max(axis=-1) / 90

    greatest = Measure(("greatest",), 9, np.arange(9), largest)
    least = Measure(("least",), 9, np.arange(9), lambda counts: 1 - largest(counts))
    assert greatest.interval(seed=1).high == greatest.value
    assert least.interval(seed=1).low == least.value


@pytest.mark.parametrize("clusters", [[0] * 11, [-1] * 12, [0.5] * 12], ids=["too few", "negative", "no numbers"])
def test_clusters_are_a_whole_number_for_each_sample(clusters):
    for call in (ua_a(UNSURE[0], KINDS).interval, change_of_gain):
        with pytest.raises(ValueError, match="The 'clusters' parameter of"):
            call(clusters=clusters)


def test_an_image_without_a_truth_counts_on_neither_side():
    truth = np.where(np.arange(12) == 4, -1, TRUTH)
    sides = [threshold_steps(TREE, each) for each in (BEFORE, AFTER)]
    rest = truth >= 0
    fewer = [side.select(rest) for side in sides]
    assert information_gain_change(*sides, truth) == information_gain_change(*fewer, truth[rest])


@pytest.mark.parametrize("how", [{"times": -1}, {"level": 1.0}])
def test_what_cannot_be_is_refused_in_a_sentence(how):
    for change in (change_of_gain, lambda **how: ua_a_change(*UNSURE, KINDS, **how)):
        with pytest.raises(ValueError, match="must be"):
            change(**how)


def test_an_infinite_uncertainty_is_refused():
    with pytest.raises(ValueError, match="below infinity"):
        ua_a_change([np.inf, 0.0], [0.0, 0.0], [True, False])
