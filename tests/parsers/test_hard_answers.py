"""Every hard answer of the corpus is read as a person judged it, by the parser of its kind and by no guess."""

from collections.abc import Callable
from typing import Any

import pytest

from eyechart.parsers import class_name, json_answers, letter, number, yes_no
from eyechart.parsers.text import ParseResult
from tests.parsers.hard_answers import ROWS, said

PARSERS: dict[str, Callable[[str, Any], ParseResult[Any]]] = {
    "letter": letter.parse,
    "class_name": class_name.parse,
    "json_answers": json_answers.parse,
    "yes_no": lambda text, _: yes_no.parse(text),
    "number": lambda text, _: number.parse(text),
}


@pytest.mark.parametrize("kind", PARSERS)
def test_a_hard_answer_is_read_as_a_person_reads_it(subtests: Any, kind: str) -> None:
    for row in (row for row in ROWS if row["kind"] == kind):
        with subtests.test(row["why"], answer=ascii(row["answer"])[:40]):
            reading = PARSERS[kind](said(row), row["context"])
            assert (reading.strict, reading.lenient) == (row["strict"], row["lenient"])


@pytest.mark.parametrize("kind", PARSERS)
def test_the_corpus_is_large_and_has_answers_of_every_outcome(kind: str) -> None:
    rows = [row for row in ROWS if row["kind"] == kind]
    outcomes = {(row["strict"] is None, row["lenient"] is None) for row in rows}
    assert len(rows) >= 50
    assert outcomes == {(False, False), (True, False), (True, True)}


def test_no_answer_is_in_the_corpus_twice() -> None:
    asked = [(row["kind"], str(row["context"]), said(row)) for row in ROWS]
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("kind", PARSERS)
def test_the_parsers_have_versions(kind: str) -> None:
    module = {"letter": letter, "class_name": class_name, "json_answers": json_answers}.get(kind)
    assert (module or {"yes_no": yes_no, "number": number}[kind]).VERSION >= 1


@pytest.mark.parametrize("kind", PARSERS)
def test_200_kilobytes_of_noise_are_read_in_one_pass(kind: str) -> None:
    """A parser that goes back over what it has read would take minutes or hours."""
    context = next(row["context"] for row in ROWS if row["kind"] == kind)
    for row in (row for row in ROWS if "times" in row and row["kind"] == kind):
        assert isinstance(PARSERS[kind](said(row) * 20, context), ParseResult)
