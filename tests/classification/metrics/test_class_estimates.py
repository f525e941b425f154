"""Scoring held to a plain loop over images, and its corner cases."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets
from eyechart.classification.metrics.class_estimates import label_agreement, mean_per_class_recall, top1, top5
from eyechart.data.dataset.dataset import LabelSet, Row, build_label_set
from eyechart.data.labels.equivalences import LabelPolicy
from eyechart.results.records import Metric
from eyechart.statistics.accuracy import Empty

CLASSES = 7
PAIRS = ((0, 1), (1, 2))
RANDOM = np.random.default_rng(0)


def metrics(scored: ClassPredictions) -> list[Metric]:
    """The numbers as a record has them."""
    return [estimate.metric for metric in (top1, top5, mean_per_class_recall) for estimate in metric(scored)]


def score(
    predictions: ClassPredictions, labels: LabelSet, original: Any, policy: LabelPolicy, classes: int
) -> ClassPredictions:
    """Compare predictions with a ground truth."""
    return replace(predictions, targets=Targets((labels,), original, policy, classes))


def truth(given: list[tuple[int, ...] | None], empty: Empty = "correct", name: str = "mine") -> LabelSet:
    rows = [Row(str(index), str(index), "") for index in range(len(given))]
    return build_label_set(name, rows, given, empty, "test")


def answered(
    scores: Any, errors: dict[int, str] | None = None, unparsed: frozenset[int] = frozenset()
) -> ClassPredictions:
    found = np.array(scores, np.float32)
    found[[*(errors or {})]] = np.nan
    return ClassPredictions(tuple(map(str, range(len(found)))), found, errors or {}, {}, unparsed)


def value(scored: ClassPredictions, name: str, category: str = "all") -> Metric:
    return next(metric for metric in metrics(scored) if (metric.name, metric.subset) == (name, category))


def plain_loop(
    predictions: ClassPredictions, labels: list[tuple[int, ...] | None], k: int, empty: str, related: list[set[int]]
) -> list[float]:
    """Right or wrong, image by image, as one would tell a child."""
    found = []
    for index, valid in enumerate(labels):
        best = sorted(range(CLASSES), key=lambda label, row=index: (-predictions.scores[row, label], label))[:k]
        if valid is None or index in predictions.errors or (not valid and empty == "exclude"):
            continue
        allowed = {other for label in valid for other in related[label]}
        found.append(float(empty == "correct") if not valid else float(bool(allowed & {*best})))
    return found


@pytest.mark.parametrize("empty", ["correct", "exclude", "wrong"])
@pytest.mark.parametrize("strict", [False, True])
def test_accuracies_are_those_of_a_plain_loop(empty: Empty, strict: bool) -> None:
    chains = [{0, 1}, {0, 1, 2}, {1, 2}] if strict else [{0, 1, 2}] * 3
    related = [*chains, *({label} for label in range(3, CLASSES))]
    choices: list[Any] = [None, (), (0,), (2,), (5,), (2, 6), (3, 4, 5)]
    labels = [choices[index] for index in RANDOM.integers(0, len(choices), 60)]
    predictions = answered(RANDOM.integers(0, 4, (60, CLASSES)), {3: "broken", 9: "broken"})
    original = RANDOM.integers(-1, CLASSES, 60)
    scored = score(predictions, truth(labels, empty), original, LabelPolicy(PAIRS, strict), CLASSES)
    for name, k in (("acc1", 1), ("acc5", 5)):
        wanted = plain_loop(predictions, labels, k, empty, related)
        assert value(scored, name).n == len(wanted)
        assert value(scored, name).value == pytest.approx(np.mean(wanted))


def test_every_number_is_plain_python() -> None:
    scored = score(answered(np.eye(3)), truth([(0,), (1,), (2,)]), np.arange(3), LabelPolicy(), 3)
    for metric in metrics(scored):
        assert type(metric.n) is int
        assert type(metric.value) in (float, type(None))
        assert metric.ci is None or {type(bound) for bound in metric.ci} == {float}


def test_an_error_is_no_wrong_answer() -> None:
    predictions = answered(np.eye(3), {0: "broken"})
    scored = score(predictions, truth([(0,), (0,), (2,)]), np.arange(3), LabelPolicy(), 3)
    outcomes = scored.count_outcomes()
    assert (outcomes.correct, outcomes.wrong, outcomes.unparsed, outcomes.error) == (1, 1, 0, 1)
    assert value(scored, "acc1").n == 2


def test_an_unread_answer_is_wrong_and_counted_apart() -> None:
    predictions = answered(np.eye(3), unparsed=frozenset({1}))
    scored = score(predictions, truth([(0,), (1,), (0,)]), np.arange(3), LabelPolicy(), 3)
    outcomes = scored.count_outcomes()
    assert (outcomes.correct, outcomes.wrong, outcomes.unparsed, outcomes.error) == (1, 1, 1, 0)
    assert value(scored, "acc1").n == 3


def test_an_unread_answer_is_right_where_no_class_is_shown() -> None:
    predictions = answered(np.eye(3), unparsed=frozenset({1}))
    scored = score(predictions, truth([(0,), (), (2,)]), np.arange(3), LabelPolicy(), 3)
    assert value(scored, "acc1").value == 1


def test_without_any_answer_there_is_no_number() -> None:
    scored = score(answered(np.eye(2), {0: "x", 1: "x"}), truth([(0,), (1,)]), np.arange(2), LabelPolicy(), 2)
    assert {(metric.value, metric.ci, metric.n) for metric in metrics(scored)} == {(None, None, 0)}


def test_a_class_ruled_out_is_never_among_the_best() -> None:
    predictions = answered([[-np.inf, 1, -np.inf], [0, -np.inf, 2]])
    assert predictions.top.tolist() == [[1, -1, -1, -1, -1], [2, 0, -1, -1, -1]]


def test_equal_scores_go_to_the_first_class() -> None:
    assert answered(np.zeros((1, 6))).top.tolist() == [[0, 1, 2, 3, 4]]


def test_categories_and_strict_ones() -> None:
    labels, original = truth([(1,), (0, 2), ()]), np.array([0, 5, 5])
    near = score(answered(np.eye(3)), labels, original, LabelPolicy(((0, 1),)), CLASSES)
    letter = score(answered(np.eye(3)), labels, original, LabelPolicy(((0, 1),), strict_categories=True), CLASSES)
    assert near.scores_by_labels[0][0].categories["single_label_original"].tolist() == [True, False, False]
    assert letter.scores_by_labels[0][0].categories["single_label_original"].tolist() == [False, False, False]
    assert value(near, "acc1", "no_label").value == 1


def test_every_metric_of_single_labels_is_over_the_same_images() -> None:
    """Labels of one group of equivalent classes are one label, unless categories are strict."""
    labels, original = truth([(1,), (0, 1), (0, 2)]), np.array([1, 0, 2])
    near = score(answered(np.eye(3)), labels, original, LabelPolicy(((0, 1),)), CLASSES)
    letter = score(answered(np.eye(3)), labels, original, LabelPolicy(((0, 1),), strict_categories=True), CLASSES)
    for scored, single in ((near, [1, 0, -1]), (letter, [1, -1, -1])):
        assert scored.scores_by_labels[0][0].single_labels.tolist() == single
        assert (
            value(scored, "mean_per_class_recall", "single_label").n
            == value(scored, "acc1", "single_label").n
            == np.greater(single, -1).sum()
        )


def test_both_counts_images_that_both_speak_of() -> None:
    predictions = answered(np.eye(4))
    sets = (truth([(0,), (1,), (0,), None], name="one"), truth([(0,), (0,), (0,), (3,)], name="two"))
    targets = Targets(sets, np.arange(4), LabelPolicy(), 4)
    (found,) = label_agreement(replace(predictions, targets=targets))
    assert (found.name, found.labels, found.n) == ("intersection", "one∩two", 3)
    assert found.value == pytest.approx(1 / 3)
