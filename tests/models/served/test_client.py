"""The client: no answer in time, connections that are refused or break, and the key, which is said nowhere."""

import logging
import socket
import threading
from contextlib import ExitStack
from threading import Event, Timer
from time import monotonic
from typing import Any

import pytest

from eyechart.errors import ModelError
from eyechart.models.generation import generate_all
from tests.models.served.asked import KEY, NAME, Asking, ask, serving


@pytest.mark.deep
def test_the_key_in_an_answer_is_replaced(asking: Asking, faulty_server: Any) -> None:
    faulty_server.answer = lambda asked: f"a fish; {asked.key} {asked.key}"
    (answer,) = generate_all(asking(), ask("what?"), 8)
    assert answer.text == "a fish; Bearer [key] Bearer [key]"


def test_the_key_in_a_refusal_is_replaced(asking: Asking, faulty_server: Any) -> None:
    refusal = {"role": "assistant", "content": None, "refusal": f"I will not, {KEY}"}
    faulty_server.always = faulty_server.reply(faulty_server.good("", message=refusal))
    (answer,) = generate_all(asking(), ask("what?"), 8)
    assert answer.error == "refusal: I will not, [key]"


def test_the_key_in_the_name_of_the_model_is_replaced(asking: Asking, faulty_server: Any) -> None:
    faulty_server.name = f"toy-{KEY}"
    assert asking(served=None).identity.name == "toy-[key]"
    with pytest.raises(ModelError, match=r"answers as toy-\[key\], but this run began with toy\.") as raised:
        generate_all(asking(served="toy"), ask("what?"), 8)
    assert KEY not in str(raised.value)


def test_a_key_that_is_a_plain_word_changes_no_answer(
    asking: Asking, faulty_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = asking()
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    faulty_server.answer = lambda asked: "EMPTY glass"
    (answer,) = generate_all(model, ask("what?"), 8)
    assert answer.text == "EMPTY glass"


@pytest.mark.parametrize("slowly", [{"after": 30}, {"drip": 0.2}], ids=str)
def test_no_answer_in_time_is_asked_again(asking: Asking, faulty_server: Any, slowly: dict[str, float]) -> None:
    faulty_server.faults = {"b": [faulty_server.reply(**slowly)]}
    found = generate_all(asking(timeout=1), ask("a", "b"), 8)
    assert [answer.text for answer in found] == ["a", "b"]
    assert len(faulty_server.times("b")) == 2


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
    with serving(free_port) as server:
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


def serve_until(port: int, stop: Event) -> None:
    with serving(port):
        stop.wait()


def test_closed_it_asks_again_and_leaves_no_thread(asking: Asking, faulty_server: Any) -> None:
    faulty_server.always = faulty_server.reply(after=0.01)
    model = asking(concurrency=2)
    for _ in range(2):
        assert [answer.text for answer in generate_all(model, ask(*"abcdef"), 8)] == [*"abcdef"]
        model.close()
    assert "served" not in [thread.name for thread in threading.enumerate()]


def test_the_key_is_sent_and_said_nowhere(asking: Asking, faulty_server: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    faulty_server.faults = {
        "a": [faulty_server.refusal(400, f"your key is {KEY}")],
        "b": [faulty_server.reply(KEY.encode())],
    }
    model = asking()
    said = repr(generate_all(model, ask("a", "b"), 8)) + repr(model.identity) + caplog.text
    assert faulty_server.asked[0].key == f"Bearer {KEY}"
    assert "your key is [key]" in said
    assert KEY not in said
