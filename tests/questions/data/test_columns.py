"""Each column of a table is found by its name; further ones are slices, and one with two uses is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError
from tests.questions.shelf import ROW, changed, opened, questions

Shop = Callable[..., Path]
TWO = [ROW, {**ROW, "id": "b"}]


@pytest.mark.parametrize(
    "row",
    [
        {"question_id": "a", "img_path": "1.png", "text": "Which?", "choices": ["red", "blue"], "label": "B"},
        {"index": "a", "picture": "1.png", "query": "Which?", "options": "['red', 'blue']", "gt_answer": "blue"},
        {"qid": "a", "file_name": "1.png", "prompt": "Which?", "A": "red", "B": "blue", "target": "(b)"},
    ],
)
def test_columns_have_the_usual_names(shop: Shop, row: dict[str, Any]) -> None:
    (found,) = questions(shop([row], "jsonl"))
    assert (found.id, found.text, found.options, found.right) == ("a", "Which?", ("red", "blue"), (1,))


def test_numbered_columns_hold_pictures(shop: Shop) -> None:
    plain = {name: ROW[name] for name in ROW if name != "image"}
    (found,) = questions(shop([{**plain, "image_1": "1.png", "image_2": "3.png", "image_3": ""}]))
    assert found.pictures == (0, 1)


def test_further_columns_are_slices_beside_those_of_slices_csv(shop: Shop) -> None:
    rows = [{**ROW, "id": name, "l2-category": "fruit"} for name in ("a", "b")]
    folder = shop(rows)
    (folder / "slices.csv").write_text("key,light\na,day\n")
    dataset = opened(folder)
    assert [(one.name, one.values, one.codes.tolist()) for one in dataset.slices] == [
        ("l2_category", ("fruit",), [0, 0]),
        ("light", ("day",), [0, -1]),
    ]


def test_a_slice_of_both_tables_is_refused(shop: Shop) -> None:
    folder = shop([{**row, "light": "day"} for row in TWO])
    (folder / "slices.csv").write_text("key,light\na,day\n")
    with pytest.raises(DataError, match=r"slices\.csv has the column 'light', which the data set has itself\. Rename"):
        opened(folder)


PLAIN = {"image": "1.png", "question": "Which?"}
BAD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "two answers": (changed(answers="A"), r"has the columns answer and answers\. Keep one"),
    "no question": ([{"image": "1.png", "answer": "x", "question1": "?"}], r"no column 'question'.*you mean question1"),
    "a class": ([{**row, "class": "x"} for row in TWO], r"column 'class', which is called like the slices by class"),
    "one slice twice": (
        [{**row, "l2-x": "x", "l2_x": "y"} for row in TWO],
        r"column 'l2_x', which is called like another slice of the table\. Rename it",
    ),
    "letters without A": ([{**PLAIN, "B": "x", "C": "y", "answer": "B"}], r"columns B, C without A.*rename them"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_column_that_cannot_be_is_named_with_its_remedy(shop: Shop, name: str) -> None:
    rows, message = BAD[name]
    with pytest.raises(DataError, match=message):
        opened(shop(rows))
