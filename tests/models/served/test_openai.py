"""OpenAI: what is asked, in which form, and what is read from a choice."""

import json
from typing import Any

import pytest

from eyechart.models.generation import generate_all
from eyechart.models.served import faults
from eyechart.models.served.openai_chat import parse_completion
from eyechart.models.types import Answer, Usage
from tests.models.served.asked import NAME, Asking, ask


@pytest.mark.deep
def test_answers_come_in_the_order_of_their_requests(asking: Asking, faulty_server: Any) -> None:
    texts = [f"number {index}" for index in range(40)]
    faulty_server.faults = {text: [faulty_server.reply(after=0.03)] for text in texts[::3]}
    found = generate_all(asking(), ask(*texts), 8)
    assert [answer.text for answer in found] == texts
    assert {(answer.finished, answer.error, answer.usage) for answer in found} == {(True, "", Usage(90, 0, 10))}


def test_what_a_server_leaves_out_is_not_missed(asking: Asking, faulty_server: Any) -> None:
    told = faulty_server.good("a fish") | {"model": None, "usage": {"prompt_tokens": 5, "completion_tokens": None}}
    faulty_server.always = faulty_server.reply(told)
    model = asking(served=None)
    assert [answer.text for answer in generate_all(model, ask("what?"), 8)] == ["a fish"]
    assert (model.identity.name, model.session_usage) == ("toy", Usage(10, 0, 0))


def test_an_answer_that_the_server_broke_off_is_an_error(asking: Asking, faulty_server: Any) -> None:
    faulty_server.always = faulty_server.reply(faulty_server.good("a f", finish_reason="error"))
    (answer,) = generate_all(asking(), ask("what?"), 8)
    assert (answer.text, answer.error, answer.retry) == ("", "the server broke off its answer", True)


def test_what_is_asked_is_the_likeliest_answer(asking: Asking, faulty_server: Any) -> None:
    generate_all(asking(), ask("hello"), 7)
    body = faulty_server.asked[0].body
    assert body.pop("messages") == [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
    assert body == {"model": "toy", "max_tokens": 7, "temperature": 0, "seed": 42}


def test_a_model_that_reasons_is_asked_its_own_way(asking: Asking, faulty_server: Any) -> None:
    generate_all(asking(reasoning="true"), ask("hello"), 7)
    assert set(faulty_server.asked[0].body) == {"model", "messages", "max_completion_tokens"}


def test_a_schema_goes_with_the_request(asking: Asking, faulty_server: Any) -> None:
    schema = {"type": "object", "properties": {"1": {"type": "string"}}}
    generate_all(asking(seed="none"), ask("hello"), 7, schema)
    told = faulty_server.asked[0].body["response_format"]
    assert (told["type"], told["json_schema"]["schema"]) == ("json_schema", schema)


@pytest.mark.parametrize(
    ("names", "strict"),
    [
        (["species"], True),
        (["unknown"] * 500, True),
        (["unknown"] * 501, False),
        (["x" * 40] * 251, False),
        (["x" * 40] * 250, True),
    ],
    ids=["one", "500", "501", "long", "few and long"],
)
def test_a_list_of_names_goes_with_the_request(
    asking: Asking, faulty_server: Any, names: list[str], strict: bool
) -> None:
    schema = {"type": "object", "properties": {"species": {"anyOf": [{"enum": names}]}}, "required": ["species"]}
    faulty_server.always = faulty_server.reply(faulty_server.good('{"species": "unknown"}'))
    (answer,) = generate_all(asking(), ask("It may be a wren. Which species does this text name?"), 64, schema)
    told = faulty_server.asked[0].body["response_format"]["json_schema"]
    assert (told["schema"], told["strict"]) == (schema, strict)
    assert (answer.text, answer.error) == ('{"species": "unknown"}', "")


def test_an_answer_that_was_cut_is_not_finished(asking: Asking, faulty_server: Any) -> None:
    faulty_server.always = faulty_server.reply(faulty_server.good("a gold", finish_reason="length"))
    (answer,) = generate_all(asking(), ask("what?"), 2)
    assert (answer.text, answer.finished, answer.error) == ("a gold", False, "")


@pytest.mark.parametrize(
    ("reason", "finished"),
    [
        ("length_limit", False),
        ("model_context_window_exceeded", False),
        ({"type": "length"}, False),
        ("eos_token", True),
    ],
)
def test_the_end_of_an_answer_is_read_in_the_words_of_servers(reason: object, finished: bool) -> None:
    told = {"choices": [{"message": {"content": "B"}, "finish_reason": reason}]}
    assert parse_completion(json.dumps(told).encode()).answer == Answer("B", (), finished)


def test_a_stream_that_was_not_asked_for_is_read_if_it_is_whole() -> None:
    chunks = [{"role": "assistant"}, {"reasoning_content": "Fins."}, {"content": "gold"}, {"content": "fish"}]
    told: list[dict[str, Any]] = [{"model": NAME, "choices": [{"delta": delta}]} for delta in chunks]
    told += [{"choices": [{"delta": {}, "finish_reason": "length"}]}, {"choices": [], "usage": {"prompt_tokens": 9}}]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in told).encode()
    read = parse_completion(b": processing\n\n" + body)
    assert (read.answer, read.model) == (Answer("goldfish", (), False, usage=Usage(9), thinking="Fins."), NAME)
    with pytest.raises(faults.TransientError, match="ended before its end"):
        parse_completion(body[: body.index(b"length")].rpartition(b"data:")[0])


CHOICES: dict[str, tuple[dict[str, Any], str]] = {
    "old": ({"text": "B"}, ""),
    "empty": ({"message": None}, "no answer: the server's choice has no message"),
    "Azure": (
        {"message": {"content": ""}, "content_filter_results": {"hate": {"filtered": True, "severity": "high"}}},
        "content filter: the answer was withheld (hate)",
    ),
    "Google": (
        {"message": None, "finish_reason": "content_filter: RECITATION"}, "content filter: the answer was withheld",
    ),
    "router": (
        {"message": {"content": "B"}, "finish_reason": "error", "error": {"code": 502, "message": "upstream"}},
        "the server broke off its answer: upstream",
    ),
    "aborted": ({"message": {"content": "B"}, "finish_reason": "abort"}, "the server broke off its answer"),
    "hyphen": (
        {"message": {"content": "B"}, "finish_reason": "content-filter"}, "content filter: the answer was withheld",
    ),
    "function": (
        {"message": {"content": None, "function_call": {"name": "f"}}},
        "no answer: the server's message is the call of a tool",
    ),
    "types": (
        {"message": {"content": "B", "refusal": [], "tool_calls": [], "reasoning": None}, "finish_reason": None}, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("choice", "error"), CHOICES.values(), ids=list(CHOICES))
def test_a_choice_is_read_in_every_form(asking: Asking, faulty_server: Any, choice: dict[str, Any], error: str) -> None:
    usage = {"prompt_tokens": 9.0, "completion_tokens": "2"}
    told = {"model": None, "error": None, "usage": usage, "choices": [choice]}
    faulty_server.always = faulty_server.reply(told)
    (answer,) = generate_all(asking(served=NAME), ask("a"), 8)
    assert (answer.text, answer.error, answer.usage) == ("" if error else "B", error, Usage(9, 0, 2))
