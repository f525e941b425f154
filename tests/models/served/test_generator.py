"""Every provider through its official client: a real server on loopback in its wire format, with faults on demand."""

import json
from collections.abc import Callable
from io import BytesIO
from traceback import format_exception
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.data.images import decode_image
from eyechart.errors import ModelError, SpecError
from eyechart.models.generation import generate_all
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request, Usage
from tests.models.served.asked import KEY, NAME, AskingBy, ask

SCHEMA = {
    "type": "object",
    "properties": {"1": {"type": "string"}},
    "required": ["1"],
    "additionalProperties": False,
}
COUNTS = {
    "prompt_tokens": 90,
    "completion_tokens": 10,
    "prompt_tokens_details": {"cached_tokens": 30},
    "completion_tokens_details": {"reasoning_tokens": 4},
}
APIS: dict[str, tuple[str, dict[str, object]]] = {
    "chat": ("openai", {}),
    "responses": ("openai", {"api": "responses"}),
    "anthropic": ("anthropic", {}),
    "gemini": ("gemini", {}),
}


@pytest.fixture(params=list(APIS))
def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(asking_by: AskingBy, api: str) -> AskingBy:
    """Make models of the provider."""
    backend, usual = APIS[api]
    return lambda **options: asking_by(backend, **(usual | options))


def test_answers_tokens_and_thinking_are_those_of_the_server(make: AskingBy, api: str, faulty_server: Any) -> None:
    faulty_server.usage = COUNTS
    model = make()
    texts = [f"number {index}" for index in range(12)]
    answers = generate_all(model, ask(*texts), 8)
    assert [answer.text for answer in answers] == texts
    assert {(answer.finished, answer.error, answer.usage) for answer in answers} == {(True, "", Usage(90, 30, 10, 4))}
    assert {answer.thinking for answer in answers} == {"" if api == "chat" else "Let me see."}
    assert model.session_usage == Usage(12 * 90, 12 * 30, 12 * 10, 12 * 4)


def test_the_server_is_asked_for_its_name_and_the_key_is_sent(make: AskingBy, faulty_server: Any) -> None:
    model = make(served=None)
    assert (model.identity.name, model.identity.processor["asked"]) == (NAME, "toy")
    assert {asked.key.removeprefix("Bearer ") for asked in faulty_server.asked} == {KEY}


def test_images_are_sent_as_they_are_and_in_their_place(make: AskingBy, faulty_server: Any) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    file = BytesIO()
    Image.fromarray(pixels).save(file, "JPEG")
    request = Request((decode_image(file.getvalue(), ""), "or", Image.fromarray(pixels), "?"), (file.getvalue(), b""))
    (answer,) = generate_all(make(), [request], 8)
    assert answer.text == "?"
    jpeg, png = faulty_server.asked[0].files
    assert jpeg == file.getvalue()
    np.testing.assert_array_equal(np.asarray(Image.open(BytesIO(png))), pixels)


BODIES: dict[str, Callable[[dict[str, Any]], tuple[object, ...]]] = {
    "chat": lambda body: (body["model"], body["max_tokens"], body["temperature"], body["seed"]),
    "responses": lambda body: (body["model"], body["max_output_tokens"], body["temperature"], 42),
    "anthropic": lambda body: (body["model"], body["max_tokens"], body["temperature"], 42),
    "gemini": lambda body: (
        "toy",
        body["generationConfig"]["maxOutputTokens"],
        body["generationConfig"]["temperature"],
        body["generationConfig"]["seed"],
    ),
}


def test_what_is_sent_is_what_the_options_say(make: AskingBy, api: str, faulty_server: Any) -> None:
    generate_all(make(**({"temperature": 0} if api == "anthropic" else {})), ask("hello"), 20)
    (asked,) = faulty_server.asked
    assert BODIES[api](asked.body) == ("toy", 20, 0, 42)
    assert "tools" not in asked.body
    assert (api != "gemini") or "/models/toy:generateContent" in asked.path


SCHEMAS: dict[str, Callable[[dict[str, Any]], object]] = {
    "chat": lambda body: body["response_format"]["json_schema"]["schema"],
    "responses": lambda body: body["text"]["format"]["schema"],
    "anthropic": lambda body: body["output_config"]["format"]["schema"],
    "gemini": lambda body: body["generationConfig"]["responseJsonSchema"],
}
EFFORTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "chat": lambda body: body["reasoning_effort"],
    "responses": lambda body: body["reasoning"]["effort"],
    "anthropic": lambda body: body["output_config"]["effort"],
    "gemini": lambda body: body["generationConfig"]["thinkingConfig"]["thinking_level"].lower(),
}


def test_a_schema_and_an_effort_go_with_the_request(make: AskingBy, api: str, faulty_server: Any) -> None:
    model = make(effort="low", **({"reasoning": "true"} if APIS[api][0] == "openai" else {}))
    generate_all(model, ask("hello"), 20, SCHEMA)
    assert SCHEMAS[api](faulty_server.asked[0].body) == SCHEMA
    assert EFFORTS[api](faulty_server.asked[0].body) == "low"
    assert model.identity.processor["effort"] == "low"


FORMATS = {"chat": "chat/completions", "responses": "responses", "anthropic": "messages", "gemini": "generateContent"}
CUT = {
    "chat": {"finish_reason": "length"},
    "responses": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    "anthropic": {"stop_reason": "max_tokens"},
    "gemini": {"finishReason": "MAX_TOKENS"},
}
REFUSED = {
    "chat": {"message": {"content": None, "refusal": "I can't"}},
    "responses": {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I can't"}]}]},
    "anthropic": {
        "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "explanation": "I can't"},
        "content": [],
    },
    "gemini": {"finishReason": "PROHIBITED_CONTENT", "content": {}},
}
WITHHELD = {
    "chat": {"finish_reason": "content_filter"},
    "responses": {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
    "anthropic": {"stop_reason": "refusal", "content": []},
    "gemini": {"finishReason": "SAFETY"},
}
BROKEN = {
    "chat": {"finish_reason": "error"},
    "responses": {"status": "failed", "error": {"code": "server_error", "message": "oh"}, "output": []},
    "anthropic": {"stop_reason": "pause_turn"},
    "gemini": {"finishReason": "MALFORMED_RESPONSE"},
}
EMPTY = {
    "chat": {"message": {"content": ""}},
    "responses": {"output": []},
    "anthropic": {"content": []},
    "gemini": {"content": {}},
}


def reply_with(server: Any, api: str, text: str, facts: dict[str, Any]) -> Any:
    """A reply of the server in the format of an API."""
    usage = {"prompt_tokens": 90, "completion_tokens": 10}
    write = type(server).__init__.__globals__["FORMATS"][FORMATS[api]]
    return server.reply(write(NAME, text, usage, **facts[api]))


def test_an_answer_at_the_token_limit_is_not_finished(make: AskingBy, api: str, faulty_server: Any) -> None:
    faulty_server.always = reply_with(faulty_server, api, "a gold", CUT)
    (answer,) = generate_all(make(), ask("what?"), 2)
    assert (answer.text, answer.finished, answer.error, answer.usage) == ("a gold", False, "", Usage(90, 0, 10))


def test_thinking_up_to_the_token_limit_is_a_truncated_answer(make: AskingBy, api: str, faulty_server: Any) -> None:
    facts = {
        "chat": {"finish_reason": "length", "message": {"content": None, "reasoning_content": "Let me"}},
        "responses": CUT["responses"] | {"output": [{"type": "reasoning", "summary": [{"text": "Let me"}]}]},
        "anthropic": CUT["anthropic"] | {"content": [{"type": "thinking", "thinking": "Let me"}]},
        "gemini": CUT["gemini"] | {"content": {"parts": [{"text": "Let me", "thought": True}]}},
    }
    faulty_server.always = reply_with(faulty_server, api, "", facts)
    (answer,) = generate_all(make(), ask("what?"), 2)
    assert (answer.text, answer.thinking, answer.finished, answer.error) == ("", "Let me", False, "")


@pytest.mark.parametrize(
    ("facts", "sentence", "retry"),
    [
        (REFUSED, "refusal: I can't", False),
        (WITHHELD, "content filter: the answer was withheld", False),
        (BROKEN, "the server broke off its answer", True),
    ],
    ids=["refused", "withheld", "broken"],
)
def test_what_is_no_answer_is_an_error_with_its_tokens(
    make: AskingBy, api: str, faulty_server: Any, facts: dict[str, Any], sentence: str, retry: bool
) -> None:
    faulty_server.faults = {"b": [reply_with(faulty_server, api, "a f", facts)]}
    answers = generate_all(make(), ask("a", "b", "c"), 8)
    assert [answer.text for answer in answers] == ["a", "", "c"]
    expected = {
        ("anthropic", "content filter: the answer was withheld"): "refusal: without a reason",
        ("gemini", "refusal: I can't"): "content filter: the answer was withheld (PROHIBITED_CONTENT)",
    }.get((api, sentence), sentence)
    assert answers[1].error.startswith(expected)
    assert (answers[1].retry, answers[1].usage) == (retry, Usage(90, 0, 10))
    assert len(faulty_server.times("b")) == 1


def test_an_empty_answer_is_told(make: AskingBy, api: str, faulty_server: Any) -> None:
    faulty_server.always = reply_with(faulty_server, api, "", EMPTY)
    (answer,) = generate_all(make(), ask("what?"), 8)
    assert (answer.text, bool(answer.error)) == ("", api in ("responses", "anthropic"))


@pytest.mark.parametrize("body", [[1], {"status": "ok"}, {"choices": "none"}, "OK", None])
def test_a_reply_that_cannot_be_understood_is_paid_once(make: AskingBy, faulty_server: Any, body: Any) -> None:
    faulty_server.faults = {"b": [faulty_server.reply(json.dumps(body).encode())]}
    answers = generate_all(make(), ask("a", "b", "c"), 8)
    assert [answer.text for answer in answers] == ["a", "", "c"]
    assert answers[1].error.startswith(("the response has an unknown form", 'the response has no "'))
    assert (answers[1].retry, len(faulty_server.times("b"))) == (True, 1)


PARTS = {
    "chat": {"message": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Fins."}]},
                                     {"type": "text", "text": "B"}, {"type": "reference", "reference_ids": [1]}]}},
    "responses": {"output": [{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Fins."}]},
                             {"type": "message", "content": [{"type": "output_text", "text": "B"}]}]},
    "anthropic": {"content": [{"type": "thinking", "thinking": "Fins."}, {"type": "redacted_thinking", "data": "x"},
                              {"type": "text", "text": "B"}]},
    "gemini": {"content": {"parts": [{"text": "Fins.", "thought": True}, {"text": "B", "thoughtSignature": "x"}]}},
}  # fmt: skip


def test_texts_among_the_parts_of_a_content_are_the_answer(make: AskingBy, api: str, faulty_server: Any) -> None:
    faulty_server.always = reply_with(faulty_server, api, "", PARTS)
    (answer,) = generate_all(make(), ask("what?"), 8)
    assert (answer.text, answer.thinking, answer.error, answer.usage) == ("B", "Fins.", "", Usage(90, 0, 10))


def refuse(server: Any, api: str, status: int, message: str, kind: str = "", **headers: str) -> Any:
    """An error in the format of an API."""
    if api == "anthropic":
        body = {"type": "error", "error": {"type": kind or "api_error", "message": message}, "request_id": "1"}
    elif api == "gemini":
        body = {"error": {"code": status, "message": message, "status": kind or "INTERNAL"}}
    else:
        body = {"error": {"message": message, "type": "error", "code": kind}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.reply(body, status=status, headers=named)


@pytest.mark.parametrize(
    "fault",
    [
        lambda server, api: refuse(server, api, 429, "slow down", "rate_limit_error"),
        lambda server, api: refuse(server, api, 500, "oh"),
        lambda server, api: refuse(server, api, 503, "overloaded", "UNAVAILABLE"),
        lambda server, api: refuse(server, api, 529, "Overloaded", "overloaded_error"),
        lambda server, api: server.reply(b"<html>bad gateway</html>", status=502),
        lambda server, api: server.reply(cut=True),
        lambda server, api: server.reply(b'{"content": [{"mess'),
        lambda server, api: server.reply(b"<html>maintenance</html>", headers={"content-type": "text/html"}),
        lambda server, api: server.reply({"error": {"message": "upstream failed", "code": 502}}),
    ],
    ids=["429", "500", "503", "529", "502 html", "cut", "half", "html", "error in 200"],
)
def test_what_may_pass_is_asked_again_by_us_alone(
    make: AskingBy, api: str, faulty_server: Any, fault: Callable[[Any, str], Any]
) -> None:
    faulty_server.faults = {"b": [fault(faulty_server, api), fault(faulty_server, api)]}
    answers = generate_all(make(), ask("a", "b", "c"), 8)
    assert [(answer.text, answer.error) for answer in answers] == [("a", ""), ("b", ""), ("c", "")]
    assert [len(faulty_server.times(text)) for text in "abc"] == [1, 3, 1]


def test_no_answer_in_time_is_asked_again(make: AskingBy, faulty_server: Any) -> None:
    faulty_server.faults = {"b": [faulty_server.reply(after=30)]}
    assert [answer.text for answer in generate_all(make(timeout=1), ask("a", "b"), 8)] == ["a", "b"]


@pytest.mark.deep
def test_as_long_as_the_server_asks_is_waited(make: AskingBy, api: str, faulty_server: Any) -> None:
    fault = refuse(faulty_server, api, 429, "You exceeded your current quota", "RESOURCE_EXHAUSTED", retry_after="0.4")
    if api == "gemini":
        detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.4s"}
        told = {"code": 429, "message": "You exceeded your current quota", "status": "X", "details": [detail]}
        fault = faulty_server.reply({"error": told}, status=429)
    faulty_server.faults = {"a": [fault]}
    generate_all(make(backoff=0), ask("a"), 8)
    first, second = faulty_server.times("a")
    assert second - first >= 0.4


def test_what_concerns_one_request_is_its_outcome(make: AskingBy, api: str, faulty_server: Any) -> None:
    faulty_server.faults = {
        "b": [
            refuse(
                faulty_server, api, 400, "prompt is too long: 200001 tokens > 200000 maximum", "invalid_request_error"
            )
        ],
        "c": [refuse(faulty_server, api, 400, "Output blocked by content filtering policy", "invalid_request_error")],
        "d": [refuse(faulty_server, api, 413, "Request exceeds the maximum size", "request_too_large")],
        "e": [refuse(faulty_server, api, 400, "no pictures, please")],
    }
    answers = generate_all(make(), ask(*"abcde"), 8)
    assert [answer.error.partition(":")[0] for answer in answers] == [
        "",
        "context length",
        "content filter",
        "request too large",
        "the server refused the request (HTTP 400",
    ]
    assert [answer.retry for answer in answers] == [False, False, False, False, True]


ENDS = {
    "key": (401, f"invalid x-api-key {KEY}", "does not accept the API key"),
    "Google's key": (400, "API key not valid. Please pass a valid API key.", "does not accept the API key"),
    "model": (404, "model: toy", "no such model or address"),
    "credit": (400, "Your credit balance is too low to access the API.", "no credit left"),
    "elsewhere": (307, "moved", "sends requests elsewhere"),
}


@pytest.mark.parametrize(("status", "said", "sentence"), ENDS.values(), ids=list(ENDS))
def test_what_concerns_all_is_one_error_without_retries(
    make: AskingBy, api: str, faulty_server: Any, status: int, said: str, sentence: str
) -> None:
    headers = {"location": faulty_server.address} if status == 307 else {}
    faulty_server.always, model = refuse(faulty_server, api, status, said, **headers), make(served=None)
    with pytest.raises(ModelError, match=sentence) as error:
        generate_all(model, ask(*"abcdefgh"), 8)
    assert KEY not in "".join(format_exception(error.value))
    assert len(faulty_server.asked) == 1


def test_a_refused_connection_ends_the_run_soon(make: AskingBy) -> None:
    with pytest.raises(
        ModelError, match=r"There is no server at http://127\.0\.0\.1:9: .*, 2 times\. Start the server"
    ):
        generate_all(make(base_url="http://127.0.0.1:9", retries=6), ask(*"abc"), 8)


def test_the_key_in_an_answer_is_replaced(make: AskingBy, faulty_server: Any) -> None:
    faulty_server.answer = lambda asked: f"a fish; {asked.key}"
    (answer,) = generate_all(make(), ask("what?"), 8)
    assert answer.text.endswith("[key]")
    assert KEY not in repr(answer)


@pytest.mark.parametrize("backend", ["anthropic", "gemini"])
@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("my_key=sk-123", "has my_key. Keys come from the environment alone: export"),
        ("base_url=https://host?sk-123", "user name, a query or a fragment"),
        ("effort=huge", "effort=huge. Expected one of"),
        ("temperature=-1", "temperature=-1. Expected a number of at least 0"),
        ("reasoning=true", "has the option 'reasoning', which"),
    ],
)
def test_options_are_checked(backend: str, option: str, sentence: str) -> None:
    with pytest.raises(SpecError) as error:
        create_model(parse_spec(f"{backend}[toy,{option}]"))
    assert sentence in str(error.value)
    assert "sk-123" not in str(error.value)


def test_effort_needs_a_model_that_reasons() -> None:
    with pytest.raises(SpecError, match=r"effort=low, which only reasoning models take\. Add reasoning=true"):
        create_model(parse_spec("openai[toy,effort=low]"))


@pytest.mark.parametrize(("backend", "package"), [("anthropic", "anthropic"), ("gemini", "google.genai")])
def test_the_client_that_is_not_there_names_its_extra(
    backend: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "eyechart.models.served.generator.find_spec", lambda name: None if name == package else object()
    )
    with pytest.raises(
        ModelError, match=rf"'{package}', which is not installed\. .*pip install 'eyechart\[{backend}\]'"
    ):
        create_model(parse_spec(f"{backend}[toy]"))


@pytest.mark.parametrize("backend", ["anthropic", "gemini"])
@pytest.mark.parametrize("option", ["temperature=1", "effort=low", "served=other", "base_url=http://localhost:2"])
def test_what_changes_an_answer_is_in_the_identity(backend: str, option: str) -> None:
    usual = f"{backend}[toy,served=toy,base_url=http://localhost:1]"
    plain, other = parse_spec(usual), parse_spec(f"{backend}[toy,{option}]")
    plain.options.update(other.options)
    assert create_model(plain).identity != create_model(parse_spec(usual)).identity
