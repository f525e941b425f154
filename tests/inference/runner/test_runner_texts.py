"""Asking in words, once: every answer at its question, a stopped run resumed, faults that pass asked again."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ModelError, StoreError
from eyechart.inference.engines import local
from eyechart.inference.requests.text_requests import Generate, TextRequest
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store import responses
from eyechart.inference.store.entries import Store, StoreEntry, request_key
from eyechart.inference.store.responses import Responses
from eyechart.models.types import Answer, Usage

COUNT = 11
TEXT = "Which number?"
PASSING = Answer("", (), False, error="429: too many requests", retry=True)
Asks = Callable[..., Responses]


def number(numbers: tuple[int, ...], text: str) -> str:
    return " and ".join(map(str, numbers))


SINGLY = Generate(tuple(TextRequest((row, TEXT), 16) for row in range(COUNT)))
SAID = [str(row) for row in range(COUNT)]


@pytest.fixture
def ask(tmp_path: Path, pictures: Callable[..., Dataset]) -> Asks:
    """Put questions to a model, with one store for the whole test."""

    def ask(model: Any, asked: Generate = SINGLY, told: Any = lambda *_: None, **how: Any) -> Responses:
        dataset = pictures([-1] * COUNT, how.pop("broken", frozenset()))
        return Runner(Store(how.pop("root", tmp_path)), None, 0, told).run(asked, model, dataset)

    return ask


@pytest.fixture
def entry(tmp_path: Path, pictures: Callable[..., Dataset], talker: Any) -> StoreEntry:
    """Where the answers are kept."""
    key = request_key(SINGLY, talker(number), pictures([-1] * COUNT))
    return Store(tmp_path).entry(key)


def wait_for(done: Callable[[], bool]) -> bool:
    return any(done() or time.sleep(0.01) for _ in range(3000))


def texts(found: Responses) -> list[str]:
    return [reply.text for reply in found.responses]


def test_everything_is_asked_once(ask: Asks, talker: Any) -> None:
    model = talker(number)
    assert texts(ask(model)) == SAID
    assert model.asked == [((row,), TEXT) for row in range(COUNT)]
    again = talker(number)
    assert texts(ask(again)) == SAID
    assert again.how == []


def test_what_it_took_is_what_it_took_when_asked(ask: Asks, talker: Any) -> None:
    assert ask(talker(number)).usage == ask(talker(number)).usage == Usage(10 * COUNT, 4 * COUNT, 2 * COUNT)


def contents(found: Responses) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in found.path.iterdir() if path.name != "lock"}


@pytest.mark.parametrize("window", [1, 3, COUNT + 1])
def test_answers_that_come_in_any_order_land_at_their_questions(ask: Asks, talker: Any, window: int) -> None:
    assert texts(ask(talker(number, turned=True, window=window))) == SAID


def test_images_and_texts_keep_their_places_and_files(ask: Asks, talker: Any) -> None:
    asked = Generate((TextRequest((3, "left", 1, "right", 2), 16),))
    model = talker(number)
    assert texts(ask(model, asked)) == ["3 and 1 and 2"]
    (request,) = model.requests
    assert [part if isinstance(part, str) else "image" for part in request.parts] == [
        *("image", "left", "image", "right", "image")
    ]
    assert len({*request.files}) == 3


def test_rounds_share_their_length_and_their_schema(ask: Asks, talker: Any) -> None:
    schema = {"type": "object"}
    how = [(16, None), (32, None), (16, None), (32, schema)]
    asked = Generate(tuple(TextRequest((row, TEXT), *each) for row, each in enumerate(how)))
    model = talker(number, turned=True)
    assert texts(ask(model, asked)) == ["0", "1", "2", "3"]
    assert model.how == [(16, None), (32, None), (32, schema)]


@pytest.mark.parametrize("stop", [0, 1, 6, COUNT - 1])
@pytest.mark.parametrize("turned", [False, True])
def test_a_stopped_run_ends_as_if_it_had_never_stopped(
    ask: Asks, talker: Any, tmp_path: Path, stop: int, turned: bool
) -> None:
    first, second = talker(number, stop=stop, turned=turned), talker(number, window=3)
    with pytest.raises(ConnectionResetError):
        ask(first)
    resumed, whole = ask(second), ask(talker(number), root=tmp_path / "other")
    assert contents(resumed) == contents(whole)
    assert sorted(first.asked + second.asked) == [((row,), TEXT) for row in range(COUNT)]


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_a_torn_tail_is_asked_again(ask: Asks, talker: Any, entry: StoreEntry, cut: int) -> None:
    with pytest.raises(ConnectionResetError):
        ask(talker(number, stop=5))
    part = entry.folder / "00000.part"
    part.write_bytes(part.read_bytes()[:-cut])
    model = talker(number)
    assert texts(ask(model)) == SAID
    assert model.asked == [((row,), TEXT) for row in range(4, COUNT)]


def test_a_fault_that_may_pass_is_told_and_asked_again(ask: Asks, talker: Any) -> None:
    busy = talker(lambda numbers, text: PASSING if numbers[0] in (2, 7) else number(numbers, text))
    found = ask(busy)
    assert [index for index, reply in enumerate(found.responses) if reply.error] == [2, 7]
    assert found.responses[2].error == "429: too many requests. The next run asks again"
    assert found.usage == Usage(10, 4, 2) + Usage(10 * 8, 4 * 8, 2 * 8)
    model = talker(number)
    assert texts(ask(model)) == SAID
    assert model.asked == [((2,), TEXT), ((7,), TEXT)]


def test_any_other_fault_is_an_answer_for_good(ask: Asks, talker: Any) -> None:
    refused = Answer("", (), False, error="content filter")
    found = ask(talker(lambda numbers, text: refused if numbers == (2,) else number(numbers, text)))
    assert [reply.error for reply in found.responses].count("content filter") == 1
    assert ask(talker(number)).responses == found.responses


def test_an_image_that_cannot_be_shown_is_an_error_of_its_request(ask: Asks, talker: Any) -> None:
    asked = Generate(tuple(TextRequest((row, row + 1, TEXT), 16) for row in range(0, 8, 2)))
    model = talker(number)
    found = ask(model, asked, broken=frozenset({3}))
    assert texts(found) == ["0 and 1", "", "4 and 5", "6 and 7"]
    assert found.responses[1].error.startswith("Image imagenet/memory: s03 is not in a format that is read here")
    assert len(model.asked) == 3
    assert ask(talker(number), asked, broken=frozenset({3})).responses == found.responses


def test_a_split_of_broken_images_asks_nothing(ask: Asks, talker: Any) -> None:
    model = talker(number)
    found = ask(model, broken=frozenset(range(COUNT)))
    assert all(reply.error for reply in found.responses)
    assert model.asked == []


@pytest.mark.parametrize("given", [[*range(COUNT - 1)], [*range(COUNT), 3], [*range(COUNT), COUNT]])
def test_a_model_that_answers_other_questions_than_were_asked_is_refused(
    ask: Asks, talker: Any, given: list[int]
) -> None:
    class Careless(talker):
        def generate(self, requests: Any, max_tokens: int, schema: Any = None) -> Any:
            assert len([*requests]) == COUNT
            yield from ((index, Answer(str(index), (), True)) for index in given)

    with pytest.raises(ModelError, match=r"talker .* Correct the backend\."):
        ask(Careless(number))
    assert texts(ask(talker(number))) == SAID


def test_progress_counts_what_is_kept(ask: Asks, talker: Any) -> None:
    told: list[tuple[int, int, str]] = []
    with pytest.raises(ConnectionResetError):
        ask(talker(number, stop=2))
    ask(talker(number), told=lambda *done: told.append(done[:3]))
    assert told == [(done, COUNT, "requests") for done in range(2, COUNT + 1)]


def test_the_cost_of_all_is_estimated_from_the_first_answers(ask: Asks, talker: Any) -> None:
    class Paid(talker):
        def cost(self, usage: Usage) -> float:
            return usage.prompt / 100

    told: list[str] = []
    many = Generate(tuple(TextRequest((0, f"question {index}"), 16) for index in range(40)))
    ask(Paid(number), many, told=lambda *done: told.append("".join(done[3:])))
    assert {*told[:20]} == {""}
    assert told[20] == "2.0000 of about 4.0000 USD, 480 tokens"
    assert told[-1] == "4.0000 of about 4.0000 USD, 480 tokens"


@pytest.mark.parametrize("images", [1, 10])
def test_images_are_read_some_way_ahead_and_no_further(
    ask: Asks, talker: Any, monkeypatch: pytest.MonkeyPatch, images: int
) -> None:
    monkeypatch.setattr(local, "IMAGES_AHEAD", 20)
    read: list[int] = []
    real = local.load_request
    monkeypatch.setattr(local, "load_request", lambda data, asked: read.append(1) or real(data, asked))

    def settle(*_: object) -> str:
        wanted = 20 // images + 1
        assert wait_for(lambda: len(read) >= wanted)
        time.sleep(0.05)
        assert len(read) == wanted
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        ask(
            talker(settle, window=1),
            Generate(tuple(TextRequest((*[0] * images, f"{TEXT} {index}"), 16) for index in range(60))),
        )


def test_a_run_that_ends_early_leaves_no_thread(ask: Asks, talker: Any) -> None:
    before = {*threading.enumerate()}
    for _ in range(3):
        with pytest.raises(ConnectionResetError):
            ask(talker(number, stop=1))
    assert {*threading.enumerate()} <= before


def test_a_store_that_cannot_be_written_leaves_no_thread(
    ask: Asks, talker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("no space left")

    before = {*threading.enumerate()}
    monkeypatch.setattr(responses, "append", full)
    with pytest.raises(StoreError, match="no space left"):
        ask(talker(number))
    assert {*threading.enumerate()} <= before


def test_two_runs_at_once_ask_once(ask: Asks, talker: Any) -> None:
    def slowly(numbers: tuple[int, ...], text: str) -> str:
        time.sleep(0.01)
        return number(numbers, text)

    models = [talker(slowly), talker(slowly)]
    threads = [threading.Thread(target=ask, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(len(model.asked) for model in models) == [0, COUNT]
