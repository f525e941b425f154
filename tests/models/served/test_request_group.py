"""Rounds of questions to a server: how many at once, in which order, at what price, and what ends them."""

import threading
import time
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.generation import generate_all
from eyechart.models.types import Request, Usage
from tests.models.served.asked import NAME, Asking, ask


@pytest.mark.parametrize("most", [1, 4])
def test_no_more_requests_are_under_way_than_allowed(asking: Asking, faulty_server: Any, most: int) -> None:
    faulty_server.always = faulty_server.reply(after=0.05)
    found = generate_all(asking(concurrency=most), ask(*map(str, range(5 * most))), 8)
    assert [answer.text for answer in found] == [*map(str, range(5 * most))]
    assert faulty_server.most == most


@pytest.mark.deep
def test_concurrency_follows_what_the_server_can_do(asking: Asking, faulty_server: Any) -> None:
    slots = threading.Semaphore(2)

    def answer(asked: Any) -> str:
        with slots:
            time.sleep(0.05)  # longer than what a busy machine adds
        return str(asked.text)

    faulty_server.answer, model = answer, asking(concurrency=32)
    found = generate_all(model, ask(*map(str, range(240))), 8)
    assert [answer.text for answer in found] == [*map(str, range(240))]
    assert model.concurrency <= 8  # it would be 32 without the rise of latency
    assert faulty_server.most <= 16


def test_a_server_that_is_overloaded_gets_fewer_requests(asking: Asking, faulty_server: Any) -> None:
    faulty_server.always = faulty_server.reply(after=0.01)
    model = asking(concurrency=4, retries=9)
    generate_all(model, ask("warm"), 8)
    assert model.concurrency == 4
    faulty_server.faults = {text: [faulty_server.refusal(529, "overloaded")] * 2 for text in "abcd"}
    assert [answer.text for answer in generate_all(model, ask(*"abcd"), 8)] == [*"abcd"]
    assert model.concurrency < 4


@pytest.mark.deep
def test_answers_are_given_as_they_come(asking: Asking, faulty_server: Any) -> None:
    faulty_server.faults = {"slow": [faulty_server.reply(after=0.5)]}
    model = asking()
    generate_all(model, ask("warm"), 8)
    assert [index for index, _ in model.generate(ask("slow", *"abcd"), 8)][-1] == 0


def test_requests_are_taken_as_there_is_room(asking: Asking) -> None:
    taken = []
    requests = (taken.append(index) or Request((str(index),)) for index in range(1000))
    answers = asking(concurrency=2).generate(requests, 8)
    next(answers)
    assert len(taken) <= 5
    answers.close()


@pytest.mark.deep
def test_no_more_answers_are_paid_ahead_of_those_taken_than_are_asked_at_once(
    asking: Asking, faulty_server: Any
) -> None:
    for taken, _ in enumerate(asking(concurrency=3).generate(ask(*map(str, range(12))), 8)):
        time.sleep(0.05)  # as a slow disk would take to keep an answer
        assert len(faulty_server.paid) <= taken + 3


def test_a_picture_that_cannot_be_written_is_an_error_and_the_others_are_asked(asking: Asking) -> None:
    file = BytesIO()
    Image.effect_noise((64, 64), 90).convert("RGB").save(file, "PNG")
    cut_off = Image.open(BytesIO(file.getvalue()[:2000]))
    requests = [*ask("a"), Request((cut_off, "b")), *ask(*map(str, range(9)))]
    found = generate_all(asking(concurrency=2), requests, 8)
    assert "cannot be written as a message (OSError: image file is truncated" in found[1].error
    assert not found[1].retry
    assert [answer.text for answer in [found[0], *found[2:]]] == ["a", *map(str, range(9))]


@pytest.mark.deep
@pytest.mark.parametrize("options", [{}, {"budget_tokens": 100_000}], ids=["first of all", "within a budget"])
def test_the_first_goes_alone(asking: Asking, faulty_server: Any, options: dict[str, int]) -> None:
    faulty_server.always = faulty_server.reply(after=0.2)
    generate_all(asking(**options), ask(*"abcd"), 8)
    first, *others = (one.at for one in faulty_server.asked)
    assert min(others) - first >= 0.2
    assert faulty_server.most == 3


def test_a_round_that_is_left_ends(asking: Asking, faulty_server: Any) -> None:
    model = asking(concurrency=2)
    faulty_server.faults = {str(index): [faulty_server.reply(after=30)] for index in range(2, 9)}
    answers = model.generate(ask(*map(str, range(9))), 8)
    assert {next(answers)[0], next(answers)[0]} == {0, 1}
    answers.close()
    start = time.monotonic()
    assert generate_all(model, ask("next"), 8)[0].text == "next"
    assert time.monotonic() - start < 4  # and not the 5 seconds of the timeout


def test_the_server_tells_its_name_once(asking: Asking, faulty_server: Any) -> None:
    model = asking(served=None)
    assert (model.identity.name, model.identity.processor["asked"]) == (NAME, "toy")
    generate_all(model, ask("a"), 8)
    assert len(faulty_server.asked) == 2
    assert model.session_usage == Usage(180, 0, 20)


def test_another_name_ends_the_run(asking: Asking, faulty_server: Any) -> None:
    faulty_server.faults = {"b": [faulty_server.reply(faulty_server.good("b") | {"model": "toy-2027"})]}
    with pytest.raises(ModelError, match=rf"answers as toy-2027, but this run began with {NAME}"):
        list(asking(concurrency=1).generate(ask("a", "b"), 8))


def test_tokens_from_a_cache_cost_what_they_cost(asking: Asking, faulty_server: Any) -> None:
    faulty_server.usage = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 60},
    }
    model = asking(price_in=1, price_cached=0.5, price_out=4)
    (answer,) = generate_all(model, ask("a"), 8)
    assert answer.usage == Usage(100, 60, 10)
    assert model.cost(answer.usage) == pytest.approx(110e-6)


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("budget", [{"budget_tokens": 1050}, {"budget": 0.00105, "price_in": 1, "price_out": 1}])
def test_a_budget_stops_before_it_is_overdrawn(asking: Asking, concurrency: int, budget: dict[str, object]) -> None:
    model = asking(concurrency=concurrency, **budget)
    found = generate_all(model, ask(*map(str, range(30))), 8)
    left = [answer for answer in found if not answer.text]
    assert (len(found), len(left), model.session_usage) == (30, 20, Usage(900, 0, 100))
    assert {answer.retry for answer in left} == {True}
    assert "The budget is used up" in left[-1].error
    with pytest.raises(ModelError, match=r"The budget is used up: .* of .*Answers so far are kept"):
        generate_all(model, ask("more"), 8)


def test_a_budget_covers_what_earlier_runs_paid(asking: Asking) -> None:
    model = asking(budget_tokens=1050, concurrency=1)
    for ids in ("abcd", "cdef", "g"):
        model.on_cached_usage(dict.fromkeys(ids, Usage(90, 0, 10)))
    found = generate_all(model, ask(*map(str, range(9))), 8)
    assert (sum(not answer.error for answer in found), model.session_usage) == (3, Usage(270, 0, 30))
    assert "1,000 tokens of 1,050, kept answers of earlier runs included" in found[-1].error


def test_dear_requests_do_not_overdraw_a_budget_that_cheap_ones_began(asking: Asking, faulty_server: Any) -> None:
    model = asking(budget_tokens=2500, concurrency=16)
    generate_all(model, ask("cheap"), 8)
    faulty_server.usage = {"prompt_tokens": 900, "completion_tokens": 100}
    generate_all(model, ask(*map(str, range(30))), 8)
    assert model.session_usage == Usage(1890, 0, 210)


def test_a_budget_needs_a_server_that_counts(asking: Asking, faulty_server: Any) -> None:
    faulty_server.usage = None
    with pytest.raises(ModelError, match="reports no token counts"):
        generate_all(asking(budget_tokens=1000), ask("a"), 8)


@pytest.mark.deep
def test_it_is_quick_about_it(asking: Asking, faulty_server: Any) -> None:
    faulty_server.always = faulty_server.reply(after=0.2)
    model = asking(concurrency=16)
    generate_all(model, ask("warm"), 8)
    start = time.monotonic()
    generate_all(model, ask(*map(str, range(32))), 8)
    assert time.monotonic() - start < 3.2  # one by one they take twice that


def test_what_ends_the_run_loses_no_answer(asking: Asking, faulty_server: Any) -> None:
    texts = [f"number {index}" for index in range(200)]
    faulty_server.faults = {texts[9]: [faulty_server.refusal(401, "revoked")]}
    found = generate_all(asking(concurrency=2), ask(*texts), 8)
    asked = {one.text for one in faulty_server.asked} - {texts[9]}
    assert [answer.text for answer in found] == [text if text in asked else "" for text in texts]
    assert {answer.retry for answer in found if not answer.text} == {True}
    assert "does not accept the API key" in found[-1].error
    assert 5 <= len(asked) < 150


def test_after_the_end_no_more_requests_are_taken(asking: Asking, faulty_server: Any) -> None:
    taken = []
    requests = (taken.append(index) or Request((str(index),)) for index in range(1000))
    faulty_server.always = faulty_server.refusal(401, "revoked")
    with pytest.raises(ModelError, match="does not accept the API key"):
        list(asking(concurrency=2).generate(requests, 8))
    assert len(taken) <= 10
