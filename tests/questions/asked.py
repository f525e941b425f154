"""Rows of a choice and of an open question, and the numbers of a run about them."""

import json
from typing import Any

ROW = {"id": "a", "image": "1.png", "question": "Which?", "A": "red", "B": "blue", "C": "grey", "answer": "B"}
PLAIN = {"id": "a", "image": "1.png", "question": "What?", "answer": "tea"}


def record_of(run: Any) -> dict[str, Any]:
    (record,) = json.loads((run.folder / "records.json").read_bytes())["records"]
    return record


def values(run: Any) -> dict[tuple[str, str], float]:
    return run.metrics.set_index(["metric", "subset"]).value.to_dict()


def say_blue(numbers: tuple[int, ...], text: str) -> str:
    """Find the letter of blue."""
    return next(line[0] for line in text.splitlines() if line.endswith(") blue"))
