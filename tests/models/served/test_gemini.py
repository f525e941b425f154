"""Tests of `eyechart.models.served.gemini`."""

from typing import Any

from eyechart.models.generation import generate_all
from eyechart.models.types import Usage
from tests.models.served.asked import AskingBy, ask


def test_a_prompt_that_gemini_blocks_is_filtered(asking_by: AskingBy, faulty_server: Any) -> None:
    told = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    faulty_server.always = faulty_server.reply(told)
    (answer,) = generate_all(asking_by("gemini"), ask("what?"), 8)
    assert (answer.error, answer.usage) == ("content filter: the prompt was blocked (SAFETY)", Usage(9))
