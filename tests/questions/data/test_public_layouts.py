"""Small files of our own in the forms of public benchmarks are read as they are."""

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError
from eyechart.questions.answers.kinds import AUTO, CHOICE, EXACT, YES_NO, resolve_kinds
from eyechart.questions.data.question_set import Question
from tests.questions.conftest import png
from tests.questions.shelf import opened, questions

Shop = Callable[..., Path]


def encoded(number: int) -> str:
    return b64encode(png(number)).decode()


def kinds(found: tuple[Question, ...]) -> tuple[str, ...]:
    return resolve_kinds(found, AUTO)


def test_vlmevalkits_tsv(shop: Shop) -> None:
    """MMBench: base64, or the index of the row whose image it is; MMStar and BLINK: lists of images."""
    options = {"A": "red", "B": "blue", "C": "grey", "D": ""}
    rows = [
        {
            "index": "7",
            "image": encoded(1),
            "question": "Which?",
            "hint": "Look.",
            **options,
            "answer": "C",
            "category": "colour",
            "l2-category": "fine",
        },
        {
            "index": "8",
            "image": "7",
            "question": "And?",
            "hint": "",
            **options,
            "answer": "A",
            "category": "colour",
            "l2-category": "fine",
        },
        {
            "index": "9",
            "image": f"['{encoded(2)}', '{encoded(3)}']",
            "question": "Both?",
            "hint": "",
            **options,
            "answer": "B",
            "category": "shape",
            "l2-category": "fine",
        },
    ]
    dataset = opened(shop(rows, "tsv"))
    found = questions(shop(rows, "tsv"))
    assert [(one.id, one.pictures, one.right, one.hint) for one in found] == [
        ("7", (0,), (2,), "Look."),
        ("8", (0,), (0,), ""),
        ("9", (1, 2), (1,), ""),
    ]
    assert [(one.name, one.values) for one in dataset.slices] == [
        ("category", ("colour", "shape")),
        ("l2_category", ("fine",)),
    ]
    assert kinds(found) == (CHOICE,) * 3


def test_popes_json_lines(shop: Shop) -> None:
    rows = [
        {"question_id": 1, "image": "1.png", "text": "Is there a cup in the image?", "label": "yes"},
        {"question_id": 2, "image": "1.png", "text": "Is there a dog in the image?", "label": "no"},
    ]
    found = questions(shop(rows, "jsonl"))
    assert [(one.id, one.text, one.answers) for one in found] == [
        ("1", "Is there a cup in the image?", ("yes",)),
        ("2", "Is there a dog in the image?", ("no",)),
    ]
    assert kinds(found) == (YES_NO,) * 2


def test_scienceqas_parquet(shop: Shop) -> None:
    """Questions without an image are left out, and the note says so; the answer is a number from 0."""
    row: dict[str, Any] = {
        "image": {"bytes": png(1), "path": None},
        "question": "Which?",
        "choices": ["warm", "cold"],
        "answer": 1,
        "hint": "",
        "subject": "physics",
        "lecture": "A long text. " * 20,
    }
    folder = shop([row, {**row, "image": None}, {**row, "answer": 0}], "parquet")
    assert [(one.id, one.options, one.right) for one in questions(folder)] == [
        ("0", ("warm", "cold"), (1,)),
        ("2", ("warm", "cold"), (0,)),
    ]
    (note,) = opened(folder).notes
    assert "2 questions about 1 image; 1 row without an image left out" in note
    assert note.endswith("slices: subject; not used: lecture (long texts)")


def test_mmmus_parquet(shop: Shop) -> None:
    """Options are a list in a text, images have columns of their own, and some questions are open."""
    row: dict[str, Any] = {
        "id": "v_1",
        "question": "What is in <image 1> and <image 2>?",
        "options": "['a cup', \"the cook's hat\"]",
        "image_1": {"bytes": png(1), "path": "a.png"},
        "image_2": {"bytes": png(2), "path": "b.png"},
        "answer": "B",
        "question_type": "multiple-choice",
        "subfield": "kitchen",
    }
    other = {**row, "id": "v_2", "image_2": None, "options": "[]", "answer": "12", "question_type": "open"}
    first, second = found = questions(shop([row, other], "parquet"))
    assert (first.options, first.right, first.pictures) == (("a cup", "the cook's hat"), (1,), (0, 1))
    assert (second.options, second.answers, second.pictures) == ((), ("12",), (0,))
    assert kinds(found) == (CHOICE, EXACT)


def test_llavas_question_file_with_a_file_of_answers(shop: Shop) -> None:
    rows = [{"question_id": number, "image": f"{number}.png", "text": "What?", "category": "conv"} for number in (1, 2)]
    folder = shop(rows, "jsonl")
    with pytest.raises(DataError, match=r"has no column 'answer'"):
        opened(folder)
    (folder / "answers.jsonl").write_text(
        '{"question_id": 2, "answer": "a cup"}\n{"question_id": 1, "answer": "tea"}\n'
    )
    assert [one.answers for one in questions(folder)] == [("tea",), ("a cup",)]
    (folder / "answers.jsonl").write_text('{"question_id": 2, "answer": "a cup"}\n')
    with pytest.raises(DataError, match=r"line 1: .*answers\.jsonl has no answer to '1'\. Add a row with this id"):
        opened(folder)


def test_vqas_answers_of_ten_people(shop: Shop) -> None:
    people = [{"answer": "red" if number else "dark red", "answer_id": number} for number in range(10)]
    (found,) = questions(shop([{"image": "1.png", "question": "Which?", "answers": people}], "jsonl"))
    assert found.answers == ("dark red", *["red"] * 9)
    assert kinds((found,)) == ("vqa",)
