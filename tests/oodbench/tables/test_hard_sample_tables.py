"""Table 8, Figures 11 and 12 of OODBench: hard samples beside pairs out of distribution."""

import pytest

from eyechart.errors import ReportError
from tests.oodbench.hard_sample_answers import WRONG, ask

pytestmark = pytest.mark.deep

# Of ten pairs each, how many a model gets wrong: the falls on hard samples, and those on OOD-H.


def test_table_8_has_chance_then_three_rows_a_model(hard_samples_of_four):
    chance, *rows = hard_samples_of_four.rows("oodbench-T8")
    assert (chance["Model"], chance["Accuracy"], chance["MCC"]) == ("Random Chance", "50.00", "0.00")
    assert [row["Data Type"] for row in rows[:3]] == ["ID", "OOD-H", "Hard Sample"]
    assert [row["Accuracy"] for row in rows[:3]] == ["100.00", "70.00", "90.00"]
    assert [(row["Num"], row["ID − Accuracy"], row["p"]) for row in rows[1:3]] == [
        ("20", "+30.00", "0.0400"),
        ("20", "+10.00", "0.0400"),
    ]


def test_figure_11_puts_the_model_first_that_falls_least_on_hard_samples(hard_samples_of_four):
    rows = hard_samples_of_four.rows("oodbench-F11")
    assert [row["Model"] for row in rows] == ["hf[a]", "hf[b]", "hf[c]", "hf[d]"]
    assert [row["ID − Hard"] for row in rows] == ["+10.00", "+30.00", "+50.00", "+90.00"]
    assert [row["ID − OOD-H"] for row in rows] == ["+30.00", "+30.00", "+40.00", "+20.00"]
    assert {row["ID − OOD-H n"] for row in rows} == {"40"}


def test_a_trend_is_exponential_and_where_a_fall_is_none_it_is_straight(hard_samples_of_four, bench):
    (table,) = hard_samples_of_four.tables("oodbench-F11")
    assert "Trend of ID − Hard, x = 1 for the first model: 5.77 · exp(0.710 x)." in table.notes
    for model, wrong in (WRONG | {"hf[e]": (0, 0)}).items():
        ask(bench, model, *wrong)
    (table,) = bench.tables("oodbench-F11")
    assert "Trend of ID − Hard, x = 1 for the first model: -30.00 +22.00 x." in table.notes


def test_a_hard_sample_is_in_ood_if_it_is_listed_or_all_detectors_fail(hard_samples_of_four):
    ood, mined = hard_samples_of_four.rows("oodbench-F12")[6:]
    assert (ood["Value"], ood["Value n"]) == ("18.18", "11")
    assert (mined["Value"], mined["Value n"]) == ("20.00", "10")


def test_it_is_said_what_own_hard_samples_cannot_show(hard_samples_of_four):
    (table,) = hard_samples_of_four.tables("oodbench-F12")
    assert any(
        "Give an object detector's results: --eye-set=existence.hard_samples=FILE.json" in note for note in table.notes
    )


def test_it_is_said_how_hard_samples_were_drawn(hard_samples_of_four):
    (table,) = hard_samples_of_four.tables("oodbench-F12")
    assert any("1,000 times 10 of 10 hard samples, with replacement" in note for note in table.notes)


@pytest.mark.parametrize("name", ["oodbench-T8", "oodbench-F11", "oodbench-F12"])
def test_without_hard_samples_the_remedy_is_named(bench, name):
    bench.case("existence", metrics=[("acc", "ID", 0.5)])
    with pytest.raises(
        ReportError, match=r"these runs have existence\. Make it with: .* --eye-set=existence.hard_samples=own"
    ):
        bench.rows(name)


def test_one_model_is_too_few_to_compare_models(bench):
    ask(bench, "hf[a]", 3, 3)
    with pytest.raises(ReportError, match=r"in 2 models or more; .*--eye-model=A --eye-model=B"):
        bench.rows("oodbench-F12")


@pytest.mark.parametrize(("name", "texts"), [
    ("oodbench-F11", {"hf[a]", "hf[d]", "ID − Hard", "ID − OOD-H", "exponential trend", "oodbench/coco, n=40"}),
    ("oodbench-F12", {"Pearson's correlation", "OOD-H, p = 0.0010", "10 of 10 hard samples, with replacement"}),
])  # fmt: skip
def test_the_figures_have_what_the_tables_have(hard_samples_of_four, drawing, name, texts):
    assert texts <= {*drawing(hard_samples_of_four.pool, name, "one.svg")}
