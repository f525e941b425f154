"""Image bits and what is answered blind: their identities, and the coverage of the interval above chance."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax

from eyechart.statistics.image_bits import above_chance, image_bits


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(1, 4))
def test_over_all_labels_probability_of_the_blank_times_two_to_the_bits_is_one(seed: int, k: int, blanks: int) -> None:
    chance = np.random.default_rng(seed)
    seen = log_softmax(3 * chance.normal(size=k))
    blank = log_softmax(3 * chance.normal(size=(blanks, k)), axis=1)
    bits = image_bits(seen, blank)
    assert (np.exp(blank).mean(axis=0) * 2**bits).sum() == pytest.approx(1)


def test_a_model_that_ignores_images_has_no_bits() -> None:
    scores = np.log([0.2, 0.5, 0.3])
    assert image_bits(scores, [scores, scores]).tolist() == pytest.approx([0, 0, 0])
    assert np.isnan(image_bits([np.nan, -1.0], [-1.0, -1.0])).tolist() == [True, False]


def test_probabilities_of_noises_are_averaged_and_not_their_logarithms() -> None:
    (bits,) = image_bits([np.log(0.5)], [[np.log(0.9)], [np.log(0.1)]])
    assert bits == pytest.approx(0)


def test_images_of_other_labels_take_bits_away() -> None:
    """The mean over shuffled images is below 0, not 0: a confident model is confidently wrong about them."""
    chance = np.random.default_rng(0)
    scores = log_softmax(4 * chance.normal(size=(500, 5)), axis=1)
    labels = scores.argmax(axis=1)
    blank = np.full(500, np.log(0.2))
    rows = np.arange(500)
    assert image_bits(scores[rows, labels], blank).mean() > 1.5
    assert image_bits(scores[rows, chance.permutation(labels)], blank).mean() < -1


@pytest.mark.parametrize("size", [1, 5])
def test_the_interval_above_chance_covers_what_is_answered_blind(size: int) -> None:
    chance, times, covered = np.random.default_rng(size), 600, 0
    for _ in range(times):
        outcomes = np.repeat(chance.random(60) < 0.34, size).astype(float)
        ci = above_chance(outcomes, np.full(60 * size, 0.1), np.repeat(np.arange(60), size)).ci
        covered += ci.low <= 0.24 <= ci.high
    assert 0.925 <= covered / times <= 0.975


def test_a_model_that_always_names_the_commonest_label_is_not_above_chance() -> None:
    labels = np.array([0, 0, 0, 1, 2])
    found = above_chance(labels == 0, labels == 0)
    assert (found.accuracy, found.chance, found.value) == (0.6, 0.6, 0.0)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: image_bits([0.1], [0.0]), "'log_scores' parameter of image_bits must be at most 0"),
        (lambda: image_bits([0.0], [0.0, 0.0]), "'blank_log_scores' parameter of image_bits must be of length 1"),
        (lambda: above_chance([1, 0], [0.5]), "'chance' parameter of above_chance must be of length 2"),
        (lambda: above_chance([2], [0.5]), "'outcomes' parameter of above_chance"),
    ],
)
def test_wrong_arguments_are_refused(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()
