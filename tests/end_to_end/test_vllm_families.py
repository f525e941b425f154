"""Tiny models of families of each kind answer and score through vLLM as through transformers.

The families differ in how an image becomes tokens: in a fixed number (blip_2), in one block of any shape (qwen3_vl), in
rows (mistral3), or in tiles with tokens between them (idefics3).
"""

from collections.abc import Callable
from pathlib import Path

import family_table
import numpy as np
import pytest

from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Floats, Request
from eyechart.models.vllm.generator import VllmGenerator

pytestmark = pytest.mark.deep

FAMILIES = ("blip_2", "idefics3", "mistral3", "qwen3_vl")  # fast_vlm: tests/models/vllm
MORE = {"qwen3_vl": ",max_logprobs=3"}  # fewer in one request give the same scores
CHOICES = ["cat", "caterpillar", "dog", "hot dog", "a bird", *map(str, range(10))]
TOKENS = 8
ROWS = {row.family: row for row in family_table.read_rows(family_table.PAGE.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_answers_and_scores_alike_through_transformers_and_vllm(
    tiny_chat: Callable[[str], Path], questions: list[Request], family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_chat(family)
    if family == "blip_2":  # takes one image
        questions = [question for question in questions if len(question.images) == 1]
    questions = questions[:6]  # without an image, and with one or two
    hf = HfGenerator(parse_spec(f"hf[{folder}]"), offline=True)
    answers = [answer.tokens for answer in generate_all(hf, questions, TOKENS)]
    scores, cut = hf.score(questions, CHOICES), hf.score(questions, CHOICES, until="unique")
    assert len({*answers}) > len(questions) // 2

    vllm = VllmGenerator(parse_spec(f"vllm[{folder},max_model_len=512{MORE.get(family, '')}]"), offline=True)
    try:
        assert [answer.tokens for answer in generate_all(vllm, questions, TOKENS)] == answers
        for way in ("one pass", "a request each"):
            monkeypatch.setattr(vllm._scorer, "_agrees", None if way == "one pass" else False)
            assert_close(vllm.score(questions, CHOICES), scores)
            assert_close(vllm.score(questions, CHOICES, until="unique"), cut)
            best, values = vllm.best(questions, CHOICES)
            assert best.tolist() == scores.argmax(axis=1).tolist()
            assert_close(values, scores.max(axis=1))
            assert vllm._scorer._agrees == (way == "one pass")
    finally:
        vllm.close()


def assert_close(found: Floats, expected: Floats) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=family_table.BOUND)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_documentation_says_so(family: str) -> None:
    row = ROWS[family].vllm
    assert row is not None
    assert (row.same_tokens, row.path) == (True, "one pass")
    assert row.difference < family_table.BOUND
