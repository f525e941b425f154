"""Per-class recall against its plainest spelling."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eyechart.statistics.accuracy import accuracy
from eyechart.statistics.recall import mean_per_class_recall, per_class_recall, single_label

CLASSES = 6
scored_images = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, math.nan]), st.integers(-1, CLASSES - 1)), min_size=1, max_size=20
)


def columns(images):
    correct, labels = zip(*images, strict=True)
    return np.array(correct), np.array(labels)


@given(scored_images)
def test_recall_is_the_mean_within_each_class(images) -> None:
    recall = per_class_recall(*columns(images), CLASSES)
    for label in range(CLASSES):
        own = [value for value, other in images if other == label and value == value]
        assert recall.counts[label] == len(own)
        assert recall.values[label] == pytest.approx(sum(own) / len(own) if own else math.nan, nan_ok=True)


@given(scored_images)
def test_mean_recall_is_between_the_worst_and_the_best_class(images) -> None:
    values = per_class_recall(*columns(images), CLASSES).values
    seen, mean = values[~np.isnan(values)], mean_per_class_recall(*columns(images), CLASSES)
    assert math.isnan(mean) == (not seen.size)
    assert not seen.size or seen.min() - 1e-12 <= mean <= seen.max() + 1e-12


@given(scored_images)
def test_weighted_by_counts_it_is_accuracy(images) -> None:
    correct, labels = columns(images)
    recall = per_class_recall(correct, labels, CLASSES)
    whole = accuracy(correct[labels >= 0])
    assert np.nansum(recall.values * recall.counts) == pytest.approx(np.nan_to_num(whole) * recall.counts.sum())


@given(scored_images, st.randoms(use_true_random=False))
def test_order_of_the_images_does_not_matter(images, random) -> None:
    moved = columns(random.sample(images, len(images)))
    before, after = per_class_recall(*columns(images), CLASSES), per_class_recall(*moved, CLASSES)
    np.testing.assert_array_equal(after.counts, before.counts)
    np.testing.assert_array_equal(after.values, before.values)


@given(scored_images, st.integers(1, 4))
def test_repeating_one_class_leaves_the_mean(images, times) -> None:
    repeated = images + [image for image in images if image[1] == 0] * times
    before, after = (mean_per_class_recall(*columns(each), CLASSES) for each in (images, repeated))
    assert after == pytest.approx(before, nan_ok=True)


@given(arrays(np.int64, st.tuples(st.integers(0, 6), st.integers(0, 4)), elements=st.integers(-1, CLASSES - 1)))
def test_single_label_is_the_only_one(labels) -> None:
    expected = [(set(row) - {-1}).pop() if len(set(row) - {-1}) == 1 else -1 for row in labels.tolist()]
    assert single_label(labels).tolist() == expected


def test_labels_of_one_group_are_one_label() -> None:
    assert single_label([[3, 1], [3, 2], [-1, -1]], groups=[0, 1, 2, 1]).tolist() == [1, -1, -1]
