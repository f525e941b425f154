"""Answers to sheets of pairs."""

import json
from hashlib import sha256
from pathlib import Path

from eyechart.oodbench.division.division_files import DivisionFile
from eyechart.oodbench.spot_check.sheet_files import sheet_id


def answered(division: Path, verdicts: dict[int, str], name: str = "answers.json") -> Path:
    """Answers about pairs of a division, by their numbers, as a sheet writes them."""
    pairs, whole = [*verdicts], sha256(division.read_bytes()).hexdigest()
    answers = {str(number): {"verdict": verdict, "comment": ""} for number, verdict in enumerate(verdicts.values(), 1)}
    content = {"schema": 1, "sheet": sheet_id(whole, pairs), "division": whole, "pairs": pairs, "answers": answers}
    path = division.parents[1] / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def indices(whole: DivisionFile, name: str) -> list[int]:
    return [index for index, pair in enumerate(whole.pairs) if pair.set == name]
