"""Answers about classes, and how they were read."""

import json
import re
from collections.abc import Callable, Mapping

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.models.types import Answer


def says(table: Mapping[int, str]) -> Callable[..., str | Answer]:
    return lambda numbers, _: table[numbers[0]] or Answer("", (), False, error="withheld")


def by_key(table: Mapping[int, str]) -> Callable[..., str]:
    return lambda numbers, _: json.dumps({str(index): table[each] for index, each in enumerate(numbers, 1)})


WIDE = {0: "A dog", 1: "tac", 2: "white shark great", 3: "", 4: "cat"}


def found(predictions: ClassPredictions) -> list[int]:
    return predictions.top[:, 0].tolist()


def offered(text: str) -> dict[str, str]:
    """The names by their letters."""
    return dict(re.findall(r"^([A-Z])\) (.+)$", text, re.MULTILINE))


def choose(table: Mapping[int, str], others: str = "unread") -> Callable[..., str]:
    """Answer with the letter of the name of a picture, if it is offered."""

    def say(numbers: tuple[int, ...], text: str) -> str:
        return next((letter for letter, name in offered(text).items() if name == table[numbers[0]]), others)

    return say
