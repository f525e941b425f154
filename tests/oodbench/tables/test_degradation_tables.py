"""How far models fall from ID to OOD, whether by chance, and whether alike."""

from dataclasses import replace

import pytest

from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.oodbench.statistics.degradation import degradation
from eyechart.oodbench.tables.degradation_tables import PERMUTATION, comparable_sets, compute_degradation
from eyechart.oodbench.tables.pair_frames import CONFUSION, read_pairs
from eyechart.reports.tables.registry import tables
from tests.oodbench.tables.existence_answers import DEAF, GOOD, POOR, falls


@pytest.fixture
def only(three):
    """The rows of a table with some references."""

    def only(name, *references):
        made = tables(name, replace(three.bench.pool(), references=references))
        return [row for table in made for row in table.rows if (row[1], row[3]) == ("OOD-H", "Recall")]

    return only


def test_every_fall_has_its_interval_and_its_p_value(three):
    rows = {(row["Model"], row["Data Type"]): row for row in three.bench.rows("oodbench-degradation")}
    hard, simple = rows["hf[a]", "OOD-H"], rows["hf[a]", "OOD-S"]
    assert (hard["Recall Δ"], hard["Accuracy Δ"], hard["Num"]) == ("+35.00", "+17.50", "80")
    assert float(hard["Recall Δ low"]) < 35 < float(hard["Recall Δ high"])
    assert float(hard["Recall p"]) < 0.05 < float(simple["Recall p"])
    assert float(hard["Recall p low"]) <= float(hard["Recall p"]) <= float(hard["Recall p high"]) + 0.001


def test_a_fall_is_that_of_its_pairs(three):
    (page,) = PERMUTATION.get_pages(three.bench.pool())
    result = compute_degradation(page, 0, comparable_sets(page)[0, "OOD-H"])["mcc"]
    pairs = read_pairs(page.cases[0])
    counts = [pairs.loc[pairs["subset"] == name, CONFUSION].to_numpy() for name in ("ID", "OOD-H")]
    own = degradation(*counts, 2000, 42)["mcc"]
    assert (result.delta, result.ci, result.p) == (own.delta, own.ci, own.p)


def test_data_sets_are_pooled_then_shown_alone(three):
    for model in ("hf[a]", "hf[b]"):
        three(model, "lvis", falls(4))
    titles = [table.title.rpartition(", ")[2] for table in three.bench.tables("oodbench-degradation")]
    assert titles == ["COCO + LVIS", "COCO", "LVIS"]  # hf[c] has COCO alone, with all


def test_sizes_of_data_sets_make_no_fall(existing):
    """Each data set is as hard in as out of distribution; most of OOD is of the hard one."""
    existing("hf[a]", "coco", {"ID": GOOD * 40 + POOR * 2, "OOD-H": GOOD * 6})
    existing("hf[a]", "lvis", {"ID": GOOD + POOR * 5, "OOD-H": GOOD * 7 + POOR * 35})
    row = existing.bench.rows("oodbench-degradation")[0]
    assert float(row["Accuracy Δ"]) > 50
    assert float(row["Accuracy p"]) > 0.05


def test_all_other_models_are_references_if_none_is_named(only):
    assert [(row[0], row[-1]) for row in only("oodbench-signature")] == [
        ("hf[a]", "inside"),
        ("hf[b]", "inside"),
        ("hf[c]", "above"),
    ]


def test_named_references_are_compared_with_and_not_shown(only):
    (row,) = only("oodbench-signature", "hf[a]", "hf[b]")
    assert (row[0], row[-1]) == ("hf[c]", "above")
    (row,) = only("oodbench-signature", "hf[c]", "hf[b]")
    assert (row[0], row[-1]) == ("hf[a]", "inside")


def test_a_fall_less_than_the_band_is_below(only, three):
    three("hf[good]", "coco", falls(0))
    rows = only("oodbench-signature", "hf[c]")
    assert [(row[0], row[-1]) for row in rows] == [("hf[a]", "below"), ("hf[b]", "below"), ("hf[good]", "below")]


def test_the_band_is_that_of_the_intervals(only, three):
    found = {row["Model"]: row for row in three.bench.rows("oodbench-degradation") if row["Data Type"] == "OOD-H"}
    (row,) = only("oodbench-signature", "hf[a]", "hf[b]")
    band = [cell.style(cell.value) for cell in row[5:7]]
    assert band == [found["hf[a]"]["Recall Δ low"], found["hf[b]"]["Recall Δ high"]]


def test_equivalence_has_its_interval_margin_and_decision(only, three):
    three("hf[d]", "coco", falls(9))
    three("hf[e]", "coco", falls(0))
    rows = {row[0]: row for row in only("oodbench-F10", "hf[a]", "hf[c]")}
    assert rows["hf[b]"][4].value == pytest.approx(-0.15)
    assert (rows["hf[e]"][4].value, rows["hf[e]"][-1]) == (pytest.approx(-0.65), "no")
    assert only("oodbench-F10", "hf[a]", "hf[b]", "hf[c]")[0][-1] == "yes"


def test_the_same_pairs_are_compared_whatever_their_numbers(three, existing):
    """The last model's csv has the sets in another order."""
    said = falls(10)
    existing("hf[d]", "coco", {name: said[name] for name in reversed(said)})
    (table,) = three.bench.tables("oodbench-F10")
    values = {row[0]: row[4].value for row in table.rows if (row[1], row[3]) == ("OOD-H", "Accuracy")}
    assert values["hf[b]"] == values["hf[d]"]


def test_models_are_compared_on_what_all_have_answered(existing):
    """Where one has an error, what the other says is left out: they fall alike on the rest."""
    existing("hf[a]", "coco", {"ID": GOOD * 9, "OOD-H": DEAF * 3 + GOOD * 6 + "!n"})
    existing("hf[b]", "coco", {"ID": GOOD * 9, "OOD-H": DEAF * 3 + GOOD * 6 + DEAF})
    (table,) = existing.bench.tables("oodbench-F10")
    assert {(row[2], row[4].value) for row in table.rows} == {(36, 0)}


def test_who_is_the_reference_of_whom_is_said(three):
    made = tables("oodbench-F10", replace(three.bench.pool(), references=("hf[c]", "hf[a]")))
    assert "Reference of hf[b]: hf[a], hf[c]." in made[0].notes


def test_a_reference_that_was_not_asked_is_refused(three, capsys):
    three.bench.pool()
    assert main(["table", "oodbench-signature", str(three.bench.folder), "--reference=hf[aa]"]) == 2
    assert "--reference=hf[aa] is no model that these runs asked; did you mean hf[a]" in capsys.readouterr().err


def test_one_model_has_nothing_to_be_compared_with(existing):
    existing("hf[a]", "coco", falls(3))
    for name in ("signature", "F10"):
        with pytest.raises(ReportError, match="--eye-model=A --eye-model=B"):
            existing.bench.rows(f"oodbench-{name}")


def test_reasoning_is_compared_with_reasoning(three):
    three("hf[a]", "coco", falls(1), reasoning="cot")
    kinds = {row["Data Type"] for row in three.bench.rows("oodbench-signature")}
    assert kinds == {"OOD-S", "OOD-H"}


def test_without_a_set_there_is_no_fall(existing):
    existing("hf[a]", "coco", {"OOD-H": GOOD})
    with pytest.raises(ReportError, match="shows how far models fall from ID to OOD"):
        existing.bench.rows("oodbench-degradation")


def test_a_set_of_errors_alone_has_no_numbers(existing):
    for model in ("hf[a]", "hf[b]"):
        existing(model, "coco", {"ID": GOOD * 3, "OOD-H": "!!" * 3})
    row = existing.bench.rows("oodbench-degradation")[0]
    assert (row["Accuracy Δ"], row["Accuracy p"]) == ("", "")
    assert {row["Equivalent"] for row in existing.bench.rows("oodbench-F10")} == {"—"}
    assert {row["Δ lies"] for row in existing.bench.rows("oodbench-signature")} == {"—"}
