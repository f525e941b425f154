"""Parsers, whatever comes: nothing is raised, nothing guessed; case and whitespace around change nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyechart.parsers import class_name, json_answers, letter, number, yes_no
from eyechart.parsers.text import ParseResult
from tests.parsers.pieces import texts

OPTIONS = ("tench", "goldfish", "great white shark", "cat", "a dog", "wig", "ibex", "yes", "iris")
KEYS = ("1", "2", "3")
READ: dict[str, Callable[[str], ParseResult[Any]]] = {
    "letter": lambda text: letter.parse(text, OPTIONS),
    "class_name": lambda text: class_name.parse(text, OPTIONS),
    "json_answers": lambda text: json_answers.parse(text, KEYS),
    "yes_no": yes_no.parse,
    "number": number.parse,
}
parsers = pytest.mark.parametrize("kind", READ)


@parsers
@given(texts)
@example("\ud800")
@example('{"1": "\\ud800"}')
@example("[" * 10_000)
@example("9" * 10_000)
@example("a " * 5_000)
def test_nothing_is_raised_and_lenient_agrees_with_strict(kind: str, text: str) -> None:
    reading = READ[kind](text)
    assert reading.strict is None or reading.lenient == reading.strict


@parsers
@given(texts, st.text(" \t\n\r\u00a0\u3000", max_size=4), st.text(" \t\n\r\u00a0\u3000", max_size=4))
def test_whitespace_around_changes_nothing(kind: str, text: str, before: str, after: str) -> None:
    assert READ[kind](f"{before}{text}{after}") == READ[kind](text)


@pytest.mark.parametrize("kind", [kind for kind in READ if kind != "json_answers"])
@given(texts)
def test_case_changes_nothing(kind: str, text: str) -> None:
    assert READ[kind](text) == READ[kind](text.upper()) == READ[kind](text.lower())


@given(
    st.sampled_from(("yes", "Yes", "**Yes**", "Yes,", "No", "no.")), st.sampled_from(("dog", "visible books", "one"))
)
def test_no_before_a_noun_is_no_second_answer(word: str, noun: str) -> None:
    answer = word.strip("*,.").lower() == "yes"
    assert yes_no.parse(f"{word} there is no {noun} in the image").lenient is answer
    assert yes_no.parse(f"{word} there is {noun} in the image. No.").lenient is (None if answer else False)
