"""Tables 3 and 14 to 17 of OODBench: progression by set, per data set and pooled."""

import pytest

from eyechart.errors import ReportError
from eyechart.results.records import SubsetTiming

SETS = ("ID", "OOD-S", "OOD-H")


def questions(*samples, name="ID"):
    """The rows of samples (key, whether E, C and L are right: 1, wrong: 0, or an error: nothing)."""
    return [
        {"key": key, "correct": correct, "subset": name, "sample": number, "question": question}
        for number, (key, right) in enumerate(samples)
        for question, correct in zip(("existence", "counting", "logic"), right, strict=True)
    ]


@pytest.fixture
def asked(bench):
    """Two models about COCO, the second about LVIS, too."""
    own = [(f"{measure}_acc", name, 0.5, 8, (0.25, 0.75)) for name in SETS for measure in "ecl"]
    times = {
        "ID": SubsetTiming(answers=24, fresh=24, seconds=3725.4),
        "OOD-S": SubsetTiming(answers=24, fresh=3, seconds=1.0),
    }
    bench.case("progression", "hf[a]", metrics=own, rows=questions(("x", "111")), sets=times)
    bench.case("progression", "hf[b]", metrics=own, rows=questions(("x", "110"), ("y", "100"), ("z", "000")))
    rows = questions(("x", "111"), ("x", ("1", "", "")))
    bench.case("progression", "hf[b]", "lvis", metrics=own[:3], rows=rows)
    return bench


def test_a_data_sets_table_has_each_model_and_set_with_its_time(asked):
    rows = asked.rows("oodbench-T14")
    assert [(row["Model"], row["Data Type"]) for row in rows] == [(m, s) for m in ("hf[a]", "hf[b]") for s in SETS]
    assert [row["Time"] for row in rows[:3]] == ["01:02:05", "kept", ""]
    assert {(row["C-Acc"], row["C-Acc n"], row["C-Acc low"]) for row in rows} == {("50.00", "8", "25.00")}


def test_what_one_data_set_has_is_pooled_as_it_is(asked):
    first, *_ = asked.rows("oodbench-T3")
    assert (first["Data"], first["E-Acc"], first["E-Acc n"], first["E-Acc high"]) == ("COCO", "50.00", "8", "75.00")


def test_samples_of_several_data_sets_count_by_their_number(asked):
    row = next(row for row in asked.rows("oodbench-T3") if row["Model"] == "hf[b]")
    assert (row["Data"], row["Data Type"]) == ("COCO + LVIS", "ID")
    assert [(row[name], row[f"{name} n"]) for name in ("E-Acc", "C-Acc", "L-Acc")] == [
        ("80.00", "5"),
        ("50.00", "4"),
        ("25.00", "4"),
    ]
    assert float(row["C-Acc low"]) < 50 < float(row["C-Acc high"])


def test_images_are_drawn_within_their_data_set(asked):
    """LVIS's only image is right in C, so that one of the four answers always is."""
    row = next(row for row in asked.rows("oodbench-T3") if row["Model"] == "hf[b]")
    assert row["C-Acc low"] == "25.00"


def test_an_interval_is_no_point_where_no_resample_differs(asked):
    """In L no image of COCO is right, and LVIS's only one is."""
    row = next(row for row in asked.rows("oodbench-T3") if row["Model"] == "hf[b]")
    assert float(row["L-Acc low"]) < 25 < float(row["L-Acc high"])


def test_other_ways_of_asking_are_other_tables(asked):
    own = [("e_acc", "ID", 0.25)]
    asked.case("progression", metrics=own, threshold="0.01", division="e")
    assert len(asked.tables("oodbench-T14")) == len(asked.tables("oodbench-T3")) == 2


def test_a_table_with_nothing_to_show_says_what_makes_it(asked):
    with pytest.raises(ReportError, match=r'on nuScenes; these runs have progression.* -k "oodbench and progression"'):
        asked.rows("oodbench-T16")


def test_files_that_are_no_samples_are_refused(bench):
    bench.case("progression", metrics=[("e_acc", "ID", 1.0)], rows=[{"key": "x"}])
    bench.case("progression", source="lvis", metrics=[("e_acc", "ID", 1.0)], rows=[{"key": "x"}])
    with pytest.raises(ReportError, match=r"no column subset, question, correct; its columns are key\. Run"):
        bench.rows("oodbench-T3")
