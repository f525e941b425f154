"""Prompts that are refused or fail on the way, images that cannot be read, and a reader that stops early."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from eyechart.errors import RequestError
from eyechart.models.generation import generate_all
from eyechart.models.types import Request
from tests.models.vllm.pairs import Pair, long, told

pytestmark = pytest.mark.deep


def test_images_of_refused_prompts_are_shown_again(pair: Pair, questions: list[Request]) -> None:
    fresh = Image.fromarray(np.random.default_rng(9).integers(0, 256, (60, 60, 3), dtype=np.uint8))
    refused, seen = told(pair.vllm, [Request((long(pair, "", 508), fresh)), Request(("what?", fresh))])
    assert "cannot take a request" in refused.error
    assert seen.tokens
    assert [seen] == told(pair.vllm, [Request(("what?", fresh))])


def test_an_early_end_leaves_the_engine_clean(pair: Pair, questions: list[Request]) -> None:
    taken: list[int] = []
    requests = (taken.append(index) or questions[index % 12] for index in range(1000))
    answers = pair.vllm.generate(requests, 8)
    next(answers)
    answers.close()
    assert len(taken) <= 3 * pair.vllm.batch_size
    assert not pair.vllm._engine.llms[0].llm_engine.has_unfinished_requests()
    assert told(pair.vllm, questions) == pair.answers


def test_what_fails_on_the_way_is_raised_after_the_answers(pair: Pair, questions: list[Request]) -> None:
    answers = pair.vllm.generate((questions[0 if index else 1 // index] for index in (1, 1, 0)), 8)
    assert {next(answers)[0], next(answers)[0]} == {0, 1}
    with pytest.raises(ZeroDivisionError):
        next(answers)
    assert told(pair.vllm, questions) == pair.answers


def test_a_picture_that_cannot_be_read_is_an_error_and_the_others_are_answered(
    pair: Pair, questions: list[Request]
) -> None:
    file = BytesIO()
    Image.effect_noise((64, 64), 90).convert("RGB").save(file, "PNG")
    requests = [questions[0], Request((Image.open(BytesIO(file.getvalue()[:2000])), "what?")), questions[3]]
    said = generate_all(pair.vllm, requests, 8)
    assert "cannot be prepared (OSError: image file is truncated" in said[1].error
    assert [said[0].tokens, said[2].tokens] == [pair.answers[0].tokens, pair.answers[3].tokens]
    for ask in (pair.vllm.score, pair.vllm.best):
        with pytest.raises(RequestError) as caught:
            ask(requests, ["cat", "dog"])
        assert [*caught.value.errors] == [1]
