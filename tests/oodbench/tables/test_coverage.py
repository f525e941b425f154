"""Tests of `eyechart.oodbench.tables.coverage`."""

import pytest

from eyechart.statistics.intervals import wilson
from tests.oodbench.division_answers import answer, answered, divided


def test_models_own_ood_sets_cover_pairs_one_after_another(divided_bench):
    rows = divided_bench.rows("oodbench-F6")
    found = [
        [row[name] for name in ("Data Type", "Model", "Own", "Additional", "Covered", "Covered n")] for row in rows
    ]
    assert found[:2] == [
        ["OOD", "hf[a]", "66.67", "66.67", "66.67", "3"],
        ["OOD", "hf[b]", "66.67", "33.33", "100.00", "3"],
    ]
    assert [row[2:] for row in found[4:]] == [["100.00", "100.00", "100.00", "1"], ["100.00", "0.00", "100.00", "1"]]


def test_pairs_of_one_image_are_one_unit_of_the_shares_they_cover(bench):
    ends = {}
    for name, images in (("apart", 6), ("together", 3)):
        rows = [
            answer(pair, {"key": f"k{pair % images}", "category": pair, "name": "cat", "set": "OOD-S", "main": 1,
                          "present": 1}, index, "yn"[pair % images % 2 == 0])
            for pair in range(6) for index in (0, 1)
        ]  # fmt: skip
        bench.case("existence", f"hf[{name}]", rows=rows, files={"division": divided()}, detectors=name)
    for row in bench.rows("oodbench-F6"):
        ends[row["Model"]] = (float(row["Own low"]), float(row["Own high"]))
    assert ends["hf[together]"] == pytest.approx([100 * end for end in wilson(2, 3)], abs=0.006)
    assert ends["hf[apart]"] == pytest.approx([100 * end for end in wilson(3, 6)], abs=0.006)


def test_a_pair_without_an_answer_is_left_out_unless_the_other_answer_is_wrong(divided_bench):
    (table,) = divided_bench.tables("oodbench-F6")
    assert "1 pair is left out: not every model has answered it." in table.notes


def test_answers_about_other_pairs_stand_apart(divided_bench):
    rows = [row for row in answered(1) if row["pair"] != 1]
    divided_bench.case("existence", "hf[c]", rows=rows, files={"division": divided()}, detectors="clip+blip2")
    assert [{row[1] for row in table.rows} for table in divided_bench.tables("oodbench-F6")] == [
        {"hf[a]", "hf[b]"},
        {"hf[c]"},
    ]


def test_a_model_stands_once_however_often_it_was_asked_the_same(divided_bench):
    divided_bench.case(
        "existence", "hf[a]", rows=answered(0), detectors="clip+blip2", hard_samples="own", division_scope="initial"
    )
    (table,) = divided_bench.tables("oodbench-F6")
    assert [row[1] for row in table.rows if row[0] == "OOD-H"] == ["hf[a]", "hf[b]"]
