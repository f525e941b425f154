"""Voting among neighbours, against scikit-learn and its own invariances."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.classification import knn
from eyechart.classification.knn import knn_scores

CLASSES = 4


@st.composite
def questions(draw: st.DrawFn) -> tuple[Any, Any, Any, int]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    supports = draw(st.integers(1, 30))
    queries, support = rng.normal(size=(5, 6)), rng.normal(size=(supports, 6))
    labels = rng.integers(0, CLASSES, supports)
    return queries.astype(np.float32), support.astype(np.float32), labels, draw(st.integers(1, 30))


@given(questions())
def test_votes_are_scikit_learns(question: Any) -> None:
    from sklearn.neighbors import KNeighborsClassifier

    queries, support, labels, k = question
    k = min(k, len(support))
    theirs = KNeighborsClassifier(k, metric="cosine", algorithm="brute").fit(support, labels)
    found = np.floor(knn_scores(queries, support, labels, CLASSES, k)).clip(0)
    np.testing.assert_array_equal(found[:, theirs.classes_], np.rint(theirs.predict_proba(queries) * k))


@given(questions(), st.floats(0.01, 100))
def test_lengths_do_not_matter(question: Any, scale: float) -> None:
    queries, support, labels, k = question
    found = knn_scores(queries * np.float32(scale), support, labels, CLASSES, k)
    np.testing.assert_allclose(found, knn_scores(queries, support, labels, CLASSES, k), atol=1e-4)


@given(questions())
def test_the_order_of_supports_does_not_matter(question: Any) -> None:
    queries, support, labels, k = question
    order = np.random.default_rng(0).permutation(len(support))
    found = knn_scores(queries, support[order], labels[order], CLASSES, k)
    np.testing.assert_allclose(found, knn_scores(queries, support, labels, CLASSES, k), atol=1e-5)


@given(questions(), st.sampled_from(["uniform", "cosine"]))
def test_blocks_of_queries_change_nothing(question: Any, weights: str) -> None:
    queries, support, labels, k = question
    whole = knn_scores(queries, support, labels, CLASSES, k, weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knn, "_CELLS", 2 * len(support))
        found = knn_scores(queries, support, labels, CLASSES, k, weights)
    np.testing.assert_allclose(found, whole, atol=1e-5)


@given(questions())
def test_a_tie_is_always_below_one_vote(question: Any) -> None:
    queries, support, labels, k = question
    found = knn_scores(queries, support, labels, CLASSES, k).clip(0)
    assert (found - np.floor(found) < 0.5).all()
    np.testing.assert_array_equal(np.floor(found).sum(axis=1), min(k, len(support)))


def test_of_equal_counts_the_more_similar_class_wins() -> None:
    support = np.array([[0.6, 0.8], [1.0, 0.0]], np.float32)
    found = knn_scores(np.array([[1, 0]], np.float32), support, np.array([0, 1]), 2, k=2)
    assert found.argmax() == 1


def test_of_equally_near_supports_the_first_vote() -> None:
    support = np.ones((5, 2), np.float32)
    found = knn_scores(np.ones((1, 2), np.float32), support, np.array([3, 2, 1, 0, 0]), 4, k=2)
    assert np.floor(found).tolist() == [[-np.inf, -np.inf, 1, 1]]


def test_cosine_weights_are_the_similarities() -> None:
    support = np.array([[0.6, 0.8], [1.0, 0.0], [0.0, 1.0]], np.float32)
    found = knn_scores(np.array([[1, 0]], np.float32), support, np.array([0, 1, 1]), 2, k=3, weights="cosine")
    np.testing.assert_allclose(found, [[0.6, 1.0]], atol=1e-6)
