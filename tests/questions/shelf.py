"""The shelf of a small shop: a row of its table, and its questions as a session opens them."""

from pathlib import Path
from typing import Any

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.questions.data.question_set import Question, find_questions

ROW = {"id": "a", "image": "1.png", "question": "Which?", "A": "red", "B": "blue", "answer": "B"}


def opened(folder: Path) -> Dataset:
    """The split of a folder, as a session opens it."""
    (ref,) = (ref for ref in list_splits(folder.parent.parent) if ref.benchmark == "myshop")
    return open_split(ref)


def questions(folder: Path) -> tuple[Question, ...]:
    return find_questions(opened(folder)).questions


def changed(**cells: Any) -> list[dict[str, Any]]:
    """Two rows, the second one with other cells."""
    return [ROW, {**ROW, "id": "b", **cells}]
