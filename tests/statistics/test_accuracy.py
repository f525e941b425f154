"""Top-k and outcomes against their plainest spelling."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from eyechart.statistics.accuracy import accuracy, correct_under_both, correctness, hits, top_k

CLASSES = 7
few_values = st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.5, math.inf])  # so that ties abound
shapes = array_shapes(min_dims=2, max_dims=2, max_side=CLASSES)
score_tables = st.one_of(
    arrays(np.float64, shapes, elements=few_values),
    arrays(np.float32, shapes, elements=st.floats(width=32, allow_nan=False)),
    arrays(np.int64, shapes, elements=st.integers(-3, 3)),
)
outcome_vectors = st.lists(st.sampled_from([0.0, 1.0, math.nan]), max_size=12)


def brute(scores, k):
    return [sorted(range(len(row)), key=lambda index: (-row[index], index))[:k] for row in scores.tolist()]


@st.composite
def answers(draw, indices=3):
    """(top, labels, annotated, answered) of a few images."""
    n = draw(st.integers(0, 6))
    ids = st.integers(-1, CLASSES - 1)
    top, labels = (draw(arrays(np.int64, (n, width), elements=ids)) for width in (indices, draw(st.integers(0, 3))))
    return top, labels, draw(arrays(np.bool_, n)), draw(arrays(np.bool_, n))


@given(score_tables, st.data())
def test_top_k_equals_brute_force_with_ties_to_the_first_index(scores, data) -> None:
    k = data.draw(st.integers(1, scores.shape[1]))
    assert top_k(scores, k).tolist() == brute(scores, k)


@given(score_tables)
def test_top_k_begins_with_the_top_fewer(scores) -> None:
    everything = top_k(scores, scores.shape[1])
    for k in range(1, scores.shape[1]):
        np.testing.assert_array_equal(top_k(scores, k), everything[:, :k])


@given(score_tables, st.randoms(use_true_random=False))
def test_top_k_follows_the_images(scores, random) -> None:
    order = random.sample(range(len(scores)), len(scores))
    np.testing.assert_array_equal(top_k(scores[order], 1), top_k(scores, 1)[order])


@given(st.permutations(range(CLASSES)), st.integers(1, CLASSES))
def test_top_k_follows_the_classes(order, k) -> None:
    scores = np.arange(CLASSES)[order]
    assert scores[top_k(scores[None], k)[0]].tolist() == sorted(scores, reverse=True)[:k]


@pytest.mark.parametrize("values", [2, 50, 10**9])
def test_top_k_is_exact_over_many_blocks(values) -> None:
    scores = np.random.default_rng(0).integers(values, size=(5000, 60)).astype(np.float32)
    np.testing.assert_array_equal(top_k(scores, 5), np.argsort(-scores, axis=1, kind="stable")[:, :5])


@pytest.mark.parametrize("k", [1, 5, 16, 17, 40])
def test_top_k_of_any_number_of_classes_is_exact(k) -> None:
    scores = np.random.default_rng(1).integers(4, size=(300, 40)).astype(np.float32)
    scores[scores == 3] = -np.inf
    scores[:100, 3:] = -np.inf  # fewer classes than are asked for
    np.testing.assert_array_equal(top_k(scores, k), np.argsort(-scores, axis=1, kind="stable")[:, :k])


def test_top_k_of_an_unanswered_image_is_no_class() -> None:
    scores = [[0.1, 0.2, 0.0], [math.nan] * 3, [0.3, 0.2, 0.3]]
    assert top_k(scores, 2).tolist() == [[1, 0], [-1, -1], [0, 2]]


@given(answers())
def test_hits_are_membership_and_grow_with_k(drawn) -> None:
    top, labels, *_ = drawn
    found = [hits(top, labels, k=k) for k in (1, 2, 3)]
    expected = [
        [bool(set(t[:k]) & set(row) - {-1}) for t, row in zip(top.tolist(), labels.tolist(), strict=True)]
        for k in (1, 2, 3)
    ]
    assert [row.tolist() for row in found] == expected
    assert (found[0] <= found[1]).all()
    assert (found[1] <= found[2]).all()


@given(answers())
def test_hits_do_not_see_the_order_of_labels(drawn) -> None:
    top, labels, *_ = drawn
    np.testing.assert_array_equal(hits(top, labels[:, ::-1]), hits(top, labels))


def plain_outcome(top, labels, annotated, answered, empty):
    labels = set(labels) - {-1}
    if not annotated or not answered or (not labels and empty == "exclude"):
        return math.nan
    return float(top[0] in labels or (not labels and empty == "correct"))


@given(answers(), st.sampled_from(["correct", "exclude", "wrong"]))
def test_outcomes_are_the_letter_of_equation_2(drawn, empty) -> None:
    top, labels, annotated, answered = drawn
    expected = [plain_outcome(*image, empty) for image in zip(*(column.tolist() for column in drawn), strict=True)]
    found = correctness(top, labels, annotated, empty=empty, answered=answered)
    np.testing.assert_array_equal(found, np.array(expected, np.float64))


@pytest.mark.deep
@given(answers())
def test_policies_for_empty_label_sets_are_ordered(drawn) -> None:
    top, labels, annotated, _ = drawn
    values = [accuracy(correctness(top, labels, annotated, empty=empty)) for empty in ("wrong", "exclude", "correct")]
    seen = [value for value in values if not math.isnan(value)]
    assert seen == sorted(seen)


@given(outcome_vectors)
def test_accuracy_is_the_mean_of_what_is_scored(vector) -> None:
    scored = [value for value in vector if value == value]
    assert accuracy(vector) == (
        pytest.approx(sum(scored) / len(scored)) if scored else pytest.approx(math.nan, nan_ok=True)
    )


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_intersection_is_within_both_and_symmetric(pairs) -> None:
    a, b = np.array(pairs, np.float64).T
    both = accuracy(correct_under_both(a, b))
    assert max(0.0, accuracy(a) + accuracy(b) - 1) - 1e-12 <= both <= min(accuracy(a), accuracy(b))
    assert both == accuracy(correct_under_both(b, a))


def test_intersection_is_over_the_images_scored_under_both() -> None:
    assert accuracy(correct_under_both([1, 1, math.nan, 1], [1, 0, 1, math.nan])) == 0.5
    assert math.isnan(accuracy(correct_under_both([math.nan], [1])))
