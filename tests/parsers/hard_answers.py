"""The corpus of hard answers, each with what a person read in it."""

import json
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[1] / "golden/hard_answers.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


def said(row: dict[str, Any]) -> str:
    """Return the answer of a row."""
    answer: str = row["answer"]
    return answer * row.get("times", 1)
