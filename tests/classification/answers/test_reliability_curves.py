"""Confidences from scores, and what a case writes of them."""

import csv
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions, ScoredLabels, Targets
from eyechart.classification.answers.reliability_curves import reliability_rows, threshold_rows
from eyechart.classification.metrics.class_estimates import confidence
from eyechart.data.dataset.dataset import LabelSet, Row, build_label_set
from eyechart.data.labels.equivalences import LabelPolicy
from eyechart.results.curve_files import POINTS
from eyechart.results.records import Metric
from eyechart.statistics.softmax import softmax_sums

CLASSES = 6


def confidence_metrics(predictions: ClassPredictions, *scored: ScoredLabels) -> list[Metric]:
    """The numbers as a record has them."""
    original = np.zeros(len(predictions.keys), np.int64)
    targets = Targets(tuple(each.labels for each in scored), original, LabelPolicy(), predictions.scores.shape[1])
    return [estimate.metric for estimate in confidence(replace(predictions, targets=targets, calibrated=True))]


def rows_of(make: Any, predictions: ClassPredictions, scored: list[ScoredLabels]) -> list[dict[str, str]]:
    """A file of a case by its columns."""
    return table(make(softmax_sums(predictions.scores).top, {each.labels.name: each.correct for each in scored}))


def truth(given: list[tuple[int, ...] | None], name: str = "mine") -> LabelSet:
    rows = [Row(str(index), str(index), "") for index in range(len(given))]
    return build_label_set(name, rows, given, "correct", "test")


def answered(scores: Any, errors: dict[int, str] | None = None) -> ClassPredictions:
    found = np.array(scores, np.float32)
    found[[*(errors or {})]] = np.nan
    return ClassPredictions(tuple(map(str, range(len(found)))), found, errors or {}, {})


def scored(predictions: ClassPredictions, given: list[tuple[int, ...] | None], name: str = "mine") -> ScoredLabels:
    original = np.array([each[0] if each else -1 for each in given])
    targets = Targets((), original, LabelPolicy(), predictions.scores.shape[1])
    return ScoredLabels.score(predictions, truth(given, name), targets)


@pytest.fixture
def case() -> tuple[ClassPredictions, list[ScoredLabels]]:
    """1500 images under two ground truths; some without an answer, some that one of the two leaves out."""
    random = np.random.default_rng(2)
    labels = random.integers(0, CLASSES, 1500)
    lean = random.exponential(2.0, (1500, 1)) * np.eye(CLASSES)[labels]
    predictions = answered(random.normal(size=(1500, CLASSES)) + lean, {3: "broken", 700: "broken"})
    plain: list[tuple[int, ...] | None] = [(label,) for label in labels.tolist()]
    fewer = [None if index % 3 else given for index, given in enumerate(plain)]
    return predictions, [scored(predictions, plain, "plain"), scored(predictions, fewer, "fewer")]


def table(rows: Any) -> list[dict[str, str]]:
    text = StringIO()
    csv.writer(text).writerows(rows)
    return list(csv.DictReader(StringIO(text.getvalue())))


def test_the_metrics_of_four_images_by_hand() -> None:
    predictions = answered(np.log([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]))
    found = {each.name: each for each in confidence_metrics(predictions, scored(predictions, [(0,), (0,), (0,), None]))}
    assert {name: each.n for name, each in found.items()} == {"ece": 3, "brier": 3, "accuracy_coverage_auc": 3}
    assert found["ece"].value == pytest.approx((0.1 + 0.1 + 0.6) / 3, abs=1e-6)
    assert found["brier"].value == pytest.approx((0.01 + 0.01 + 0.36) / 3, abs=1e-6)
    assert found["accuracy_coverage_auc"].value == pytest.approx((1 + 1 + 2 / 3) / 3)


def test_metrics_are_plain_numbers_within_their_intervals(case) -> None:
    predictions, truths = case
    for metric in confidence_metrics(predictions, truths[1]):
        assert (metric.labels, metric.subset) == ("fewer", "all")
        assert metric.n == 499  # of 500 one is an error
        assert [type(number) for number in (metric.value, *metric.ci)] == [float] * 3
        assert 0 <= metric.ci[0] < metric.value < metric.ci[1] <= 1


def test_no_image_is_no_value() -> None:
    predictions = answered([[1, 2]], {0: "broken"})
    for metric in confidence_metrics(predictions, scored(predictions, [(0,)])):
        assert (metric.value, metric.n, metric.ci) == (None, 0, None)


def test_answers_in_words_have_no_confidence(case) -> None:
    _, truths = case
    words = ClassPredictions(("a", "b"), np.zeros((2, 0), np.float32), {}, {})
    assert confidence_metrics(words, truths[0]) == []
    assert [len(list(rows(softmax_sums(words.scores).top, {}))) for rows in (reliability_rows, threshold_rows)] == [
        1,
        1,
    ]


def test_reliability_rows_count_every_image_once(case) -> None:
    predictions, truths = case
    rows = rows_of(reliability_rows, predictions, truths)
    assert {name: sum(int(row["n"]) for row in rows if row["labels"] == name) for name in ("plain", "fewer")} == {
        "plain": 1498,
        "fewer": 499,
    }
    assert all(float(row["low"]) < float(row["confidence"]) <= float(row["high"]) for row in rows)
    assert all(float(row["ci_low"]) <= float(row["accuracy"]) <= float(row["ci_high"]) for row in rows)


def test_reliability_rows_add_up_to_the_error(case) -> None:
    predictions, truths = case
    rows = rows_of(reliability_rows, predictions, truths[:1])
    gaps = [int(row["n"]) * abs(float(row["accuracy"]) - float(row["confidence"])) for row in rows]
    assert sum(gaps) / 1498 == pytest.approx(confidence_metrics(predictions, truths[0])[0].value, abs=1e-6)


def test_threshold_rows_are_thinned_and_keep_both_ends(case) -> None:
    predictions, truths = case
    rows = [row for row in rows_of(threshold_rows, predictions, truths) if row["labels"] == "plain"]
    assert len(rows) == POINTS
    assert (rows[0]["n"], rows[-1]["n"], rows[-1]["coverage"]) == ("1", "1498", "1.000000")


def test_a_written_threshold_keeps_what_its_row_says(case) -> None:
    predictions, truths = case
    sure, right = softmax_sums(predictions.scores).top, truths[1].correct
    rows = [row for row in rows_of(threshold_rows, predictions, truths) if row["labels"] == "fewer"]
    assert len(rows) == 499
    for row in rows:
        kept = right[(sure >= float(row["threshold"])) & ~np.isnan(right)]
        assert (len(kept), f"{kept.mean():.6f}") == (int(row["n"]), row["accuracy"])
        assert float(row["ci_low"]) <= kept.mean() <= float(row["ci_high"])
