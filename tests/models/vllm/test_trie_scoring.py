"""The most likely choice, and choices up to where they differ, are those of transformers."""

import numpy as np
import pytest

from eyechart.models.types import Request
from tests.models.vllm.pairs import CHOICES, Pair, told

pytestmark = pytest.mark.deep


def test_scores_up_to_where_choices_differ_are_those_of_transformers(pair: Pair, questions: list[Request]) -> None:
    found = pair.vllm.score(questions, CHOICES, until="unique")
    np.testing.assert_allclose(found, pair.cut, rtol=0, atol=1e-4)
    assert np.any(found > pair.scores + 0.1)


def test_questions_without_images_have_answers_scores_and_a_best_choice(pair: Pair, questions: list[Request]) -> None:
    rows = [row for row, question in enumerate(questions) if not question.images]
    asked = [questions[row] for row in rows]
    assert told(pair.vllm, asked) == [pair.answers[row] for row in rows]
    np.testing.assert_allclose(pair.vllm.score(asked, CHOICES, until="unique"), pair.cut[rows], rtol=0, atol=1e-4)
    assert pair.vllm.best(asked, CHOICES)[0].tolist() == pair.scores[rows].argmax(axis=1).tolist()


def test_the_best_choices_are_those_of_transformers(pair: Pair, questions: list[Request]) -> None:
    found, values = pair.vllm.best(questions, CHOICES)
    assert found.tolist() == pair.scores.argmax(axis=1).tolist()
    np.testing.assert_allclose(values, pair.scores.max(axis=1), rtol=0, atol=1e-4)
