"""What Anthropic alone has: tokens that are written to a cache, settings of thinking, and reasons of a refusal."""

from typing import Any

import pytest

from eyechart.models.generation import generate_all
from eyechart.models.types import Usage
from tests.models.served.asked import NAME, AskingBy, ask

TEXT = [{"type": "text", "text": "a fish"}]


def message(**facts: Any) -> dict[str, Any]:
    return {"model": NAME, "stop_reason": "end_turn", "content": TEXT} | facts


def test_tokens_that_are_read_from_or_written_to_a_cache_are_part_of_the_prompt(
    asking_by: AskingBy, faulty_server: Any
) -> None:
    usage = {
        "input_tokens": 20,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 40,
        "output_tokens": 10,
        "output_tokens_details": {"thinking_tokens": 4},
    }
    faulty_server.always = faulty_server.reply(message(usage=usage))
    (answer,) = generate_all(asking_by("anthropic"), ask("what?"), 8)
    assert answer.usage == Usage(prompt=90, cached=30, answer=10, thinking=4)


@pytest.mark.parametrize(("thinking", "thinks"), [(None, True), ("adaptive", True), ("disabled", False)])
def test_thinking_is_sent_as_an_object_and_only_if_it_was_chosen(
    asking_by: AskingBy, faulty_server: Any, thinking: str | None, thinks: bool
) -> None:
    model = asking_by("anthropic", thinking=thinking)
    generate_all(model, ask("what?"), 8)
    assert faulty_server.asked[0].body.get("thinking") == (thinking and {"type": thinking})
    assert model.thinks is thinks


@pytest.mark.parametrize(
    ("details", "reason"),
    [
        ({"explanation": "It shows\n a weapon.", "category": "harm"}, "It shows a weapon."),
        ({"explanation": None, "category": "harm"}, "harm"),
        (None, "without a reason"),
    ],
)
def test_a_refusal_has_the_best_reason_that_is_there(
    asking_by: AskingBy, faulty_server: Any, details: dict[str, Any] | None, reason: str
) -> None:
    faulty_server.always = faulty_server.reply(message(stop_reason="refusal", stop_details=details))
    (answer,) = generate_all(asking_by("anthropic"), ask("what?"), 8)
    assert (answer.text, answer.error, answer.retry) == ("", f"refusal: {reason}", False)


def test_an_answer_that_fills_the_context_is_not_finished(asking_by: AskingBy, faulty_server: Any) -> None:
    faulty_server.always = faulty_server.reply(message(stop_reason="model_context_window_exceeded"))
    (answer,) = generate_all(asking_by("anthropic"), ask("what?"), 8)
    assert (answer.text, answer.finished, answer.error) == ("a fish", False, "")
