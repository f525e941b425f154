"""Tables 2 and 9 and Figure 13 of OODBench: one choice of the division changes, all else is equal."""

import re

import pytest

from eyechart.errors import ReportError
from eyechart.protocol.registry import get_protocol

GOOD, POOR, DEAF = "yn", "ny", "nn"
ID = {"ID": GOOD * 4}


@pytest.fixture
def thresholds(existing):
    """Three thresholds, the lower the fewer pairs and the worse the answers."""
    for value, hard in (("0.005", POOR), ("0.05", GOOD * 3 + POOR), ("0.01", GOOD + POOR)):
        existing("hf[a]", "nuscenes", {**ID, "OOD-S": GOOD * 2, "OOD-H": hard}, threshold=value)
    return existing.bench


def test_table_2_has_both_sets_under_every_threshold_the_highest_first(thresholds):
    rows = thresholds.rows("oodbench-T2")
    assert [row["Threshold T"] for row in rows] == ["0.05", "0.05", "0.01", "0.01", "0.005", "0.005"]
    assert [row["Data Type"] for row in rows] == ["OOD-S", "OOD-H"] * 3
    assert [(row["Num"], row["Accuracy"]) for row in rows[1::2]] == [("8", "75.00"), ("4", "50.00"), ("2", "0.00")]


def test_a_division_that_does_not_say_its_threshold_stands_last(thresholds, existing):
    existing("hf[a]", "nuscenes", {**ID, "OOD-S": GOOD, "OOD-H": GOOD}, threshold="unknown")
    assert [row["Threshold T"] for row in thresholds.rows("oodbench-T2")][-3:] == ["0.005", "unknown", "unknown"]


def test_what_an_ablation_compares_is_in_no_letter_and_no_wording(thresholds):
    (table,) = thresholds.tables("oodbench-T2")
    assert {row[0] for row in table.rows} == {"hf[a]"}
    (said,) = (note for note in table.notes if note.startswith("Set: "))
    assert "threshold" not in said
    assert "detectors x[]+y[]" in said


def test_the_initial_benchmark_is_shown_where_all_were_asked_it(existing):
    for value in ("0.05", "0.01"):
        existing("hf[a]", "coco", {**ID, "OOD-S": GOOD, "OOD-S'": POOR}, division_scope="initial", threshold=value)
    assert [row["Data Type"] for row in existing.bench.rows("oodbench-T2")][::2] == ["OOD-S'"] * 2
    existing("hf[a]", "coco", {**ID, "OOD-S": GOOD}, threshold="0.005")
    assert [(row["Data Type"], row["Num"]) for row in existing.bench.rows("oodbench-T2")][::2] == [("OOD-S", "2")] * 3


def test_ways_of_asking_are_compared_apart(thresholds, existing):
    for value in ("0.05", "0.01"):
        existing("hf[a]", "nuscenes", {**ID, "OOD-S": GOOD}, threshold=value, parser="authors")
    names = [row["Model"] for row in thresholds.rows("oodbench-T2")]
    assert names == ["hf[a] (a)"] * 4 + ["hf[a] (b)"] * 6


def test_one_threshold_alone_is_refused_with_the_remedy(existing):
    existing("hf[a]", "coco", ID)
    with pytest.raises(ReportError, match=r"compares thresholds of one model.*existence\.threshold=0\.05,0\.01,0\.005"):
        existing.bench.rows("oodbench-T2")


@pytest.mark.parametrize("name", ["T2", "T9", "F13", "T10", "T18", "signature"])
def test_the_options_of_a_remedy_are_there(existing, name):
    existing("hf[a]", "lvis", {**ID, "OOD-H": GOOD})
    with pytest.raises(ReportError) as error:
        existing.bench.rows(f"oodbench-{name}")
    options = {*re.findall(r"--eye-set=(\w+)\.(\w+)", str(error.value))}
    assert all(option in get_protocol(protocol).defaults() for protocol, option in options)
    assert {*re.findall(r"--eye-([\w-]+)", str(error.value))} <= {"set", "model", "data"}
