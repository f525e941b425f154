"""A true server on loopback says through `openai[…]` what the engine in this process says through `vllm[…]`."""

import json
from collections.abc import Iterator
from importlib.resources import files
from itertools import islice, pairwise
from pathlib import Path
from runpy import run_path

import pytest
from PIL import Image

from eyechart.models.openai_generator import OpenAi
from eyechart.models.together import generate
from eyechart.models.types import Answer, Request
from eyechart.models.vllm_generator import Vllm
from eyechart.spec import parse
from eyechart.toybox.exam import groups, skills

TOKENS = 24
ROOM = 1024
SCHEMA = {
    "type": "object",
    "properties": {"1": {"type": "string"}},
    "required": ["1"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAi]:
    """The packaged model behind vLLM's own server."""
    folder = Path(str(files("eyechart.samples"))) / "toybox-mllm"
    serving = run_path(str(Path(__file__).parents[1] / "vllm_server.py"))["serving"]
    with serving(folder, "--max-model-len", str(ROOM)) as url:
        model = OpenAi(parse(f"openai[served,base_url={url}]"), offline=True)
        yield model
        model.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[Vllm]:
    """The same model in this process."""
    model = Vllm(parse(f"vllm[toybox-mllm,max_model_len={ROOM}]"), offline=True)
    yield model
    model.close()


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    """Questions of every skill, words before, between and after pictures, and one without any."""
    items = [item for skill in skills() for item in islice(skill.items(groups()[0], 8), 8)]
    asked = [Request((item.image, item.question.prompt)) for item in items]
    two = [Request((one.parts[0], "and", other.parts[0], "Which are they?")) for one, other in pairwise(asked[:6])]
    return [*asked, *two, Request(("What do you see?", items[0].image)), Request(("What is a dog?",))]


def told(answers: list[Answer]) -> list[tuple[str, bool, int, int]]:
    """What both sides tell; a server tells no tokens, and keeps the space before a word."""
    return [(one.text.strip(), one.finished, one.usage.prompt, one.usage.answer) for one in answers]


def test_a_server_says_what_the_engine_says(server: OpenAi, engine: Vllm, requests: list[Request]) -> None:
    found, expected = (told(generate(model, requests, TOKENS)) for model in (server, engine))
    assert found == expected
    assert len({text for text, *_ in found}) > len(requests) // 3


@pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated:DeprecationWarning")  # how vLLM calls xgrammar
def test_a_schema_holds_both(server: OpenAi, engine: Vllm, requests: list[Request]) -> None:
    found, expected = (told(generate(model, requests[:4], 48, SCHEMA)) for model in (server, engine))
    assert found == expected
    assert {tuple(json.loads(text)) for text, finished, *_ in found if finished} == {("1",)}


@pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated:DeprecationWarning")  # how vLLM calls xgrammar
@pytest.mark.parametrize("names", [8, 3651])
def test_a_text_alone_is_held_to_a_list_of_names_by_both(server: OpenAi, engine: Vllm, names: int) -> None:
    known = [f"Species number{place}" for place in range(names)]
    schema = SCHEMA | {"properties": {"1": {"enum": known}}}
    asked = [Request((f"Someone wrote: {text}. Which species is it?",)) for text in ("a gull", "a wren", "no idea")]
    found, expected = (told(generate(model, asked, 48, schema)) for model in (server, engine))
    assert found == expected
    assert {json.loads(text)["1"] for text, *_ in found} <= {*known}


def test_too_long_a_request_is_an_error_of_its_own_on_both(server: OpenAi, engine: Vllm) -> None:
    grey = Image.new("RGB", (64, 64), (128, 128, 128))
    asked = [Request((grey, "so on " * 1000)), Request((grey, "What is this?"))]
    for model in (server, engine):
        refused, answered = generate(model, asked, TOKENS)
        assert (refused.text, refused.retry, answered.error) == ("", False, "")
        assert "1024 tokens" in refused.error


def test_a_server_tells_what_its_cache_held(server: OpenAi) -> None:
    shared = " ".join(f"name {place}" for place in range(60))
    (first,), (second,) = (generate(server, [Request((shared, f"{last}?"))], 1) for last in "ab")
    assert first.usage.cached < second.usage.cached
    assert second.usage.cached >= second.usage.prompt - 40
