"""Tiny models of more families answer and score as transformers' own code does, and through vLLM in the same way.

The families differ in how an image becomes tokens: in one block of any shape (qwen2_5_vl), in rows (mistral3), or in
tiles, with or without tokens between them (idefics3, internvl).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import family_table
import numpy as np
import pytest

from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Floats, Request
from eyechart.models.vllm.generator import VllmGenerator

pytestmark = [
    pytest.mark.deep,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # of glm4v's processor
]

FAMILIES = ("blip_2", "glm4v", "idefics3", "internvl", "mistral3", "qwen2_5_vl", "qwen3_vl")  # fast_vlm: test_vllm
BESIDE_TRANSFORMERS = ("idefics3", "internvl", "mistral3", "qwen2_5_vl")
MORE = {"qwen3_vl": ",max_logprobs=3"}  # fewer in one request give the same scores
CHOICES = ["cat", "caterpillar", "dog", "hot dog", "a bird", *map(str, range(10))]
TOKENS = 8
ROWS = {row.family: row for row in family_table.read_rows(family_table.PAGE.read_text(encoding="utf-8"))}


class Reference:
    """A checkpoint read by transformers, one request at a time."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForImageTextToText, AutoProcessor

        self.model = AutoModelForImageTextToText.from_pretrained(folder).eval()
        self.processor = AutoProcessor.from_pretrained(folder)

    def read(self, request: Request, choice: str = "") -> Any:
        """Return a prompt, and what stands behind it, as tensors."""
        parts = [{"type": "text", "text": p} if isinstance(p, str) else {"type": "image"} for p in request.parts]
        before = self.processor.apply_chat_template([{"role": "user", "content": parts}], add_generation_prompt=True)
        images = {"images": [list(request.images)]} if request.images else {}
        return self.processor(text=[before + choice], **images, return_tensors="pt")

    def answer(self, request: Request) -> tuple[int, ...]:
        """Return the tokens of an answer."""
        prompt = self.read(request)
        tokens = self.model.generate(**prompt, max_new_tokens=TOKENS, do_sample=False)
        return tuple(tokens[0, prompt["input_ids"].shape[1] :].tolist())

    def score(self, request: Request, choice: str) -> float:
        """Return a choice's log-probability, up to its end of turn."""
        import torch

        start = self.read(request)["input_ids"].shape[1]
        prompt = self.read(request, choice + self.processor.tokenizer.eos_token)
        with torch.inference_mode():
            logits = self.model(**prompt).logits[0, start - 1 : -1].double()
        return float(logits.log_softmax(-1).gather(1, prompt["input_ids"][:, start:].T).sum())


@pytest.mark.parametrize("family", BESIDE_TRANSFORMERS)
def test_a_family_answers_and_scores_as_transformers_own_code_does(
    tiny_chat: Callable[[str], Path], questions: list[Request], family: str
) -> None:
    folder, asked, choices = tiny_chat(family), questions[:6], CHOICES[:5]
    hf, reference = HfGenerator(parse_spec(f"hf[{folder},batch_size=5]"), offline=True), Reference(folder)
    answers = [answer.tokens for answer in generate_all(hf, asked, TOKENS)]
    assert answers == [reference.answer(question) for question in asked]
    expected = [[reference.score(question, choice) for choice in choices] for question in asked]
    np.testing.assert_allclose(hf.score(asked, choices), expected, rtol=0, atol=1e-4)


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
