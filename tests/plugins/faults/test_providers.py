"""The same benchmark through every provider's official client: same answers, exact tokens, and each asked once."""

from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

FORMATS = run_path(str(Path(__file__).parents[2] / "faulty_server.py"))["FORMATS"]
PICTURES = 18
KEY = "sk-very-secret-0123456789"
PRICES = {"price_in": 2, "price_cached": 1, "price_out": 8}
PROVIDERS: dict[str, tuple[str, dict[str, object], str]] = {
    "responses": ("openai", {"api": "responses"}, "/v1/responses"),
    "anthropic": ("anthropic", {}, "/v1/messages"),
    "gemini": ("gemini", {}, "/v1/models/test:generateContent"),
}


@pytest.fixture(scope="module")
def chat(new_exam: Callable[..., Any]) -> Any:
    """After a run through Chat Completions."""
    exam = new_exam(**PRICES)
    exam.passes()
    return exam


REFUSALS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "openai": (
        {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I can't"}]}]},
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    ),
    "anthropic": ({"stop_reason": "refusal", "content": []}, {"stop_reason": "max_tokens"}),
    "gemini": ({"finishReason": "SAFETY", "content": {}}, {"finishReason": "MAX_TOKENS"}),
}
ODD = (1, 4, 7)  # the places of two refusals and a truncated answer
COUNTED = {"prompt_tokens": 300, "completion_tokens": 9}  # their tokens


@pytest.fixture(scope="module", params=list(PROVIDERS))
def other(request: pytest.FixtureRequest, new_exam: Callable[..., Any], tmp_path_factory: Any) -> Any:
    """After a run through another API: every third question fails at first, two are refused, and one is truncated."""
    prices = tmp_path_factory.mktemp("prices") / "prices.toml"
    prices.write_text("date = 2026-12-31\n[models]\ntest = { input = 2, cached = 1, output = 8 }", encoding="utf-8")
    exam = new_exam()
    exam.backend, options, exam.path = PROVIDERS[request.param]
    exam.options = {"prices": prices, **options}
    refused, truncated = REFUSALS[exam.backend]
    write = FORMATS[next(name for name in FORMATS if name in exam.path)]
    bodies = [write(exam.server.name, "I think", COUNTED, **fact) for fact in (refused, refused, truncated)]
    exam.server.plan = {index: [exam.server.refusal(529, "Overloaded")] for index in range(0, PICTURES, 3)} | {
        index: [exam.server.reply(body)] for index, body in zip(ODD, bodies, strict=True)
    }
    exam.said = exam.passes("--eye-max-errors=2")
    return exam


def test_the_answers_are_those_of_chat_completions(chat: Any, other: Any) -> None:
    compared = ("key", "target", "prediction", "correct", "error")
    mine, others = ([[row[name] for name in compared if name in row] for row in exam.rows()] for exam in (chat, other))
    assert sum(one != another for one, another in zip(mine, others, strict=True)) == len(ODD)
    assert chat.record["outcomes"]["error"] == 0


def test_refusals_and_truncated_answers_are_outcomes_of_their_own(other: Any) -> None:
    outcomes = other.record["outcomes"]
    assert (outcomes["error"], outcomes["refused"], outcomes["truncated"]) == (2, 2, 1)
    assert outcomes["correct"] + outcomes["wrong"] == PICTURES - len(ODD)
    assert "refused" in other.said
    assert [row["correct"] for row in other.rows() if row["error"]] == ["", ""]


def test_every_picture_is_answered_once_at_its_address(other: Any) -> None:
    assert {asked.path for asked in other.server.asked} == {other.path}
    assert [*other.paid.values()] == [1] * PICTURES


def test_tokens_and_cost_are_those_of_the_server(other: Any) -> None:
    paid = [asked for asked, _ in other.server.paid if asked.pictures]
    good = [other.server.count(asked) for asked in paid if other.server.index(asked) not in ODD]
    counts = [*good, *[COUNTED | {"prompt_tokens_details": {"cached_tokens": 0}}] * len(ODD)]
    read, said = (sum(count[f"{name}_tokens"] for count in counts) for name in ("prompt", "completion"))
    cached = sum(count["prompt_tokens_details"]["cached_tokens"] for count in counts)
    usage = other.record["usage"]
    assert (usage["prompt_tokens"], usage["cached_tokens"], usage["answer_tokens"]) == (read, cached, said)
    assert usage["cost"] == pytest.approx((2 * (read - cached) + cached + 8 * said) / 1e6)
    assert f"{usage['cost']:.4f} USD" in other.said
    assert "The cost is at prices of 2026-12-31" in other.said


def test_thinking_is_stored_beside_the_answer_and_not_in_it(other: Any) -> None:
    assert sum(content.count(b'"thinking":"Let me see."') for content in other.world.store.values()) >= PICTURES - len(
        ODD
    )
    assert not any("Let me see" in value for row in other.rows() for value in row.values())


def test_the_key_is_in_no_file(other: Any) -> None:
    files = [path for path in other.world.latest.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert not [name for name, content in other.world.store.items() if KEY.encode() in content]
