"""Accuracy by coverage over classes against plain loops, and its bootstrap against resampling row by row."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import recall_score

from eyechart.statistics.accuracy import accuracy
from eyechart.statistics.degenerate_intervals import share_interval
from eyechart.statistics.recall import mean_per_class_recall
from eyechart.statistics.selective import (
    AVERAGES,
    accuracy_coverage_auc,
    aurc,
    balanced_weights,
    macro_accuracy_coverage,
    macro_auc,
)
from eyechart.statistics.thresholds import accuracy_coverage, accuracy_coverage_area, accuracy_coverage_area_interval

few = st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.5, 1.0])  # so that ties abound
images = st.lists(
    st.tuples(st.one_of(few, st.floats(0, 1)), st.sampled_from([0.0, 1.0]), st.sampled_from([0, 1, 4, 7])),
    min_size=1,
    max_size=25,
)


def columns(drawn):
    sure, right, label = zip(*drawn, strict=True)
    return np.array(sure, np.float64), np.array(right, np.float64), np.array(label, np.int64)


def area(average, sure, right, label):
    """The area of each average, by its public name."""
    if average == "macro":
        return macro_auc(sure, right, label)
    return accuracy_coverage_area(sure, right, balanced_weights(right, label) if average == "balanced" else None)


def plain_points(drawn):
    """(threshold, images kept, mean accuracy of the classes kept) at each distinct confidence."""
    for threshold in sorted({sure for sure, *_ in drawn}, reverse=True):
        kept = {}
        for sure, right, label in drawn:
            if sure >= threshold:
                kept.setdefault(label, []).append(right)
        yield threshold, sum(map(len, kept.values())), np.mean([np.mean(rights) for rights in kept.values()])


@given(images)
def test_the_macro_curve_is_a_plain_loop_over_thresholds(drawn) -> None:
    curve, points = macro_accuracy_coverage(*columns(drawn)), list(plain_points(drawn))
    assert list(zip(curve.thresholds, curve.kept, strict=True)) == [point[:2] for point in points]
    np.testing.assert_allclose(curve.accuracy, [point[2] for point in points])
    np.testing.assert_allclose(curve.coverage, [kept / len(drawn) for _, kept, _ in points])


@given(images)
def test_the_macro_curve_ends_with_mean_recall(drawn) -> None:
    _, right, label = columns(drawn)
    accuracy = macro_accuracy_coverage(*columns(drawn)).accuracy[-1]
    predicted = np.where(right == 1, label, -1)
    assert accuracy == pytest.approx(mean_per_class_recall(right, label, 8))
    assert accuracy == pytest.approx(recall_score(label, predicted, labels=np.unique(label), average="macro"))


@given(images)
def test_the_macro_area_is_the_mean_over_images_of_the_accuracy_at_their_threshold(drawn) -> None:
    at = {threshold: rate for threshold, _, rate in plain_points(drawn)}
    assert macro_auc(*columns(drawn)) == pytest.approx(np.mean([at[sure] for sure, *_ in drawn]))


@given(images)
def test_balanced_weights_give_every_class_as_much(drawn) -> None:
    _, right, label = columns(drawn)
    weights = balanced_weights(right, label)
    np.testing.assert_allclose([weights[label == each].sum() for each in np.unique(label)], 1)
    assert (weights @ right) / weights.sum() == pytest.approx(mean_per_class_recall(right, label, 8))


@given(images, st.sampled_from(AVERAGES))
def test_one_class_is_like_none(drawn, average) -> None:
    sure, right, label = columns(drawn)
    same = np.full_like(label, 3)
    assert area(average, sure, right, same) == pytest.approx(accuracy_coverage_area(sure, right))
    one_class = accuracy_coverage_auc(sure, right, classes=same, average=average)
    assert one_class.interval(9) == pytest.approx(accuracy_coverage_auc(sure, right).interval(9))


@given(images, st.sampled_from(AVERAGES))
def test_only_the_order_of_confidences_counts(drawn, average) -> None:
    sure, right, label = columns(drawn)
    ranks = np.unique(sure, return_inverse=True)[1]
    for monotone in (ranks, np.exp(ranks), 3 * ranks - 7):
        assert area(average, monotone, right, label) == area(average, sure, right, label)
        one, other = (
            accuracy_coverage_auc(each, right, classes=label, average=average).interval(9) for each in (monotone, sure)
        )
        assert one == other


@given(images, st.randoms(use_true_random=False), st.sampled_from(AVERAGES))
def test_the_order_of_the_images_and_the_names_of_classes_do_not_count(drawn, random, average) -> None:
    mixed = random.sample(drawn, len(drawn))
    sure, right, label = columns(mixed)
    assert area(average, sure, right, 9 - label) == pytest.approx(area(average, *columns(drawn)))


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=25))
def test_the_area_is_between_wrong_before_right_and_right_before_wrong(right) -> None:
    falling, n = np.linspace(1, 0, len(right)), len(right)
    k = int(sum(right))
    best = (k + sum(k / m for m in range(k + 1, n + 1))) / n
    worst = sum((m - n + k) / m for m in range(n - k + 1, n + 1)) / n
    assert accuracy_coverage_area(falling, sorted(right, reverse=True)) == pytest.approx(best)
    assert accuracy_coverage_area(falling, sorted(right)) == pytest.approx(worst)
    assert worst - 1e-12 <= accuracy_coverage_area(falling, right) <= best + 1e-12


@pytest.mark.deep
@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 2)), min_size=1, max_size=5))
def test_ties_are_no_better_than_the_best_order_and_no_worse_than_the_worst(drawn) -> None:
    right, label = (np.array(column) for column in zip(*drawn, strict=True))
    falling = np.linspace(1, 0, len(drawn))
    for average in AVERAGES:
        orders = [area(average, falling, right[list(o)], label[list(o)]) for o in permutations(range(len(drawn)))]
        tied = area(average, np.zeros(len(drawn)), right, label)
        assert min(orders) - 1e-12 <= tied <= max(orders) + 1e-12


@given(images, st.sampled_from(AVERAGES))
def test_where_all_are_equally_sure_the_area_is_the_accuracy(drawn, average) -> None:
    _, right, label = columns(drawn)
    whole = accuracy(right) if average == "micro" else mean_per_class_recall(right, label, 8)
    assert area(average, np.zeros(len(right)), right, label) == pytest.approx(whole)


@given(images)
def test_risk_is_one_less_accuracy(drawn) -> None:
    sure, right, _ = columns(drawn)
    assert aurc(sure, right) == pytest.approx(accuracy_coverage_area(sure, 1 - right))
    assert aurc(sure, right) + accuracy_coverage_area(sure, right) == pytest.approx(1)


@given(images, st.sampled_from(AVERAGES))
def test_unscored_images_change_nothing(drawn, average) -> None:
    more = columns([*drawn, (math.nan, 1.0, 2), (0.5, math.nan, 0), (0.5, 1.0, -1)])
    known = more if average != "micro" else tuple(column[:-1] for column in more)
    weighed = tuple(np.delete(column, len(drawn)) for column in more)  # weights see no confidence
    assert area(average, *(weighed if average == "balanced" else known)) == pytest.approx(
        area(average, *columns(drawn))
    )
    intervals = [
        accuracy_coverage_auc(sure, right, classes=label, average=average).interval(9)
        for sure, right, label in (more, columns(drawn))
    ]
    assert intervals[0] == intervals[1]


@given(images, st.sampled_from(AVERAGES), st.integers(0, 9))
def test_the_interval_is_a_loop_over_resampled_rows(drawn, average, seed) -> None:
    table = columns(sorted(drawn, key=lambda image: -image[0]))
    random, n = np.random.default_rng(seed), len(drawn)
    taken = [random.integers(n, size=n) for _ in range(30)]
    found = [area(average, *(column[rows] for column in table)) for rows in taken]
    value = min(1, area(average, *table))
    low, high = share_interval(np.round(found, 12), value, n, 0.9)
    sure, right, label = table
    ours = accuracy_coverage_auc(sure, right, classes=label, average=average)
    assert ours.value == pytest.approx(value)
    assert ours.interval(30, seed, 0.9) == pytest.approx((min(low, value), max(high, value)), abs=1e-9)


@pytest.mark.parametrize("average", AVERAGES)
def test_a_draw_without_a_scored_image_is_no_number(average) -> None:
    sure, right, label = [0.5, 0.9, 0.7], [1, math.nan, 0], [0, 0, 1]
    measure = accuracy_coverage_auc(sure, right, classes=label, average=average)
    draws = measure.resample([[0, 3, 0], [1, 2, 0], [0, 2, 1]])
    assert draws == pytest.approx([math.nan, 1, 0], nan_ok=True)
    none = accuracy_coverage_auc([0.5], [math.nan], classes=[0], average=average).resample([[1], [1]])
    assert none == pytest.approx([math.nan] * 2, nan_ok=True)


@pytest.mark.parametrize("ties", [False, True])
def test_the_bootstrap_agrees_with_the_influence(ties) -> None:
    random = np.random.default_rng(2)
    sure = random.uniform(0.05, 1, 3000).round(1 if ties else 9)
    right = (random.random(3000) < sure).astype(float)
    found = accuracy_coverage_auc(sure, right).interval()
    assert found == pytest.approx(accuracy_coverage_area_interval(sure, right), abs=0.012)


@given(st.integers(1, 400), st.integers(1, 7), st.sampled_from(AVERAGES), st.sampled_from([0.0, 1.0]))
def test_all_right_or_all_wrong_is_not_known_for_sure(n, classes, average, value) -> None:
    label = np.arange(n) % classes
    measure = accuracy_coverage_auc(np.arange(n), np.full(n, value), classes=label, average=average)
    low, high = measure.interval(20)
    assert high - low == pytest.approx(share_interval([0.0, 0.0], 0.0, n).high)
    assert (high if value else low) == pytest.approx(value)


@pytest.mark.parametrize("average", AVERAGES)
def test_one_image_has_its_outcome_and_an_interval(average) -> None:
    assert area(average, np.array([0.5]), np.array([1.0]), np.array([3])) == 1
    low, high = accuracy_coverage_auc([0.5], [1], classes=[3], average=average).interval(5)
    assert (low < 0.3, high) == (True, 1)


@pytest.mark.parametrize(
    "nothing", [([], [], []), ([0.5], [math.nan], [0]), ([math.nan], [1], [0]), ([0.5], [1], [-1])]
)
def test_nothing_scored_is_no_number(nothing) -> None:
    sure, right, label = nothing
    assert all(column.size == 0 for column in macro_accuracy_coverage(*nothing))
    measure = accuracy_coverage_auc(sure, right, classes=label, average="macro")
    found = [macro_auc(*nothing), measure.value, *measure.interval()]
    assert np.isnan([*found, *accuracy_coverage_auc([0.5], [1]).interval(times=0)]).all()
    assert accuracy_coverage(sure, right, balanced_weights(right, label) * 0).kept.size == 0
