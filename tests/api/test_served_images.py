"""Evaluations of a model behind a server that refuses some images, or answers in another form than usual."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import eyechart
from eyechart.errors import ToleranceError

Evaluate = Callable[..., eyechart.EvaluationRun]
FEW = {"retries": 0, "backoff": 0, "served": "toy-2026-01-01"}


@pytest.fixture
def ask_pets(faulty_server: Any, evaluate: Evaluate, pets: Path, tmp_path: Path) -> Evaluate:
    """Ask the server for a letter for each picture of the pets."""

    def ask(**options: Any) -> eyechart.EvaluationRun:
        given = ",".join(f"{name}={value}" for name, value in (FEW | {"base_url": faulty_server.url}).items())
        return evaluate(f"openai[m,{given}]", pets, protocol="mcq", store=tmp_path / "store", **options)

    return ask


def letter(asked: Any) -> str:
    """Answer with the first option."""
    return "A" if asked.pictures else "OK"


def test_images_that_a_server_refuses_are_errors_each_time(ask_pets: Evaluate, faulty_server: Any) -> None:
    faulty_server.answer = letter
    faulty_server.plan = {index: [faulty_server.refusal(500, "oh") for _ in range(3)] for index in range(5)}
    for _ in range(2):
        (record,) = ask_pets(max_errors=5).records
        assert (record.outcomes.error, record.outcomes.correct + record.outcomes.wrong) == (5, 1)
    with pytest.raises(ToleranceError, match="5 errors, the first of them: blue"):
        ask_pets(max_errors=4)


def test_empty_answers_are_called_so(ask_pets: Evaluate, faulty_server: Any) -> None:
    faulty_server.always = faulty_server.reply(faulty_server.good(""))
    (record,) = ask_pets().records
    assert any("6 of 6 answers are empty. See to the server" in note for note in record.notes)


def test_reasoning_without_content_is_counted_and_not_scored(ask_pets: Evaluate, faulty_server: Any) -> None:
    message = {"content": "", "reasoning_content": "The answer is A."}
    faulty_server.always = faulty_server.reply(faulty_server.good("", message=message))
    (record,) = ask_pets().records
    assert record.outcomes.unparsed == 6
    assert any("6 of 6 answers have reasoning but no content, 0 of them at the token limit" in n for n in record.notes)
