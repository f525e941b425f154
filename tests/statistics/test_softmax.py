"""Tests of `eyechart.statistics.softmax`."""

import numpy as np
import pytest
from scipy.special import softmax

from eyechart.statistics.softmax import softmax_sums


def test_the_probability_is_the_greatest_of_the_softmax() -> None:
    scores = np.random.default_rng(0).normal(scale=9, size=(5000, 30)).astype(np.float32)
    expected = softmax(scores.astype(np.float64), axis=1).max(axis=1)
    np.testing.assert_allclose(softmax_sums(scores).top, expected, rtol=1e-12)


def test_log_probabilities_are_taken_as_shares_of_their_sum() -> None:
    assert softmax_sums(np.log([[0.02, 0.03, 0.05]])).top[0] == pytest.approx(0.5)


@pytest.mark.parametrize("shift", [-1e4, 0, 1e4])
def test_large_scores_do_no_harm(shift) -> None:
    assert softmax_sums(np.array([[1.0, 0.0]]) + shift).top[0] == pytest.approx(1 / (1 + np.exp(-1)))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([0, 0, -np.inf], 0.5),
        ([7, -np.inf, -np.inf], 1),
        ([-np.inf] * 3, np.nan),
        ([np.nan] * 3, np.nan),
        ([0, np.nan, 1], np.nan),
        ([np.inf, 0, np.inf], 0.5),
    ],
)
def test_classes_that_are_ruled_out_or_missing(row, expected) -> None:
    found = softmax_sums(np.array([row, [0, 0, 0]], np.float32)).top
    np.testing.assert_allclose(found, [expected, 1 / 3])


def test_half_precision_is_computed_in_full() -> None:
    scores = np.random.default_rng(1).normal(size=(10, 1000)).astype(np.float16)
    np.testing.assert_array_equal(softmax_sums(scores).top, softmax_sums(scores.astype(np.float64)).top)


def test_no_images_and_no_classes() -> None:
    assert softmax_sums(np.zeros((0, 3))).top.shape == (0,)
    assert np.isnan(softmax_sums(np.zeros((2, 0))).top).all()
