"""Neighbours against brute force, and voting among them against scikit-learn and its own invariances.

The neighbours are the same on every processor, device and number of threads, because their cosines are not rounded.
"""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.classification.protocols.helpers import nearest
from eyechart.classification.protocols.helpers.nearest import SelectedRows, find_nearest
from eyechart.classification.protocols.knn import knn_scores
from eyechart.inference.requests.class_weights import normalize
from eyechart.models.types import Floats

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


@given(questions(), st.sampled_from(["uniform", "cosine"]), st.integers(1, 60), st.integers(1, 60))
def test_blocks_change_nothing(question: Any, weights: str, numbers: int, cells: int) -> None:
    queries, support, labels, k = question
    whole = knn_scores(queries, support, labels, CLASSES, k, weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "NUMBERS", numbers)
        patch.setattr(nearest, "CELLS", cells)
        found = knn_scores(queries, support, labels, CLASSES, k, weights)
    np.testing.assert_array_equal(found, whole)


@st.composite
def repeated(draw: st.DrawFn) -> tuple[Any, Any, int]:
    """Queries and supports, many of which are equal, and a number of neighbours."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = rng.normal(size=(draw(st.integers(1, 6)), 5)).astype(np.float32)
    support = kinds[rng.integers(0, len(kinds), draw(st.integers(1, 80)))]
    queries = np.concatenate([kinds[:2], rng.normal(size=(draw(st.integers(0, 4)), 5)).astype(np.float32)])
    return queries, support, draw(st.integers(1, len(support)))


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])  # numpy, and torch
@given(repeated(), st.integers(1, 100), st.integers(1, 100))
def test_neighbours_are_those_of_brute_force(device: str, question: Any, numbers: int, cells: int) -> None:
    """All cosines at once, in whole numbers, which no kernel, thread or block can round; of equal ones the first."""
    queries, support, k = question
    every = whole(queries) @ whole(support).T
    expected = np.sort(np.argsort(-every, axis=1, kind="stable")[:, :k], axis=1)
    with pytest.MonkeyPatch.context() as patch:
        import torch  # noqa: F401  # a device of torch is used where torch is loaded

        patch.setattr(nearest, "NUMBERS", numbers)
        patch.setattr(nearest, "CELLS", cells)
        found = find_nearest(queries, support, k, device)
    np.testing.assert_array_equal(found.indices, expected)
    np.testing.assert_array_equal(found.cosines * 2.0**50, np.take_along_axis(every, expected, axis=1))


def whole(vectors: Floats) -> Any:
    """Unit vectors in whole numbers, as many as 2**25 in 1."""
    return np.rint(normalize(vectors).astype(np.float64) * 2**25).astype(np.int64)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["uniform", "cosine"]))
def test_a_kernel_that_adds_in_another_order_changes_nothing(seed: int, weights: str) -> None:
    """Small whole numbers have the same lengths in every order of their sum, so that only the cosines could differ."""
    rng = np.random.default_rng(seed)
    queries, support = (rng.integers(-9, 10, size=(n, 40)).astype(np.float32) for n in (5, 60))
    labels, order = rng.integers(0, CLASSES, 60), rng.permutation(40)
    found = knn_scores(queries[:, order], support[:, order], labels, CLASSES, 7, weights)
    np.testing.assert_array_equal(found, knn_scores(queries, support, labels, CLASSES, 7, weights))


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
@pytest.mark.parametrize("rows", [2, 33, 100, 257, 1023])
def test_equal_supports_are_equally_near_at_every_place(device: str, rows: int) -> None:
    import torch  # noqa: F401

    rng = np.random.default_rng(rows)
    queries, kind = rng.normal(size=(3, 100)).astype(np.float32), rng.normal(size=100).astype(np.float32)
    found = find_nearest(queries, np.tile(kind, (rows, 1)), rows, device).cosines
    np.testing.assert_array_equal(found, np.repeat(found[:, :1], rows, axis=1))


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.sampled_from(["uniform", "cosine"]))
def test_classes_with_equal_voters_tie_in_every_order(seed: int, voters: int, weights: str) -> None:
    """The voters of two classes are equal, but stand in another order."""
    rng = np.random.default_rng(seed)
    kinds, query = rng.normal(size=(voters, 9)).astype(np.float32), rng.normal(size=(1, 9)).astype(np.float32)
    support = np.concatenate([kinds, kinds[rng.permutation(voters)]])
    (found,) = knn_scores(query, support, np.repeat([0, 1], voters), 2, 2 * voters, weights)
    assert found[0] == found[1]


def test_a_device_that_may_lack_float64_is_left_to_numpy() -> None:
    import torch  # noqa: F401

    queries, support = np.eye(3, dtype=np.float32), np.ones((4, 3), np.float32)
    found, expected = (find_nearest(queries, support, 2, device) for device in ("mps", "cpu"))
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.cosines, expected.cosines)


def test_the_vectors_are_never_all_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Neither the supports nor the cosines with all of them."""
    monkeypatch.setattr(nearest, "NUMBERS", 2**18)
    monkeypatch.setattr(nearest, "CELLS", 2**18)
    path, rows = tmp_path / "support.npy", 100_000
    np.save(path, np.random.default_rng(0).normal(size=(rows, 64)).astype(np.float32))
    support = np.load(path, mmap_mode="r")
    tracemalloc.start()
    try:
        some = SelectedRows(support, np.arange(0, rows, 2))
        found = knn_scores(support[:200], some, np.zeros(rows // 2, np.int64), 2, k=3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.shape == (200, 2)
    assert peak < rows * 64 * 4 / 2


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
