"""Tables of questions in every form: what each column is, where pictures are, and what cannot be read."""

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import DataError
from eyechart.questions.data.open_questions import open_question_frame
from eyechart.questions.data.question_set import Question, find_questions
from tests.questions.conftest import png

Shop = Callable[..., Path]
ROW = {"id": "a", "image": "1.png", "question": "Which?", "A": "red", "B": "blue", "answer": "B"}


def opened(folder: Path) -> Dataset:
    """The split of a folder, as a session opens it."""
    (ref,) = (ref for ref in list_splits(folder.parent.parent) if ref.benchmark == "myshop")
    return open_split(ref)


def questions(folder: Path) -> tuple[Question, ...]:
    return find_questions(opened(folder)).questions


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_each_form_of_a_table_gives_the_same_questions(shop: Shop, suffix: str) -> None:
    (first, second) = questions(shop([ROW, {**ROW, "id": "b", "image": "2.png", "answer": "A"}], suffix))
    assert (first.id, first.text, first.options, first.right, first.pictures) == (
        "a",
        "Which?",
        ("red", "blue"),
        (1,),
        (0,),
    )
    assert (second.right, second.pictures) == ((0,), (1,))


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


def test_pictures_lie_beside_the_table_or_above_it(shop: Shop) -> None:
    folder = shop([{**ROW, "image": name, "id": name} for name in ("1.png", "in.png", "above.png")])
    for path in (folder / "images/in.png", folder.parent / "above.png"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(png(9))
    dataset = find_questions(opened(folder)).pictures
    assert [row.key for row in dataset.index] == ["1.png", "images/in.png"]  # two files with one picture are one


def test_pictures_are_base64_bytes_or_open(shop: Shop, tmp_path: Path) -> None:
    text = b64encode(png(7)).decode()
    (row,) = opened(shop([{**ROW, "image": text}], "tsv")).index
    held = {"bytes": png(7), "path": None}
    (other,) = opened(shop([{**ROW, "image": held}], "parquet", tmp_path / "more/myshop/shelf")).index
    frame = pd.DataFrame([{**ROW, "image": Image.open(BytesIO(png(7)))}])
    (shown,) = open_question_frame(frame, "myshop", "shelf").read([0])
    assert (row.sha256, other.sha256) == (sha256(png(7)).hexdigest(),) * 2
    assert Image.open(BytesIO(shown[1])).getpixel((0, 0)) == (7, 7, 7)


def test_a_question_may_have_several_pictures(shop: Shop) -> None:
    rows = [
        {**ROW, "id": "a", "image": "1.png;2.png"},
        {**ROW, "id": "b", "image": "['2.png', '3.png']"},
        {**ROW, "id": "c", "image": "4.png"},
    ]
    dataset = opened(shop(rows))
    found = find_questions(dataset)
    assert [question.pictures for question in found.questions] == [(0, 1), (1, 2), (3,)]
    assert found.clusters.tolist() == [0, 0, 1]  # the first two share a picture
    ((_, shown),) = dataset.read([0])
    with Image.open(BytesIO(shown)) as image:
        assert (image.size, image.getpixel((0, 0)), image.getpixel((15, 0))) == ((16, 8), (1, 1, 1), (2, 2, 2))


def test_numbered_columns_hold_pictures(shop: Shop) -> None:
    plain = {name: ROW[name] for name in ROW if name != "image"}
    (found,) = questions(shop([{**plain, "image_1": "1.png", "image_2": "3.png", "image_3": ""}]))
    assert found.pictures == (0, 1)


def test_answers_are_letters_texts_or_numbers_in_one_way(shop: Shop) -> None:
    rows = [{**ROW, "id": "a", "answer": "1"}, {**ROW, "id": "b", "answer": "0"}]
    assert [question.right for question in questions(shop(rows))] == [(1,), (0,)]
    rows = [{**ROW, "id": "a", "answer": "Red; blue"}, {**ROW, "id": "b", "answer": "blue"}]
    assert [question.right for question in questions(shop(rows))] == [(0, 1), (1,)]


def test_further_columns_are_slices_beside_those_of_slices_csv(shop: Shop) -> None:
    rows = [{**ROW, "id": name, "l2-category": "fruit"} for name in ("a", "b")]
    folder = shop(rows)
    (folder / "slices.csv").write_text("key,light\na,day\n")
    dataset = opened(folder)
    assert [(one.name, one.values, one.codes.tolist()) for one in dataset.slices] == [
        ("l2_category", ("fruit",), [0, 0]),
        ("light", ("day",), [0, -1]),
    ]


def test_the_same_answers_have_the_same_hash_in_another_folder(shop: Shop, tmp_path: Path) -> None:
    here, there = shop([ROW]), shop([ROW], "jsonl", tmp_path / "more/myshop/shelf")
    first, second = (find_questions(opened(folder)) for folder in (here, there))
    assert first.sha256 == second.sha256
    assert opened(here).fingerprint == opened(there).fingerprint
    assert find_questions(opened(shop([{**ROW, "answer": "A"}]))).sha256 != first.sha256


TWO = [ROW, {**ROW, "id": "b"}]


def changed(**cells: Any) -> list[dict[str, Any]]:
    """Two rows, the second one with other cells."""
    return [ROW, {**ROW, "id": "b", **cells}]


PLAIN = {"image": "1.png", "question": "Which?"}
BAD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a missing image": (changed(image="9.png"), r"line 3: there is no image 9\.png below .*shelf or .*Correct"),
    "no image": (changed(image=""), r"line 3 has no image\. Give the path"),
    "an address": (changed(image="https://x.org/1.png"), r"line 3: the image is the URL .*Download it"),
    "no option": (
        changed(answer="C"),
        r"line 3: the answer 'C' is not among the options: A\) red; B\) blue\. The answers of 1 other rows are letters",
    ),
    "two ids": (changed(id="a"), r"line 3 has the id 'a', which line 2 has, too\. Give each question an id"),
    "no answer": (changed(answer=""), r"line 3 has the options red, blue and no answer\. Write the answer"),
    "a gap": ([{**ROW, "C": "grey", "B": ""}], r"line 2 has no option B, but a later one"),
    "one option": (changed(B=""), r"line 3 has one option\. Write two at least, or none"),
    "no text": (changed(question=" "), r"line 3 has no text in the column question\. Write the question"),
    "a kind": (changed(kind="colour"), r"line 3 has the kind 'colour'\. Expected one of choice"),
    "two answers": (changed(answers="A"), r"has the columns answer and answers\. Keep one"),
    "no question": ([{"image": "1.png", "answer": "x", "question1": "?"}], r"no column 'question'.*you mean question1"),
    "a class": ([{**row, "class": "x"} for row in TWO], r"column 'class', which is called like the slices by class"),
    "one slice twice": (
        [{**row, "l2-x": "x", "l2_x": "y"} for row in TWO],
        r"column 'l2_x', which is called like another slice of the table\. Rename it",
    ),
    "numbers from 1": (
        [{**ROW, "id": name, "answer": "1"} for name in "ab"],
        r"numbers and none is 0, so that they may count from 1\. Write letters",
    ),
    "letters without A": ([{**PLAIN, "B": "x", "C": "y", "answer": "B"}], r"columns B, C without A.*rename them"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_named_with_its_remedy(shop: Shop, name: str) -> None:
    rows, message = BAD[name]
    with pytest.raises(DataError, match=message):
        opened(shop(rows))


FILES = {
    "csv": {
        b"": r"questions\.csv is empty",
        b"image,question,answer\n": r"has a header and no rows",
        "image,question,answer\n1.png,Größe?,é\n".encode("latin-1"): r"line 2 is not UTF-8: it has the byte 0xf6",
        b"image;question;answer\n1.png;a;b\n": r"has semicolons between its columns",
    },
    "jsonl": {b"": r"has no rows\. Give a row", b'{"image": 1\n': r"line 1 is no JSON", b"[1]\n": r"line 1 is a list"},
    "parquet": {b"PK": r"is no parquet file"},
}


@pytest.mark.parametrize(("suffix", "content"), [(suffix, content) for suffix in FILES for content in FILES[suffix]])
def test_a_damaged_file_is_refused(shop: Shop, suffix: str, content: bytes) -> None:
    folder = shop([ROW])
    (folder / "questions.csv").unlink()
    (folder / f"questions.{suffix}").write_bytes(content)
    with pytest.raises(DataError, match=FILES[suffix][content]):
        opened(folder)


def test_two_tables_are_refused(shop: Shop) -> None:
    folder = shop([ROW])
    shop([ROW], "tsv")
    with pytest.raises(DataError, match=r"has questions\.csv and questions\.tsv\. Expected one table"):
        opened(folder)


def test_a_slice_of_both_tables_is_refused(shop: Shop) -> None:
    folder = shop([{**row, "light": "day"} for row in TWO])
    (folder / "slices.csv").write_text("key,light\na,day\n")
    with pytest.raises(DataError, match=r"slices\.csv has the column 'light', which the data set has itself\. Rename"):
        opened(folder)
