"""Models that think answer through vLLM as through transformers, with and without thinking."""

from collections.abc import Iterator
from pathlib import Path
from runpy import run_path

import pytest
from PIL import Image

from eyechart.inference.store.responses import Response
from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer, Generator, Request
from eyechart.models.vllm.generator import VllmGenerator

pytestmark = pytest.mark.deep

MAKER = run_path(str(Path(__file__).parents[1] / "thinking_checkpoint.py"))
SCHEMA = {"type": "object", "properties": {"1": {"enum": ["cat", "dog"]}}, "required": ["1"]}


def ask(model: Generator) -> Answer:
    request = Request((Image.new("RGB", (64, 64), (0, 90, 200)), MAKER["question"]()))
    (answer,) = generate_all(model, [request], 40)
    return answer


@pytest.fixture
def pair(request: pytest.FixtureRequest, thinking_chat: Path) -> Iterator[tuple[HfGenerator, VllmGenerator]]:
    vllm = VllmGenerator(parse_spec(f"vllm[{thinking_chat},max_model_len=512{request.param}]"), offline=True)
    yield HfGenerator(parse_spec(f"hf[{thinking_chat}{request.param}]"), offline=True), vllm
    vllm.close()


@pytest.mark.parametrize(
    ("pair", "text"),
    [("", "<think> \nA or C?\n</think> \n\nB"), (",thinking=off", "C")],
    indirect=["pair"],
)
def test_they_think_alike(pair: tuple[HfGenerator, VllmGenerator], text: str) -> None:
    hf, vllm = pair
    assert hf.thinks == vllm.thinks == ("think" in text) == bool(vllm.scoring_obstacle)
    assert vllm.structured is not vllm.thinks
    assert ask(hf).text == ask(vllm).text == text  # in this order: transformers loads before the engine starts
    assert hf.identity.processor.get("thinking") == vllm.identity.processor.get("thinking")


@pytest.mark.parametrize("pair", [",thinking_budget=2"], indirect=True)
def test_thinking_that_takes_its_budget_ends_in_an_answer(pair: tuple[HfGenerator, VllmGenerator]) -> None:
    hf, vllm = pair
    expected, answer = ask(hf), ask(vllm)
    assert answer.tokens == expected.tokens
    response = Response.from_completion(answer.text)
    assert response.thinking.startswith("<think>")
    assert "</think>" in response.thinking
    assert "A or C?" not in response.thinking
    assert response.text
