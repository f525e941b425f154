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


@pytest.mark.parametrize("pair", [""], indirect=True)
def test_they_think_alike(pair: tuple[HfGenerator, VllmGenerator]) -> None:
    hf, vllm = pair
    assert hf.thinks
    assert vllm.thinks
    assert vllm.scoring_obstacle
    assert not vllm.structured
    expected = ask(hf).text  # before the engine starts
    assert ask(vllm).text == expected == "<think> \nA or C?\n</think> \n\nB"


def test_thinking_that_is_off_is_off_for_both(thinking_chat: Path) -> None:
    hf = HfGenerator(parse_spec(f"hf[{thinking_chat},thinking=off]"))
    vllm = VllmGenerator(parse_spec(f"vllm[{thinking_chat},thinking=off]"))
    assert (hf.thinks, vllm.thinks, vllm.scoring_obstacle, vllm.structured) == (False, False, "", True)
    assert hf.identity.processor["thinking"] == vllm.identity.processor["thinking"]


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
