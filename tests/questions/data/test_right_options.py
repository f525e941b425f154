"""The right options of a table are letters, texts or numbers, in one way for all its rows."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError
from tests.questions.shelf import ROW, changed, opened, questions

Shop = Callable[..., Path]


def test_answers_are_letters_texts_or_numbers_in_one_way(shop: Shop) -> None:
    rows = [{**ROW, "id": "a", "answer": "1"}, {**ROW, "id": "b", "answer": "0"}]
    assert [question.right for question in questions(shop(rows))] == [(1,), (0,)]
    rows = [{**ROW, "id": "a", "answer": "Red; blue"}, {**ROW, "id": "b", "answer": "blue"}]
    assert [question.right for question in questions(shop(rows))] == [(0, 1), (1,)]


BAD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no option": (
        changed(answer="C"),
        r"line 3: the answer 'C' is not among the options: A\) red; B\) blue\. The answers of 1 other rows are letters",
    ),
    "no answer": (changed(answer=""), r"line 3 has the options red, blue and no answer\. Write the answer"),
    "numbers from 1": (
        [{**ROW, "id": name, "answer": "1"} for name in "ab"],
        r"numbers and none is 0, so that they may count from 1\. Write letters",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_an_answer_that_is_no_option_is_named_with_its_remedy(shop: Shop, name: str) -> None:
    rows, message = BAD[name]
    with pytest.raises(DataError, match=message):
        opened(shop(rows))


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_options_may_be_a_mapping_from_letters(shop: Shop, suffix: str) -> None:
    asked = {name: cell for name, cell in ROW.items() if name not in ("A", "B")}
    mappings: list[Any] = [{"B": "blue", "A": "red"}, {"A": "red", "B": "blue", "C": None}]
    mappings.append({"label": ["A", "B"], "text": ["red", "blue"]})
    for choices in mappings:
        written = json.dumps(choices) if suffix == "csv" else choices
        (question,) = questions(shop([{**asked, "choices": written}], suffix))
        assert (question.options, question.right) == (("red", "blue"), (1,))


def test_a_right_option_that_is_there_twice_is_noted(shop: Shop) -> None:
    rows = [*changed(A="blue"), {**ROW, "id": "c", "A": "Blue"}]
    (_, note) = opened(shop(rows)).notes
    assert note.endswith(
        "line 3 has the right option 'blue' a second time, where it counts as wrong, and 1 other row too"
    )
    assert len(opened(shop(changed(C="red"))).notes) == 1
