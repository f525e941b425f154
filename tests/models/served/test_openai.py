"""Asking over a network that goes wrong: a real server on loopback, with faults on demand."""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from runpy import run_path
from threading import Event, Timer
from time import monotonic
from traceback import format_exception
from typing import Any

import pytest
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.generation import generate_all
from eyechart.models.served.openai import OpenAiGenerator
from eyechart.models.types import Request, Usage

KEY = "sk-very-secret-0123456789"
NAME = "toy-2026-01-01"
Asking = Callable[..., OpenAiGenerator]
NO_TEXT = "no answer: the server's content has no text but"
SERVER = run_path(str(Path(__file__).parents[2] / "faulty_server.py"))


def ask(*texts: str) -> list[Request]:
    return [Request((text,)) for text in texts]


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
    "fault",
    [
        lambda server: server.refusal(429, "slow down"),
        lambda server: server.refusal(500, "oh"),
        lambda server: server.refusal(502, "oh"),
        lambda server: server.refusal(503, "overloaded"),
        lambda server: server.refusal(529, "overloaded"),
        lambda server: server.reply(b"<html>bad gateway</html>", status=504),
        lambda server: server.reply(cut=True),
        lambda server: server.reply(b"{", cut=True),
        lambda server: server.reply(b'{"choices": [{"mess'),
        lambda server: server.reply(b"<html>maintenance</html>", headers={"content-type": "text/html"}),
        lambda server: server.reply({"error": {"message": "upstream failed", "code": 502}}),
    ],
)
def test_what_may_pass_is_asked_again(asking: Asking, faulty_server: Any, fault: Callable[[Any], Any]) -> None:
    faulty_server.faults = {"b": [fault(faulty_server), fault(faulty_server)]}
    found = generate_all(asking(), ask("a", "b", "c"), 8)
    assert [(answer.text, answer.error) for answer in found] == [("a", ""), ("b", ""), ("c", "")]
    assert [len(faulty_server.times(text)) for text in "abc"] == [1, 3, 1]


@pytest.mark.parametrize("slowly", [{"after": 30}, {"drip": 0.2}], ids=str)
def test_no_answer_in_time_is_asked_again(asking: Asking, faulty_server: Any, slowly: dict[str, float]) -> None:
    faulty_server.faults = {"b": [faulty_server.reply(**slowly)]}
    found = generate_all(asking(timeout=1), ask("a", "b"), 8)
    assert [answer.text for answer in found] == ["a", "b"]
    assert len(faulty_server.times("b")) == 2


@pytest.mark.deep
@pytest.mark.parametrize(
    ("header", "value"), [("retry_after", "0.4"), ("retry_after_ms", "400"), ("Retry_After", "0.4")]
)
def test_as_long_as_the_server_asks_is_waited(asking: Asking, faulty_server: Any, header: str, value: str) -> None:
    faulty_server.faults = {"a": [faulty_server.refusal(429, "slow down", **{header: value})]}
    generate_all(asking(backoff=0), ask("a"), 8)
    first, second = faulty_server.times("a")
    assert second - first >= 0.4


@pytest.mark.deep
def test_waits_grow(asking: Asking, faulty_server: Any) -> None:
    faulty_server.faults = {"a": [faulty_server.refusal(500, "oh")] * 3}
    generate_all(asking(backoff=0.1), ask("a"), 8)
    times = faulty_server.times("a")
    waits = [later - sooner for sooner, later in pairwise(times)]
    assert all(wait >= 0.05 * 2**index for index, wait in enumerate(waits))


def test_what_does_not_pass_is_an_error_that_is_not_to_be_kept(asking: Asking, faulty_server: Any) -> None:
    faulty_server.faults = {"b": [faulty_server.refusal(503, "overloaded")] * 4}
    found = generate_all(asking(), ask("a", "b", "c"), 8)
    assert [answer.text for answer in found] == ["a", "", "c"]
    assert (found[1].error, found[1].retry) == ("HTTP 503: overloaded, 4 times", True)


def test_so_long_a_wait_is_not_waited(asking: Asking, faulty_server: Any) -> None:
    faulty_server.faults = {"a": [faulty_server.refusal(429, "come back tomorrow", retry_after="86400")]}
    (answer,) = generate_all(asking(), ask("a"), 8)
    assert (answer.error, answer.retry) == ("HTTP 429: come back tomorrow, 1 times", True)


OUTCOMES = {
    "empty": (lambda server: server.reply(server.good("") | {"choices": []}), "list of choices is empty"),
    "none": (lambda server: server.reply({"model": NAME, "choices": None}), "list of choices is empty"),
    "withheld": (lambda server: server.reply(server.good("a f", finish_reason="content_filter")), "content filter"),
    "filter": (lambda server: server.refusal(400, "not allowed", "content_filter"), "content filter: not allowed"),
    "policy": (lambda server: server.refusal(403, "Your input was flagged"), "content filter: Your input"),
    "refusal": (
        lambda server: server.reply(server.good("", message={"content": None, "refusal": "I can't"})),
        "refusal: I can't",
    ),
    "long": (
        lambda server: server.refusal(400, "This model's maximum context length is 512 tokens, yours has 900", "400"),
        "context length: This model's maximum",
    ),
    "longer": (lambda server: server.refusal(400, "too much", "context_length_exceeded"), "context length: too much"),
    "large": (lambda server: server.refusal(413, "Payload Too Large"), "request too large: Payload"),
}


@pytest.mark.deep
@pytest.mark.parametrize(("fault", "sentence"), OUTCOMES.values(), ids=list(OUTCOMES))
def test_a_refusal_is_an_outcome_of_its_own(
    asking: Asking, faulty_server: Any, fault: Callable[[Any], Any], sentence: str
) -> None:
    faulty_server.faults = {"b": [fault(faulty_server)]}
    found = generate_all(asking(), ask("a", "b", "c"), 8)
    assert [answer.text for answer in found] == ["a", "", "c"]
    assert sentence in found[1].error
    assert not found[1].retry
    assert len(faulty_server.times("b")) == 1


def test_a_refusal_of_an_unknown_kind_is_told_and_not_kept(asking: Asking, faulty_server: Any) -> None:
    faulty_server.faults = {"b": [faulty_server.refusal(400, "no pictures, please")]}
    found = generate_all(asking(), ask("a", "b"), 8)
    assert (found[1].error, found[1].retry) == ("the server refused the request (HTTP 400: no pictures, please)", True)


MESSAGES: dict[str, tuple[dict[str, Any], str, str, str]] = {  # text, thinking and error by message
    "a text": ({"content": [{"type": "text", "text": "B"}]}, "B", "", ""),
    "texts": ({"content": ["B", {"text": "."}, {"type": "output_text", "text": {"value": " Yes"}}]}, "B. Yes", "", ""),
    "one part": ({"content": {"type": "text", "text": "B"}}, "B", "", ""),
    "a number": ({"content": 3}, "3", "", ""),
    "null": ({"content": None}, "", "", ""),
    "no part": ({"content": []}, "", "", ""),
    "thinking": ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Fins."}]}]}, "", "Fins.", ""),
    "OpenRouter": (
        {"content": "B", "reasoning_details": [{"type": "reasoning.text", "text": "Fins."}]}, "B", "Fins.", "",
    ),
    "Ollama": ({"content": "B", "thinking": "Fins."}, "B", "Fins.", ""),
    "refusal": ({"content": [{"type": "refusal", "refusal": "I can't"}]}, "", "", "refusal: I can't"),
    "image": ({"content": [{"type": "image_url", "image_url": {}}]}, "", "", f"{NO_TEXT} image_url"),
    "object": ({"content": {"1": "fish"}}, "", "", f"{NO_TEXT} an object with the fields 1"),
    "tool": (
        {"content": None, "tool_calls": [{"id": "1"}]}, "", "", "no answer: the server's message is the call of a tool",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("message", "text", "thinking", "error"), MESSAGES.values(), ids=list(MESSAGES))
def test_a_content_is_read_in_every_form(
    asking: Asking, faulty_server: Any, message: dict[str, Any], text: str, thinking: str, error: str
) -> None:
    faulty_server.always = faulty_server.reply(faulty_server.good("", message=message))
    (answer,) = generate_all(asking(served=NAME), ask("a"), 8)
    assert (answer.text, answer.thinking, answer.error) == (text, thinking, error)
    assert len(faulty_server.asked) == 1


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


ENDS = {
    "key": (401, f"Incorrect API key provided: {KEY}", "does not accept the API key"),
    "region": (403, "not in your country", "does not accept the API key"),
    "model": (404, "The model 'toy' does not exist", "no such model or address"),
    "credit": (402, "Pay first", "no credit left"),
    "quota": (429, "You exceeded your current quota", "no credit left"),
}


@pytest.mark.deep
@pytest.mark.parametrize("served", [None, NAME])
@pytest.mark.parametrize(("status", "said", "sentence"), ENDS.values(), ids=list(ENDS))
def test_what_concerns_all_is_one_error_without_retries(
    asking: Asking, faulty_server: Any, status: int, said: str, sentence: str, served: str | None
) -> None:
    faulty_server.always, model = faulty_server.refusal(status, said), asking(served=served)
    for _ in range(2):  # as in the next case of the same model
        with pytest.raises(ModelError, match=sentence) as error:
            generate_all(model, ask(*"abcdefgh"), 8)
        assert KEY not in "".join(format_exception(error.value))
    probes = int(served is not None and status in (403, 404))  # which one request alone may get, from a firewall
    assert len(faulty_server.asked) == 1 + probes


def test_what_ends_the_run_loses_no_answer(asking: Asking, faulty_server: Any) -> None:
    texts = [f"number {index}" for index in range(40)]
    faulty_server.faults = {texts[9]: [faulty_server.refusal(401, "revoked")]}
    found = generate_all(asking(concurrency=2), ask(*texts), 8)
    asked = {one.text for one in faulty_server.asked} - {texts[9]}
    assert [answer.text for answer in found] == [text if text in asked else "" for text in texts]
    assert {answer.retry for answer in found if not answer.text} == {True}
    assert "does not accept the API key" in found[39].error
    assert 5 <= len(asked) <= 15


def test_a_server_that_is_gone_ends_the_run(asking: Asking, faulty_server: Any) -> None:
    faulty_server.always = faulty_server.refusal(503, "down")
    with pytest.raises(ModelError, match=r"of the last 5 requests, nor a short .*: HTTP 503: down, 1 times"):
        list(asking(retries=0, concurrency=2).generate(ask(*map(str, range(100))), 8))
    assert len(faulty_server.asked) <= 8


@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize("status", [400, 403, 404, 413, 422, 500])
def test_requests_that_are_refused_are_errors_of_their_own_whatever_their_order(
    asking: Asking, faulty_server: Any, status: int, concurrency: int
) -> None:
    texts = [*map(str, range(30))]
    faulty_server.faults = {text: [faulty_server.refusal(status, "too small")] * 2 for text in texts[:12]}
    model = asking(retries=0, concurrency=concurrency)
    answers = generate_all(model, ask(*texts), 8)
    assert [answer.text for answer in answers] == [""] * 12 + texts[12:]
    assert all("too small" in answer.error for answer in answers[:12])
    again = generate_all(model, ask(*texts[:12]), 8)  # as the next run does: none of these is answered
    assert [(one.text, one.error) for one in again] == [(one.text, one.error) for one in answers[:12]]


def test_a_server_that_refuses_an_ordinary_picture_refuses_all(asking: Asking, faulty_server: Any) -> None:
    picture = Image.new("RGB", (4, 4))
    faulty_server.faults = {"what?": [faulty_server.refusal(400, "text only")] * 20}
    faulty_server.faults["Answer with the word OK."] = [faulty_server.refusal(400, "text only")]
    with pytest.raises(ModelError, match=r"nor a short request about a plain image .*: text only\)\. Name a model"):
        list(asking(concurrency=1, served=NAME).generate([Request((picture, "what?"))] * 20, 8))
    assert len(faulty_server.asked) == 6


def test_a_server_that_answers_now_and_then_is_not_gone(asking: Asking, faulty_server: Any) -> None:
    texts = [*map(str, range(30))]
    faulty_server.faults = {text: [faulty_server.refusal(503, "busy")] for text in texts[::3]}
    found = generate_all(asking(retries=0, concurrency=1), ask(*texts), 8)
    assert [answer.text for answer in found] == ["" if index % 3 == 0 else str(index) for index in range(30)]


def test_after_the_end_no_more_requests_are_taken(asking: Asking, faulty_server: Any) -> None:
    taken = []
    requests = (taken.append(index) or Request((str(index),)) for index in range(1000))
    faulty_server.always = faulty_server.refusal(401, "revoked")
    with pytest.raises(ModelError, match="does not accept the API key"):
        list(asking(concurrency=2).generate(requests, 8))
    assert len(taken) <= 10


@pytest.fixture
def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize("retries", [0, 1, 6])
@pytest.mark.parametrize("served", [None, NAME], ids=["the name is asked", "the name is given"])
def test_a_refused_connection_ends_the_run_soon(
    asking: Asking, free_port: int, served: str | None, retries: int
) -> None:
    url = f"http://127.0.0.1:{free_port}/v1"
    model = asking(base_url=url, served=served, retries=retries, backoff=0.1)
    sentence = (
        rf"There is no server at {url}: the server accepts no connection \(.*\), {min(2, retries + 1)} times\. Start"
    )
    with pytest.raises(ModelError, match=sentence):
        generate_all(model, ask(*"abcdefgh"), 8)


@pytest.mark.deep
def test_a_connection_that_is_not_accepted_ends_the_run_after_seconds(asking: Asking) -> None:
    with socket.socket() as busy, ExitStack() as stack:
        busy.bind(("127.0.0.1", 0))
        busy.listen(0)
        for _ in range(4):  # fill the queue, so that the next connection gets no reply
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(busy.getsockname())
        start = monotonic()
        with pytest.raises(ModelError, match=r"There is no server at .* \(ConnectTimeout\), 1 times\."):
            generate_all(asking(base_url=f"http://127.0.0.1:{busy.getsockname()[1]}/v1", timeout=60), ask("a"), 8)
        assert monotonic() - start < 30  # and not the minute of the timeout, seven times


def test_a_server_that_restarts_is_asked_again(asking: Asking, free_port: int) -> None:
    with SERVER["serving"](free_port) as server:
        server.always = server.reply(server.good("old"), headers={"connection": "close"})
        model = asking(base_url=f"http://127.0.0.1:{free_port}/v1", retries=8, backoff=0.05)
        assert generate_all(model, ask("a"), 8)[0].text == "old"
    restart = Timer(0.3, serve_until, [free_port, stop := Event()])
    restart.start()
    try:
        assert [answer.text for answer in generate_all(model, ask("b", "c"), 8)] == ["b", "c"]
    finally:
        stop.set()
        restart.join()


def test_a_server_that_goes_and_stays_away_ends_the_run(asking: Asking, free_port: int) -> None:
    with SERVER["serving"](free_port) as server:
        server.always = server.reply(server.good("here"), headers={"connection": "close"})
        model = asking(base_url=f"http://127.0.0.1:{free_port}/v1", retries=1, backoff=0.01, concurrency=1)
        assert generate_all(model, ask("a"), 8)[0].text == "here"
    taken = []
    requests = (taken.append(index) or Request((str(index),)) for index in range(100))
    sentence = r"of the last 5 requests, nor a short request; the last: the server accepts no connection .*, 2 times\."
    with pytest.raises(ModelError, match=sentence):
        list(model.generate(requests, 8))
    assert len(taken) <= 10


def serve_until(port: int, stop: Event) -> None:
    with SERVER["serving"](port):
        stop.wait()
