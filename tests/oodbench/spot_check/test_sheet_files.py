"""Tests of `eyechart.oodbench.spot_check.sheet_files`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ReportError
from eyechart.oodbench.division.division_files import read_file
from eyechart.oodbench.spot_check.sheet_outcomes import outcome_table, read_outcome
from tests.oodbench.spot_check.pair_answers import answered, indices

Make = Callable[..., Path]


def test_files_that_differ_are_unsure_and_those_that_agree_count_once(make_division: Make) -> None:
    division = make_division()
    first_pair, other, third = indices(read_file(division), "OOD-S")[:3]
    first = answered(division, {first_pair: "accept", other: "reject"})
    second = answered(division, {other: "accept", first_pair: "accept", third: "reject"}, "second.json")
    outcome = read_outcome(division, [first, second])
    assert outcome.verdicts == {first_pair: "accept", other: "unsure", third: "reject"}
    assert any(note.startswith("1 pairs have different verdicts") for note in outcome_table(outcome).notes)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another division": ({"division": "0" * 64}, "answers a sheet about the division 000000000000…, and this one is"),
    "other pairs": ({"pairs": [5, 6]}, "names other pairs than its sheet"),
    "no such picture": ({"answers": {"3": {"verdict": "accept"}}}, "answers a picture '3', and its sheet has 1 to 2."),
    "another word": ({"answers": {"1": {"verdict": "yes"}}}, "is not the answers to a sheet of a spot check"),
    "a later schema": ({"schema": 2}, "has schema 2, expected 1"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_other_answers_are_refused(make_division: Make, what: str) -> None:
    division = make_division()
    change, complaint = REFUSED[what]
    path = answered(division, {1: "accept", 2: "reject"})
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(ReportError) as refusal:
        read_outcome(division, [path])
    assert str(refusal.value).startswith(str(path))
    assert complaint in str(refusal.value)


def test_pairs_that_the_division_does_not_have_are_refused(make_division: Make) -> None:
    division = make_division()
    with pytest.raises(ReportError, match="names other pairs than its sheet"):
        read_outcome(division, [answered(division, {9999: "accept"})])
