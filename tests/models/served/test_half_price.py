"""Batches of OpenAI and Anthropic through their clients: answers, faults, half the price, and notes of batches."""

from collections.abc import Callable, Iterator
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from eyechart.errors import ModelError, SpecError
from eyechart.models.generation import generate_all
from eyechart.models.registry import create_model
from eyechart.models.served import half_price
from eyechart.models.served.generator import ServedGenerator
from eyechart.models.served.remedies import add_remedy
from eyechart.models.spec import parse_spec
from eyechart.models.types import Usage
from tests.models.served.asked import ask

SERVER = run_path(str(Path(__file__).parents[2] / "batch_server.py"))
APIS = {"chat": ("openai", ""), "responses": ("openai", "api=responses"), "anthropic": ("anthropic", "")}
Make = Callable[..., ServedGenerator]


@pytest.fixture
def server() -> Iterator[Any]:
    """A server with batches."""
    with SERVER["serving"]() as server:
        yield server


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The folder of notes."""
    return tmp_path / "batches"


@pytest.fixture(params=list(APIS))
def make(request: pytest.FixtureRequest, server: Any, notes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Make models that ask the server in batches, and hang up afterwards."""
    made: list[ServedGenerator] = []
    backend, more = APIS[request.param]

    def make(*options: str) -> ServedGenerator:
        url = server.url if backend == "openai" else server.address
        usual = f"base_url={url},served={server.name},batch=true,batch_folder={notes},poll=0.01,backoff=0.01,retries=2"
        made.append(create_model(parse_spec(f"{backend}[toy,{','.join(filter(None, (usual, more, *options)))}]")))
        monkeypatch.setenv(made[-1].options.key_env, "sk-very-secret-0123456789")
        return made[-1]

    yield make
    for model in made:
        model.close()


def test_all_requests_go_in_one_batch_and_come_back_in_their_places(make: Make, server: Any, notes: Path) -> None:
    model = make("price_in=2", "price_out=8")
    texts = [f"number {index}\u2028\x85of 30" for index in range(30)]  # signs that end a line elsewhere
    answers = generate_all(model, ask(*texts), 20)
    assert [answer.text for answer in answers] == texts
    assert {(answer.finished, answer.error, answer.usage) for answer in answers} == {(True, "", Usage(90, 0, 10))}
    assert ([*server.batches], server.asked) == (["batch_0"], [])
    assert server.batches["batch_0"].reads == 2
    assert model.cost(Usage(1_000_000, 0, 1_000_000)) == pytest.approx((2 + 8) / 2)
    assert [*notes.iterdir()] == []


def test_many_requests_are_several_batches(make: Make, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half_price, "MAX_REQUESTS", 4)
    texts = [*map(str, range(10))]
    assert [answer.text for answer in generate_all(make(), ask(*texts), 20)] == texts
    assert [len(batch.requests) for batch in server.batches.values()] == [4, 4, 2]


def test_equal_requests_are_sent_and_counted_once(make: Make, server: Any) -> None:
    answers = generate_all(make(), ask("a", "b", "a"), 20)
    assert [(answer.text, answer.usage.prompt) for answer in answers] == [("a", 90), ("b", 90), ("a", 0)]
    assert len(server.batches["batch_0"].requests) == 2


def test_faults_within_a_batch_are_those_of_their_requests(make: Make, server: Any) -> None:
    kind = {"type": "invalid_request_error", "code": "invalid"}
    server.results = {
        "b": (400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum", **kind}}),
        "c": (500, {"error": {"message": "oh", "type": "api_error"}}),
        "d": None,
    }
    answers = generate_all(make(), ask(*"abcde"), 20)
    assert [answer.text for answer in answers] == ["a", "", "", "", "e"]
    assert [answer.retry for answer in answers] == [False, False, True, True, False]
    assert [answer.error for answer in answers[1:4]] == [
        add_remedy("context length: prompt is too long: 9 tokens > 8 maximum"),
        "HTTP 500: oh",
        "the batch ended without this answer",
    ]


def test_a_batch_that_is_not_taken_at_once_is_sent_again(make: Make, server: Any) -> None:
    server.refusals = [server.refusal(503, "overloaded"), server.reply(b"{")]
    assert [answer.text for answer in generate_all(make(), ask("a", "b"), 20)] == ["a", "b"]
    assert len(server.batches) == 1


def test_a_batch_that_is_not_taken_ends_the_run_without_a_last_wait(make: Make, server: Any) -> None:
    server.refusals = [server.refusal(503, "overloaded")] * 2 + [server.refusal(503, "overloaded", retry_after="500")]
    with pytest.raises(ModelError, match=r"did not take or give a batch: HTTP 503: overloaded, 3 times\. Run the same"):
        generate_all(make(), ask("a"), 20)


def test_a_batch_is_not_waited_for_longer_than_a_request(make: Make, server: Any) -> None:
    server.refusals = [server.refusal(429, "come back tomorrow", retry_after="86400")]
    with pytest.raises(ModelError, match=r"did not take or give a batch: HTTP 429: come back tomorrow, 1 times\."):
        generate_all(make(), ask("a"), 20)


def test_a_run_that_ended_early_finds_its_batch_again(make: Make, server: Any, notes: Path) -> None:
    server.reads, answers = 1, make().generate(ask(*"abcdef"), 20)
    first = [next(answers), next(answers)]
    answers.close()  # as a killed run, which kept the first answer, and perhaps the second
    assert len([*notes.iterdir()]) == 1
    left = [text for index, text in enumerate("abcdef") if index != first[0][0]]
    assert [answer.text for answer in generate_all(make(), ask(*left), 20)] == left
    assert [*server.batches] == ["batch_0"]


def test_only_requests_that_no_batch_has_are_sent(make: Make, server: Any, notes: Path) -> None:
    answers = make().generate(ask(*"abc"), 20)
    next(answers)
    answers.close()
    assert [answer.text for answer in generate_all(make(), ask(*"abxcy"), 20)] == [*"abxcy"]
    assert [len(batch.requests) for batch in server.batches.values()] == [3, 2]
    assert [*notes.iterdir()] == []


def test_a_batch_that_the_server_lost_is_told_with_its_note(make: Make, server: Any, notes: Path) -> None:
    answers = make().generate(ask(*"abc"), 20)
    next(answers)
    answers.close()
    server.batches.clear()
    (note,) = notes.iterdir()
    with pytest.raises(ModelError, match=rf"The batch batch_0 cannot be read: .* remove .*{note.name}"):
        generate_all(make(), ask(*"abc"), 20)


def test_a_note_that_is_damaged_is_told(make: Make, notes: Path) -> None:
    notes.mkdir()
    (notes / "x.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match=r"A note of a batch in .* cannot be read .*Remove the file"):
        generate_all(make(), ask("a"), 20)


def test_another_model_in_a_batch_ends_the_run_after_its_answers(make: Make, server: Any) -> None:
    model = make()
    server.name = "toy-2027"
    with pytest.raises(ModelError, match="answers as toy-2027, but this run began with toy-2026-01-01"):
        list(model.generate(ask("a", "b"), 20))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("openai[toy,batch=true,budget_tokens=9]", "has a budget and batch=true"),
        ("openai[toy,batch=yes]", "batch=yes. Expected true or false"),
        ("anthropic[toy,batch=true,poll=0]", "poll=0. Expected a number above 0"),
        ("gemini[toy,batch=true]", "has the option 'batch', which gemini does not know"),
    ],
)
def test_options_of_batches_are_checked(spec: str, sentence: str) -> None:
    with pytest.raises(SpecError) as error:
        create_model(parse_spec(spec))
    assert sentence in str(error.value)


def test_a_batch_changes_no_identity() -> None:
    usual = "openai[toy,served=toy,base_url=http://localhost:1/v1"
    assert create_model(parse_spec(f"{usual},batch=true]")).identity == create_model(parse_spec(f"{usual}]")).identity
