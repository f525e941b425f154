"""Errors of a server: what is asked again, and when; what is the outcome of a request; what ends the run."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from traceback import format_exception
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from eyechart.errors import ModelError
from eyechart.models.generation import generate_all
from eyechart.models.served import faults
from tests.models.served.asked import KEY, NAME, Asking, ask
from tests.models.served.replies import json_values


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


def wait(**headers: str) -> float | None:
    """Return the seconds that a server asks to wait with these headers."""
    fault = faults.error_from_status(429, {name.replace("_", "-"): value for name, value in headers.items()}, "slow")
    assert isinstance(fault, faults.OverloadedError)
    return fault.wait


def test_a_wait_is_read_in_seconds_milliseconds_and_as_a_date() -> None:
    assert (wait(retry_after="2"), wait(retry_after_ms="150", retry_after="2")) == (2.0, 0.15)
    assert wait(retry_after="30s") == 30
    assert 90 < (wait(retry_after=format_datetime(datetime.now(UTC) + timedelta(seconds=100))) or 0) <= 100


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Please try again in 1.5s.", 1.5),
        ("Please retry after 60 seconds.", 60),
        ("try again in 250ms", 0.25),
        ("Try again in 2 minutes", 120),
        ("try again in a while", None),
    ],
)
def test_a_wait_is_read_in_a_sentence(said: str, seconds: float | None) -> None:
    fault = faults.error_from_status(429, {}, json.dumps({"error": {"message": said}}))
    assert isinstance(fault, faults.OverloadedError)
    assert fault.wait == seconds


@pytest.mark.parametrize("date", ["Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00"])
def test_a_date_that_is_over_means_now(date: str) -> None:
    assert not wait(retry_after=date)


@pytest.mark.parametrize("text", ["", "soon", "-3", "nan", "inf"])
def test_no_sense_is_no_wait(text: str) -> None:
    assert wait(retry_after=text) is None


@pytest.mark.deep
@given(status=some.integers(300, 599), told=json_values, cut=some.integers(0, 9))
def test_every_error_is_read_as_something(status: int, told: object, cut: int) -> None:
    body = json.dumps(told)
    found = faults.error_from_status(status, {}, body[: len(body) - cut])
    assert isinstance(found, faults.TransientError | faults.RejectedError | ModelError)
