"""Tests of `eyechart.oodbench.tables.detector_tables`."""

import pytest
from msgspec import structs

from eyechart.errors import ReportError
from eyechart.results.records import SubsetTiming
from tests.oodbench.tables.existence_answers import GOOD, POOR

ID = {"ID": GOOD * 4}
CLIP, BLIP, LIT = "open_clip[ViT-B-32,pretrained=openai]", "blip2[x,a=1+1]", "hf[lit]"


@pytest.fixture
def pairs(existing):
    """Two pairs of detectors, of which the second flag two of the first ones' four pairs and two more."""
    first = {**ID, "OOD-H": GOOD * 2 + POOR * 2}
    existing("hf[a]", "coco", {**first, "OOD-H'": GOOD}, division_scope="initial", detectors=f"{CLIP}+{BLIP}")
    existing("hf[a]", "coco", {**first, "OOD-H'": POOR}, division_scope="initial", detectors=f"{BLIP}+{LIT}")
    return existing


def test_table_9_has_a_difference_after_every_other_pair_of_detectors(pairs):
    rows = pairs.bench.rows("oodbench-T9")
    assert [row["OOD Detectors"] for row in rows] == [f"ViT-B-32/openai & {BLIP}", f"{BLIP} & {LIT}", "Δ"]
    assert [(row["Data Type"], row["Num"], row["Accuracy"]) for row in rows] == [
        ("OOD-H'", "10", "60.00"),
        ("OOD-H'", "10", "40.00"),
        ("OOD-H'", "", "+20.00"),
    ]
    assert float(rows[2]["Accuracy low"]) < 20 < float(rows[2]["Accuracy high"])


@pytest.mark.parametrize("name", ["oodbench-T9", "oodbench-F13"])
def test_an_ablation_of_detectors_says_in_its_title_which_benchmark_it_shows(existing, name):
    for detectors in ("x[]", "x[]+y[]", "y[]+z[]"):
        existing("hf[a]", "coco", {**ID, "OOD-H": GOOD}, division_scope="main", detectors=detectors)
    (table,) = existing.bench.tables(name)
    assert table.title.endswith("existence (%), main benchmark")
    assert any("The published table uses all of them" in note for note in table.notes)
    for detectors in ("x[]", "x[]+y[]", "y[]+z[]"):
        existing("hf[a]", "coco", {**ID, "OOD-H": GOOD, "OOD-H'": POOR}, division_scope="initial", detectors=detectors)
    (table,) = existing.bench.tables(name)
    assert table.title.endswith("existence (%), initial benchmark")
    assert not any("--eye-set=existence.division_scope=initial" in note for note in table.notes)
    existing("hf[b]", "coco", {**ID, "OOD-H": GOOD}, division_scope="main", detectors="x[]")
    existing("hf[b]", "coco", {**ID, "OOD-H": GOOD}, division_scope="main", detectors="x[]+y[]")
    if name == "oodbench-F13":
        (table,) = existing.bench.tables(name)
        assert table.title.endswith("existence (%), initial and main benchmark")


def test_table_9_has_the_time(existing):
    for detectors in ("x[]+y[]", "y[]+z[]"):
        took = {"OOD-H": SubsetTiming(answers=2, fresh=2, seconds=61.0)}
        existing("hf[a]", "coco", {**ID, "OOD-H": GOOD}, took, detectors=detectors)
    assert [row["Time"] for row in existing.bench.rows("oodbench-T9")] == ["00:01:01", "00:01:01", ""]
    assert any(note.startswith("Time: ") for note in existing.bench.tables("oodbench-T9")[0].notes)


def test_the_first_detectors_are_those_that_the_command_names_first(existing):
    """Records are sorted by name, so that z comes last."""
    for detectors in ("x[]+y[]", "y[]+z[a=1,b=2]", "z[]+x[]"):
        existing("hf[a]", "coco", {**ID, "OOD-H": GOOD}, detectors=detectors)
    asked = "--eye-set=existence.detectors=z[]+x[],y[]+z[b=2,a=1]"
    records = existing.bench.records
    existing.bench.records = [structs.replace(each, command=f"pytest '{asked}' -q") for each in records]
    found = [row["OOD Detectors"] for row in existing.bench.rows("oodbench-T9")]
    assert [each for each in found if each != "Δ"] == ["z[] & x[]", "y[] & z[a=1,b=2]", "x[] & y[]"]


def test_pairs_that_both_flag_are_drawn_for_both(existing):
    """The same pairs under either name: whatever is drawn, there is no difference."""
    for detectors in ("x[]+y[]", "y[]+z[]"):
        existing("hf[a]", "coco", {**ID, "OOD-H": GOOD * 3 + POOR * 2}, detectors=detectors)
    *_, row = existing.bench.rows("oodbench-T9")
    assert [row[f"Accuracy{end}"] for end in ("", " low", " high")] == ["+0.00"] * 3


def test_figure_13_has_the_longest_row_of_detectors_with_its_beginnings(pairs, existing):
    for detectors in (CLIP, f"{CLIP}+{BLIP}+{LIT}"):
        existing("hf[a]", "coco", {**ID, "OOD-H": POOR}, division_scope="initial", detectors=detectors)
    rows = existing.bench.rows("oodbench-F13")
    assert [row["OOD Detectors"][0] for row in rows] == ["1", "2", "3"]
    assert rows[1]["OOD Detectors"] == f"2: ViT-B-32/openai & {BLIP}"
    assert [row["F1"] for row in rows] == ["0.00", "60.00", "0.00"]


def test_table_9_wants_equally_many_detectors_and_figure_13_beginnings(existing):
    for detectors in ("x[]", "y[]+z[]"):
        existing("hf[a]", "coco", ID, detectors=detectors)
    for name, remedy in (
        ("T9", "--eye-set=existence.detectors=A.B,B.C,C.D"),
        ("F13", "--eye-set=existence.detectors=A,A.B,A.B.C,A.B.C.D"),
    ):
        with pytest.raises(ReportError, match=remedy):
            existing.bench.rows(f"oodbench-{name}")
