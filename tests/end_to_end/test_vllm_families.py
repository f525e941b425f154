"""Tiny models of more families answer and score as transformers' own code does, and through vLLM in the same way.

The families differ in how an image becomes tokens: in one block of any shape (qwen2_5_vl), in rows (mistral3), or in
tiles, with or without tokens between them (idefics3, internvl).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.types import Request
from eyechart.models.vllm.generator import VllmGenerator
from eyechart.spec import parse_spec

pytestmark = pytest.mark.deep

FAMILIES = ("idefics3", "internvl", "mistral3", "qwen2_5_vl")
CHOICES = ["cat", "caterpillar", "dog", "hot dog", "a bird"]
TOKENS = 8


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


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_answers_and_scores_alike_through_transformers_and_vllm(
    tiny_chat: Callable[[str], Path], questions: list[Request], family: str
) -> None:
    folder = tiny_chat(family)
    hf, reference = HfGenerator(parse_spec(f"hf[{folder},batch_size=5]"), offline=True), Reference(folder)
    answers, scores = generate_all(hf, questions, TOKENS), hf.score(questions, CHOICES)
    assert [answer.tokens for answer in answers] == [reference.answer(question) for question in questions]
    assert len({answer.tokens for answer in answers}) > len(questions) // 2
    expected = [[reference.score(question, choice) for choice in CHOICES] for question in questions]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-4)

    vllm = VllmGenerator(parse_spec(f"vllm[{folder},max_model_len=512]"), offline=True)
    try:
        assert [answer.tokens for answer in generate_all(vllm, questions, TOKENS)] == [one.tokens for one in answers]
        np.testing.assert_allclose(vllm.score(questions, CHOICES), scores, rtol=0, atol=1e-4)
    finally:
        vllm.close()
