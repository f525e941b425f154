"""All answers of a generator at once, in the order of the requests, and what happens where its run ends early."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from eyechart.errors import ModelError
from eyechart.models.generation import generate_all
from eyechart.models.types import Answer, Generator, Request

REQUESTS = [Request((text,)) for text in "abc"]


class Backwards(Generator):
    """Answers the last request first, in as many letters as there are tokens, and ends before some are answered."""

    def __init__(self, unanswered: int = 0) -> None:
        self.unanswered = unanswered

    def generate(
        self, requests: Iterable[Request], max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[int, Answer]]:
        asked = [*enumerate(requests)]
        for index, request in asked[: self.unanswered - 1 if self.unanswered else None : -1]:
            yield index, Answer(f"{str(request.parts[0]) * max_tokens}{schema or ''}", (), True)
        if self.unanswered:
            raise ModelError("The budget is spent.")


def test_answers_are_in_the_order_of_their_requests() -> None:
    assert [answer.text for answer in generate_all(Backwards(), REQUESTS, 2)] == ["aa", "bb", "cc"]
    assert [answer.text for answer in generate_all(Backwards(), REQUESTS, 1, {"type": "string"})] == [
        f"{letter}{{'type': 'string'}}" for letter in "abc"
    ]
    assert generate_all(Backwards(), [], 1) == []


def test_what_is_left_where_the_run_ends_has_its_error_and_may_be_asked_again() -> None:
    unanswered, *answered = generate_all(Backwards(1), REQUESTS, 1)
    assert unanswered == Answer("", (), False, "The budget is spent.", retry=True)
    assert [answer.text for answer in answered] == ["b", "c"]


def test_an_error_before_the_first_answer_is_raised() -> None:
    with pytest.raises(ModelError, match=r"^The budget is spent\.$"):
        generate_all(Backwards(3), REQUESTS, 1)
