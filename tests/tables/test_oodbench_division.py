"""Figures 2, 6 and 8 of OODBench: the sizes of a division, and whose OOD its pairs are."""

from functools import partial

import pytest

from eyechart.errors import ReportError
from eyechart.reports.figures.registry import draw
from eyechart.statistics.intervals import wilson

FIGURES = ("oodbench-F2", "oodbench-F6", "oodbench-F8")
# Set, category, main; then what two models say of each: both answers, "y" right, "n" wrong, "?" unparsed, "e" an error.
PAIRS = (
    ("ID", "cat", 1, "yy", "yy"),
    ("OOD-S", "cat", 1, "yn", "yy"),
    ("OOD-S", "dog", 1, "yy", "y?"),
    ("OOD-H", "dog", 1, "nn", "ne"),
    ("OOD-H", "dog", 1, "nn", "ye"),
    ("OOD-H", "éclair", 0, "", ""),
    ("OOD-S", "cat", 0, "", ""),
)


def divided():
    """The rows of a division's csv."""
    return [
        {"pair": pair, "key": f"k{pair}", "category": 3, "name": name, "set": of, "main": main, "present": 1}
        for pair, (of, name, main, *_) in enumerate(PAIRS)
    ]


def answer(pair, row, index, said):
    """A question's row: the positive one is to be answered yes."""
    expected = ("yes", "no")[index]
    given = {"y": expected, "n": ("no", "yes")[index], "?": "", "e": ""}[said]
    more = {"question": ("positive", "negative")[index], "category_name": row["name"], "subset": row["set"]}
    shared = {"target": expected, "prediction": given, "correct": "" if said == "e" else int(said == "y")}
    return {**row, "pair": pair, **more, **shared, "error": "refused" * (said == "e")}


def answered(model):
    """The rows of a model's answers."""
    rows = divided()
    given = [(pair, index, said) for pair, row in enumerate(PAIRS) for index, said in enumerate(row[3 + model])]
    return [answer(pair, rows[pair], index, said) for pair, index, said in given]


@pytest.fixture
def asked(bench):
    """Two models asked about one division."""
    for model, name in enumerate(("hf[a]", "hf[b]")):
        bench.case("existence", name, rows=answered(model), files={"division": divided()}, detectors="clip+blip2")
    return bench


def test_the_main_benchmark_is_counted_by_category(asked):
    rows = asked.rows("oodbench-F2")
    found = [[row[name] for name in ("Data", "Category", "ID", "OOD-S", "OOD-H", "OOD")] for row in rows]
    assert found[:2] == [["COCO", "all", "1", "2", "2", "4"], ["COCO", "dog", "0", "1", "2", "3"]]
    assert found[2:] == [["COCO", "cat", "1", "1", "0", "1"], ["COCO", "éclair", "0", "0", "0", "0"]]


def test_the_initial_benchmark_has_what_downsampling_took_away(asked):
    rows = asked.rows("oodbench-F8")
    assert [(row["Category"], row["OOD-S'"], row["OOD-H'"]) for row in rows] == [
        ("all", "3", "3"),
        ("dog", "1", "2"),
        ("cat", "2", "0"),
        ("éclair", "0", "1"),
    ]


def test_data_sets_divided_in_one_way_are_summed(asked):
    asked.case("progression", source="lvis", files={"division": divided()}, detectors="clip+blip2", division="e")
    asked.case("progression", source="lvis", files={"division": divided()}, detectors="clip", division="c")
    one, other = asked.tables("oodbench-F2")
    assert [row[0] for row in one.rows[:2]] == ["all", "COCO"]
    assert one.rows[0][-1] == 8
    assert {row[0] for row in other.rows} == {"LVIS"}


def test_a_division_with_hard_samples_is_the_one_without(asked):
    mined = [*divided(), *(divided()[0] | {"pair": 7, "name": name, "set": "Hard"} for name in ("cat", "rat"))]
    asked.case(
        "existence", "hf[c]", files={"division": mined}, detectors="clip+blip2", hard_samples="own", division="h"
    )
    (table,) = asked.tables("oodbench-F2")
    assert table.columns == ("Data", "Category", "ID", "OOD-S", "OOD-H", "Hard Sample", "OOD")
    assert [row[2:] for row in table.rows if row[1] == "all"] == [(1, 2, 2, 2, 4)]


def test_models_own_ood_sets_cover_pairs_one_after_another(asked):
    rows = asked.rows("oodbench-F6")
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


def test_a_pair_without_an_answer_is_left_out_unless_the_other_answer_is_wrong(asked):
    (table,) = asked.tables("oodbench-F6")
    assert "1 pair is left out: not every model has answered it." in table.notes


def test_answers_about_other_pairs_stand_apart(asked):
    rows = [row for row in answered(1) if row["pair"] != 1]
    asked.case("existence", "hf[c]", rows=rows, files={"division": divided()}, detectors="clip+blip2")
    assert [{row[1] for row in table.rows} for table in asked.tables("oodbench-F6")] == [{"hf[a]", "hf[b]"}, {"hf[c]"}]


def test_a_model_stands_once_however_often_it_was_asked_the_same(asked):
    asked.case(
        "existence", "hf[a]", rows=answered(0), detectors="clip+blip2", hard_samples="own", division_scope="initial"
    )
    (table,) = asked.tables("oodbench-F6")
    assert [row[1] for row in table.rows if row[0] == "OOD-H"] == ["hf[a]", "hf[b]"]


@pytest.mark.parametrize("name", FIGURES)
def test_without_a_division_the_remedy_is_named(bench, name):
    bench.case("detection", "hf[a]")
    with pytest.raises(ReportError, match=r"these runs have detection\. Make it with: pytest -k"):
        bench.rows(name)


@pytest.fixture
def drawn(asked, drawing):
    """Draw a figure and give its texts."""
    return partial(drawing, asked.pool())


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
