"""Answers in text, collected image by image: those that rank several names have a second number."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.classification.answers.image_batches import AnswerCollector
from eyechart.classification.metrics.class_estimates import top1, top5
from eyechart.models.types import Usage

NAMES = ("cat", "dog", "great white shark", "hen", "owl")


def collect(context: Any, ranked: Mapping[int, Sequence[int]]) -> ClassPredictions:
    collector = AnswerCollector(len(context.dataset))
    for row in range(collector.size):
        collector.set_position(row, row, 0)
        if row in ranked:
            collector.set_ranked(row, ranked[row])
    return collector.to_predictions(context, Usage(), {})


@pytest.fixture
def context(sit: Any, talker: Any) -> Any:
    """Four pictures of the classes 0 to 3."""
    return sit(talker(lambda *_: ""), range(4), names=NAMES, truths=(sit.original([(0,), (1,), (2,), (3,)]),))


def values(predictions: ClassPredictions) -> dict[str, float]:
    return {each.name: each.value for metric in (top1, top5) for each in metric(predictions) if each.subset == "all"}


def test_ranked_answers_have_a_number_of_their_five_best(context: Any) -> None:
    predictions = collect(context, {0: (0, 1), 1: (0, 2, 3, 4, 1), 2: (-1, 2), 3: (4, 0, 1, 2, -1, 3)})
    assert values(predictions) == {"acc1": 0.25, "acc5": 0.75}  # a name that is no class keeps its rank
    assert [*predictions.rank_notes()] == [
        "2 of 4 answers have fewer than five ranks: acc5 counts those that are there."
    ]


def test_names_that_are_no_class_are_ranks(context: Any) -> None:
    predictions = collect(context, {row: (-1, -1, row, -1, -1) for row in range(4)})
    assert values(predictions) == {"acc1": 0.0, "acc5": 1.0}
    assert not [*predictions.rank_notes()]
    assert predictions.top[0].tolist() == [-1, -1, 0, -1, -1]


def test_an_image_without_an_answer_has_no_rank(context: Any) -> None:
    predictions = collect(context, {0: (0, 1)})
    assert predictions.top.tolist() == [[0, 1, -1, -1, -1], *[[-1] * 5] * 3]
    assert values(predictions) == {"acc1": 0.25, "acc5": 0.25}


def test_a_protocol_that_asks_for_ranks_has_both_numbers_whatever_is_answered(context: Any) -> None:
    predictions = collect(context, {0: (0,), 1: (2,), 2: ()})
    assert values(predictions) == {"acc1": 0.25, "acc5": 0.25}
    assert predictions.unparsed == {2}
    assert [*predictions.rank_notes()] == [
        "2 of 2 answers have fewer than five ranks: acc5 counts those that are there."
    ]
    assert values(collect(context, {})) == {"acc1": 0.0}  # nothing is ranked
