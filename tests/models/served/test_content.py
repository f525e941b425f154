"""A content is read in every form that servers have for it."""

from typing import Any

import pytest

from eyechart.models.generation import generate_all
from tests.models.served.asked import NAME, Asking, ask

NO_TEXT = "no answer: the server's content has no text but"


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
