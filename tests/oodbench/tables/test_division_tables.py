"""Figures 2, 6 and 8 of OODBench: the sizes of a division, and whose OOD its pairs are."""

from functools import partial

import pytest

from eyechart.errors import ReportError
from eyechart.reports.figures.registry import draw
from tests.oodbench.division_answers import divided

FIGURES = ("oodbench-F2", "oodbench-F6", "oodbench-F8")


def test_the_main_benchmark_is_counted_by_category(divided_bench):
    rows = divided_bench.rows("oodbench-F2")
    found = [[row[name] for name in ("Data", "Category", "ID", "OOD-S", "OOD-H", "OOD")] for row in rows]
    assert found[:2] == [["COCO", "all", "1", "2", "2", "4"], ["COCO", "dog", "0", "1", "2", "3"]]
    assert found[2:] == [["COCO", "cat", "1", "1", "0", "1"], ["COCO", "éclair", "0", "0", "0", "0"]]


def test_the_initial_benchmark_has_what_downsampling_took_away(divided_bench):
    rows = divided_bench.rows("oodbench-F8")
    assert [(row["Category"], row["OOD-S'"], row["OOD-H'"]) for row in rows] == [
        ("all", "3", "3"),
        ("dog", "1", "2"),
        ("cat", "2", "0"),
        ("éclair", "0", "1"),
    ]


def test_data_sets_divided_in_one_way_are_summed(divided_bench):
    divided_bench.case(
        "progression", source="lvis", files={"division": divided()}, detectors="clip+blip2", division="e"
    )
    divided_bench.case("progression", source="lvis", files={"division": divided()}, detectors="clip", division="c")
    one, other = divided_bench.tables("oodbench-F2")
    assert [row[0] for row in one.rows[:2]] == ["all", "COCO"]
    assert one.rows[0][-1] == 8
    assert {row[0] for row in other.rows} == {"LVIS"}


def test_a_division_with_hard_samples_is_the_one_without(divided_bench):
    mined = [*divided(), *(divided()[0] | {"pair": 7, "name": name, "set": "Hard"} for name in ("cat", "rat"))]
    divided_bench.case(
        "existence", "hf[c]", files={"division": mined}, detectors="clip+blip2", hard_samples="own", division="h"
    )
    (table,) = divided_bench.tables("oodbench-F2")
    assert table.columns == ("Data", "Category", "ID", "OOD-S", "OOD-H", "Hard Sample", "OOD")
    assert [row[2:] for row in table.rows if row[1] == "all"] == [(1, 2, 2, 2, 4)]


@pytest.mark.parametrize("name", FIGURES)
def test_without_a_division_the_remedy_is_named(bench, name):
    bench.case("detection", "hf[a]")
    with pytest.raises(ReportError, match=r"these runs have detection\. Make it with: pytest -k"):
        bench.rows(name)


@pytest.fixture
def drawn(divided_bench, drawing):
    """Draw a figure and give its texts."""
    return partial(drawing, divided_bench.pool())


@pytest.mark.parametrize(("name", "texts"), [
    ("oodbench-F2", {"dog", "cat", "OOD-S", "OOD-H", "oodbench/coco, clip+blip2: 4 pairs"}),
    ("oodbench-F8", {"dog", "cat", "éclair", "OOD-S'", "OOD-H'", "oodbench/coco, clip+blip2: 6 pairs"}),
    ("oodbench-F6", {"hf[a]", "hf[b]", "66.67", "33.33", "oodbench/coco, n=3 pairs"}),
])  # fmt: skip
def test_the_figures_have_what_the_tables_have(drawn, name, texts):
    assert texts <= {*drawn(name)}


@pytest.mark.deep
def test_categories_after_the_eightieth_share_a_bar(bench, tmp_path):
    rows = [divided()[1] | {"name": f"thing {number}"} for number in range(100)]
    bench.case("existence", files={"division": rows})
    text = draw("oodbench-F2", bench.pool(), None, tmp_path / "f.svg", tmp_path).read_text(encoding="utf-8")
    assert "20 more" in text
    assert text.count(">thing ") == 80
