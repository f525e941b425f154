"""A table of questions in each form of file has the same columns, and a damaged file is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.errors import DataError
from tests.questions.shelf import ROW, opened, questions

Shop = Callable[..., Path]


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


def test_a_separator_of_lines_within_a_text(shop: Shop) -> None:
    folder = shop([ROW])
    (folder / "questions.csv").unlink()
    text = "\n".join(
        json.dumps(ROW | {"id": str(row), "question": "a\u2028\x85b"}, ensure_ascii=False) for row in (1, 2)
    )
    (folder / "questions.jsonl").write_text(text, encoding="utf-8")
    assert [question.text for question in questions(folder)] == ["a\u2028\x85b"] * 2
