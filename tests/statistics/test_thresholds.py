"""Accuracy by coverage against its plainest spelling."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.statistics.accuracy import accuracy
from eyechart.statistics.intervals import wilson
from eyechart.statistics.thresholds import (
    accuracy_at_coverage,
    accuracy_coverage,
    accuracy_coverage_area,
    accuracy_coverage_area_interval,
)

few = st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.5, 1.0])  # so that ties abound
answers = st.lists(st.tuples(st.one_of(few, st.floats(0, 1)), st.sampled_from([0.0, 1.0])), min_size=1, max_size=25)
distinct = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=25)
weighted = st.lists(st.tuples(few, st.sampled_from([0.0, 1.0]), st.integers(0, 4)), min_size=1, max_size=15).filter(
    lambda drawn: any(weight for *_, weight in drawn)
)


def columns(drawn):
    return tuple(np.array(column, np.float64) for column in zip(*drawn, strict=True))


def plain_curve(drawn):
    """(threshold, images kept, accuracy) at each distinct confidence."""
    for threshold in sorted({sure for sure, _ in drawn}, reverse=True):
        kept = [right for sure, right in drawn if sure >= threshold]
        yield threshold, len(kept), sum(kept) / len(kept)


@given(answers)
def test_the_curve_is_a_plain_loop_over_thresholds(drawn) -> None:
    curve = accuracy_coverage(*columns(drawn))
    assert list(zip(curve.thresholds, curve.kept, curve.accuracy, strict=True)) == list(plain_curve(drawn))
    assert curve.coverage.tolist() == [kept / len(drawn) for kept in curve.kept]


@given(answers)
def test_the_curve_ends_with_every_image(drawn) -> None:
    confidence, correct = columns(drawn)
    curve = accuracy_coverage(confidence, correct)
    assert (curve.kept[-1], curve.coverage[-1]) == (len(drawn), 1)
    assert curve.accuracy[-1] == pytest.approx(accuracy(correct))


@given(answers, st.floats(0, 1, exclude_min=True))
def test_accuracy_at_a_coverage_is_that_of_the_first_threshold_that_keeps_enough(drawn, coverage) -> None:
    enough = next(rate for _, kept, rate in plain_curve(drawn) if kept / len(drawn) >= coverage)
    assert accuracy_at_coverage(*columns(drawn), coverage) == enough


@given(distinct, st.data())
def test_k_of_n_keeps_k(correct, data) -> None:
    n = len(correct)
    k = data.draw(st.integers(1, n))
    falling = np.linspace(1, 0, n)
    assert accuracy_at_coverage(falling, correct, k / n) == pytest.approx(np.mean(correct[:k]))


@pytest.mark.parametrize("coverage", [1e-12, 0.001, 0.1])
def test_a_coverage_of_less_than_one_image_keeps_the_surest(coverage) -> None:
    assert accuracy_at_coverage([0.1, 0.9, 0.5], [0, 1, 0], coverage) == 1


@given(distinct)
def test_without_ties_the_area_is_the_mean_accuracy_of_the_k_surest(correct) -> None:
    expected = np.mean([np.mean(correct[:k]) for k in range(1, len(correct) + 1)])
    assert accuracy_coverage_area(np.linspace(1, 0, len(correct)), correct) == pytest.approx(expected)


@given(answers)
def test_the_area_is_the_mean_over_images_of_the_accuracy_at_their_threshold(drawn) -> None:
    at = {threshold: rate for threshold, _, rate in plain_curve(drawn)}
    assert accuracy_coverage_area(*columns(drawn)) == pytest.approx(np.mean([at[sure] for sure, _ in drawn]))


@given(distinct, st.floats(0, 1))
def test_where_all_are_equally_sure_the_area_is_the_accuracy(correct, sure) -> None:
    assert accuracy_coverage_area(np.full(len(correct), sure), correct) == pytest.approx(np.mean(correct))


@given(distinct)
def test_no_order_is_better_than_right_before_wrong(correct) -> None:
    falling = np.linspace(1, 0, len(correct))
    areas = [accuracy_coverage_area(falling, order) for order in (sorted(correct, reverse=True), correct)]
    assert areas[0] >= areas[1] - 1e-12


@given(answers, st.randoms(use_true_random=False))
def test_the_order_of_the_images_does_not_count(drawn, random) -> None:
    mixed = random.sample(drawn, len(drawn))
    for ours, theirs in zip(accuracy_coverage(*columns(mixed)), accuracy_coverage(*columns(drawn)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(answers)
def test_only_the_order_of_confidences_counts(drawn) -> None:
    confidence, correct = columns(drawn)
    ranks = np.unique(confidence, return_inverse=True)[1]
    assert accuracy_coverage_area(ranks, correct) == accuracy_coverage_area(confidence, correct)


@given(answers)
def test_unscored_images_change_nothing(drawn) -> None:
    more = columns([*drawn, (math.nan, 1.0), (0.5, math.nan)])
    assert accuracy_coverage_area(*more) == accuracy_coverage_area(*columns(drawn))
    assert accuracy_coverage_area_interval(*more) == accuracy_coverage_area_interval(*columns(drawn))


@given(weighted)
def test_a_weight_is_as_many_images(drawn) -> None:
    repeated = [answer[:2] for answer in drawn for _ in range(answer[2])]
    ours, theirs = accuracy_coverage(*columns(drawn)), accuracy_coverage(*columns(repeated))
    np.testing.assert_allclose(ours.coverage, theirs.coverage)
    np.testing.assert_allclose(ours.accuracy, theirs.accuracy)
    assert accuracy_coverage_area(*columns(drawn)) == pytest.approx(accuracy_coverage_area(*columns(repeated)))


@given(answers, st.floats(0.01, 100))
def test_equal_weights_are_no_weights(drawn, weight) -> None:
    confidence, correct = columns(drawn)
    weights = np.full(len(drawn), weight)
    assert accuracy_coverage_area(confidence, correct, weights) == pytest.approx(
        accuracy_coverage_area(confidence, correct)
    )
    assert accuracy_coverage_area_interval(confidence, correct, weights) == pytest.approx(
        accuracy_coverage_area_interval(confidence, correct)
    )


@given(answers, st.sampled_from([0.5, 0.95, 0.99]))
def test_the_area_is_within_its_interval(drawn, level) -> None:
    low, high = accuracy_coverage_area_interval(*columns(drawn), level=level)
    assert 0 <= low <= accuracy_coverage_area(*columns(drawn)) + 1e-12
    assert accuracy_coverage_area(*columns(drawn)) - 1e-12 <= high <= 1
    assert low < high


@given(answers)
def test_the_area_of_more_images_is_known_better(drawn) -> None:
    few, many = (accuracy_coverage_area_interval(*columns(drawn * times)) for times in (1, 3))
    assert many.high - many.low < few.high - few.low


@given(distinct)
def test_where_all_are_equally_sure_the_interval_is_wilsons(correct) -> None:
    found = accuracy_coverage_area_interval(np.zeros(len(correct)), correct)
    assert found == pytest.approx(wilson(sum(correct), len(correct)), abs=1e-9)


def influences(confidence, correct, step=1e-6):
    """How the area moves with each image's weight, by differences."""
    base = accuracy_coverage_area(confidence, correct)
    moved = [accuracy_coverage_area(confidence, correct, 1 + step * each) for each in np.eye(len(correct))]
    return (np.array(moved) - base) / step


def test_the_variance_is_that_of_the_influence_of_every_image() -> None:
    random = np.random.default_rng(1)
    confidence = random.integers(0, 12, 40) / 12
    correct = (random.random(40) > confidence).astype(float)  # the surer the worse, so that this variance is the larger
    area, variance = accuracy_coverage_area(confidence, correct), (influences(confidence, correct) ** 2).sum()
    low, high = accuracy_coverage_area_interval(confidence, correct)
    n = area * (1 - area) / variance
    z = 1.959963984540054
    assert high - low == pytest.approx(2 * z * math.sqrt(area * (1 - area) / n + (z / n / 2) ** 2) / (1 + z * z / n))


CHANCES = {
    "calibrated": lambda sure: sure,
    "no use": lambda sure: np.full_like(sure, 0.7),
    "the wrong way": lambda sure: 1 - 0.6 * sure,
    "almost always right": lambda sure: np.full_like(sure, 0.98),
}


@pytest.mark.deep
@pytest.mark.parametrize("chance", CHANCES.values(), ids=CHANCES)
@pytest.mark.parametrize(("n", "ties"), [(30, True), (300, False)])
def test_intervals_cover(chance, n, ties) -> None:
    random = np.random.default_rng(n)
    population = draw(random, 100_000, ties)
    truth, found = expected_area(population, chance), []
    for _ in range(400):
        confidence = draw(random, n, ties)
        low, high = accuracy_coverage_area_interval(confidence, (random.random(n) < chance(confidence)).astype(float))
        found.append(low <= truth <= high)
    assert np.mean(found) >= 0.92


def draw(random, n, ties):
    return random.choice([0.3, 0.62, 0.93], n) if ties else random.uniform(0.05, 1, n)


def expected_area(confidence, chance):
    """The area of answers without number: each image both right and wrong, weighted by its chance."""
    right = chance(confidence)
    both = np.repeat([1.0, 0.0], len(confidence))
    return accuracy_coverage_area(np.tile(confidence, 2), both, np.concatenate([right, 1 - right]))


@pytest.mark.parametrize("nothing", [([], []), ([0.5], [math.nan]), ([math.nan], [1]), ([0.5], [1], [0])])
def test_nothing_scored_is_no_number(nothing) -> None:
    assert all(column.size == 0 for column in accuracy_coverage(*nothing))
    found = [accuracy_coverage_area(*nothing), accuracy_at_coverage(nothing[0], nothing[1], 0.5, *nothing[2:])]
    assert np.isnan([*found, *accuracy_coverage_area_interval(*nothing)]).all()
