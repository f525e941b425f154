"""A server that fails many requests, one after another, is told from requests that fail."""

from typing import Any

import pytest
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.generation import generate_all
from eyechart.models.types import Request
from tests.models.served.asked import NAME, Asking, ask, serving


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


def test_a_server_that_goes_and_stays_away_ends_the_run(asking: Asking, free_port: int) -> None:
    with serving(free_port) as server:
        server.always = server.reply(server.good("here"), headers={"connection": "close"})
        model = asking(base_url=f"http://127.0.0.1:{free_port}/v1", retries=1, backoff=0.01, concurrency=1)
        assert generate_all(model, ask("a"), 8)[0].text == "here"
    taken = []
    requests = (taken.append(index) or Request((str(index),)) for index in range(100))
    sentence = r"of the last 5 requests, nor a short request; the last: the server accepts no connection .*, 2 times\."
    with pytest.raises(ModelError, match=sentence):
        list(model.generate(requests, 8))
    assert len(taken) <= 10
