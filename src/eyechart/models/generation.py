"""All answers of a generator at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.errors import ModelError
from eyechart.models.types import Answer, Generator, Request


def generate_all(
    model: Generator, requests: Sequence[Request], max_tokens: int, schema: Mapping[str, Any] | None = None
) -> list[Answer]:
    """Return the answers to all requests, in their order.

    What ends the run is raised only if nothing was answered; else it is the error of what is left.
    """
    answers: dict[int, Answer] = {}
    left = ""
    try:
        answers.update(model.generate(requests, max_tokens, schema))
    except ModelError as error:
        if not answers:
            raise
        left = str(error)
    return [answers.get(index) or Answer("", (), False, left, retry=True) for index in range(len(requests))]
