"""A model through transformers and through vLLM."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from eyechart.models.chat.conversation import ChatProcessor
from eyechart.models.generation import generate_all
from eyechart.models.types import Answer, Floats, Generator, Request
from eyechart.models.vllm.generator import VllmGenerator

CHOICES = ["cat", "caterpillar", "a cat that sees", "dog", "cat", " cat", '{"1": "cat"}', *map(str, range(10, 60)), ""]
MANY = [f"{animal} {number}" for animal in ("cat", "dog", "bird") for number in range(100, 250)]
FAMILY = "fast_vlm"  # others answer and score in tests/end_to_end/test_vllm_families.py
Tiny = Callable[[str], Path]


@dataclass(frozen=True)
class Pair:
    """What transformers gave, and the engine that is to give the same."""

    answers: list[Answer]
    scores: Floats
    cut: Floats
    many: Floats
    vllm: VllmGenerator
    folder: Path
    compiled: Path

    @cached_property
    def chat(self) -> ChatProcessor:
        """The processor of the checkpoint."""
        return ChatProcessor(self.folder)


def told(model: Generator, requests: list[Request]) -> list[Answer]:
    """Answers without what a cache had of their prompts."""
    said = generate_all(model, requests, 8)
    return [replace(answer, usage=replace(answer.usage, cached=0)) for answer in said]


def long(pair: Pair, start: str, tokens: int) -> str:
    """A text that makes a prompt of so many tokens, images apart."""
    shorter = start + " cat" * (tokens - 32)
    return shorter + " cat" * (tokens - len(pair.chat.tokenize_prompt(Request((shorter,)))))
