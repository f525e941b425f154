"""Log scores and Brier scores against scikit-learn and plain loops, and the sign-flip test of their mean change."""

from itertools import product
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax
from scipy.stats import binomtest, ttest_1samp
from sklearn.metrics import brier_score_loss, log_loss

from eyechart.statistics.proper_scores import (
    LEAST,
    brier_scores,
    log_scores,
    log_scores_of_probabilities,
    sign_flip_mean_p,
)
from eyechart.statistics.softmax import softmax_sums

LOGITS = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(2, 5)), elements=st.floats(-8, 8))
EXTREME = st.sampled_from([-np.inf, -1e30, -2.0, 0.0, 1.5, 1e30, np.inf, np.nan])


@given(LOGITS, st.data())
def test_the_mean_log_score_is_the_log_loss_of_scikit_learn(logits: Any, data: Any) -> None:
    classes = logits.shape[1]
    labels = data.draw(arrays(np.int64, len(logits), elements=st.integers(0, classes - 1)))
    expected = log_loss(labels, np.maximum(softmax(logits, axis=1), 1e-300), labels=[*range(classes)])
    clipped = log_scores(logits, labels[:, None])
    exact = log_loss_in_loops(logits, labels)
    assert -np.mean(exact) == pytest.approx(expected, rel=1e-6)
    assert clipped.tolist() == pytest.approx(np.clip(exact, log(LEAST), 0).tolist())


def log_loss_in_loops(logits: Any, labels: Any) -> list[float]:
    """Return the log of the probability of each label."""
    return [
        row[label] - log(sum(exp(each) for each in row))
        for row, label in zip(logits.tolist(), labels.tolist(), strict=True)
    ]


@given(LOGITS, st.data())
def test_the_probability_of_several_labels_is_their_sum(logits: Any, data: Any) -> None:
    n, classes = logits.shape
    chosen = data.draw(arrays(np.bool_, (n, classes)))
    labels = np.full((n, classes), -1)
    for row in range(n):
        indices = np.flatnonzero(chosen[row])
        labels[row, : len(indices)] = indices
    total = (softmax(logits, axis=1) * chosen).sum(axis=1)
    expected = [
        log(min(1.0, max(p, LEAST))) if any(row) else float("nan") for p, row in zip(total, chosen, strict=True)
    ]
    assert log_scores(logits, labels).tolist() == pytest.approx(expected, nan_ok=True, abs=1e-9)


@given(arrays(np.float32, st.tuples(st.integers(0, 70), st.integers(1, 4)), elements=EXTREME))
def test_the_sums_of_the_softmax_give_its_probabilities(logits: Any) -> None:
    sums = softmax_sums(logits)
    for row, largest, total in zip(logits.astype(np.float64), *sums, strict=True):
        if np.isnan(row).any() or np.isneginf(row).all():
            assert np.isnan(total)
            continue
        terms = (row == np.inf) * 1.0 if np.isinf(row.max()) else np.exp(row - row.max())
        assert (largest, total) == (row.max(), pytest.approx(terms.sum()))
    labels = np.zeros((len(logits), 1), np.int64)
    assert log_scores(logits, labels, sums).tolist() == pytest.approx(log_scores(logits, labels).tolist(), nan_ok=True)


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=20))
def test_the_mean_brier_score_is_that_of_scikit_learn(p: list[float]) -> None:
    expected = brier_score_loss([1] * len(p), p, pos_label=1)
    assert brier_scores(np.log(p)).mean() == pytest.approx(expected)


@given(LOGITS, st.data())
def test_the_score_of_a_probability_is_that_of_its_logits(logits: Any, data: Any) -> None:
    labels = data.draw(arrays(np.int64, len(logits), elements=st.integers(0, logits.shape[1] - 1)))
    p = softmax(logits, axis=1)[range(len(logits)), labels]
    assert log_scores_of_probabilities(p).tolist() == pytest.approx(log_scores(logits, labels[:, None]).tolist())


def test_a_probability_is_at_least_the_least_and_at_most_1() -> None:
    scores = log_scores_of_probabilities([0.0, 1.0001, np.nan])
    assert scores.tolist() == pytest.approx([log(LEAST), 0.0, np.nan], nan_ok=True)


def test_a_shift_of_all_logits_changes_nothing_and_what_has_no_probability_is_nan() -> None:
    logits = np.array([[1.0, 2, 3], [-np.inf, 0, 0], [np.nan, 1, 1], [-np.inf] * 3, [500, 0, 0]])
    labels = [[2], [0], [1], [1], [1]]
    scores = log_scores(logits, labels)
    assert scores.tolist() == pytest.approx(log_scores(logits + 7, labels).tolist(), nan_ok=True)
    assert scores[[1, 4]].tolist() == [log(LEAST)] * 2
    assert np.isnan(scores).tolist() == [False, False, True, True, False]
    assert log_scores(np.zeros((0, 3)), np.zeros((0, 1), int)).tolist() == []
    assert np.isnan(log_scores([[0.0, 1.0]], np.zeros((1, 0), np.int64))).all()


def test_many_rows_are_scored_as_few() -> None:
    logits = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)
    labels = np.arange(5000)[:, None] % 3
    assert log_scores(logits, labels)[4000:].tolist() == log_scores(logits[4000:], labels[4000:]).tolist()


@given(st.lists(st.integers(-8, 8), min_size=1, max_size=9))
def test_few_changes_have_the_p_value_of_all_signs(quarters: list[int]) -> None:
    moved = [change for change in quarters if change]
    signs = [*product((-1, 1), repeat=len(moved))]
    totals = [abs(sum(c * s for c, s in zip(moved, each, strict=True))) for each in signs]
    expected = sum(total >= abs(sum(moved)) for total in totals) / len(totals)
    assert sign_flip_mean_p(np.array(quarters) / 4) == pytest.approx(expected)


def test_many_changes_have_nearly_the_p_value_of_students_test() -> None:
    changes = np.random.default_rng(1).normal(-0.02, 0.5, 3000)
    assert sign_flip_mean_p(changes) == pytest.approx(ttest_1samp(changes, 0).pvalue, rel=0.05)


@pytest.mark.parametrize("units", [8, 60, 1500])
@pytest.mark.parametrize("spread", ["normal", "heavy"])
def test_the_size_of_the_test_is_at_most_alpha(units: int, spread: str) -> None:
    chance, alpha, times = np.random.default_rng(5), 0.05, 200
    draw = chance.standard_t if spread == "heavy" else lambda _, size: chance.normal(size=size)
    false = sum(sign_flip_mean_p(draw(2, units)) <= alpha for _ in range(times))
    assert binomtest(false, times, alpha, alternative="greater").pvalue > 0.001


@pytest.mark.parametrize(
    ("function", "arguments", "sentence"),
    [
        (log_scores, ([0.0], [[0]]), "The 'logits' parameter of log_scores must be an array of 2 dimensions"),
        (log_scores, ([[0.0]], [[1]]), "The 'labels' parameter of log_scores must be"),
        (log_scores, ([[0.0]], [[0], [0]]), "The 'labels' parameter of log_scores must be"),
        (log_scores_of_probabilities, ([-0.1],), "must be from 0 to 1. Got -0.1 instead"),
        (log_scores_of_probabilities, ([1.1, 0.5],), "must be from 0 to 1. Got 1.1 instead"),
        (log_scores_of_probabilities, ([[0.5]],), "must be an array of 1 dimension"),
        (brier_scores, ([0.1],), "The 'scores' parameter of brier_scores must be at most 0"),
        (sign_flip_mean_p, ([np.inf],), "The 'changes' parameter of sign_flip_mean_p must be finite"),
    ],
)
def test_bad_arguments_have_a_sentence(function: Any, arguments: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        function(*arguments)
