"""Table 8, Figures 11 and 12 of OODBench: hard samples beside pairs out of distribution."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from io import StringIO
from typing import Any

import pytest

from eyechart.errors import ReportError
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_csv

pytestmark = pytest.mark.deep

# Of ten pairs each, how many a model gets wrong: the falls on hard samples, and those on OOD-H.
WRONG = {"hf[d]": (9, 2), "hf[a]": (1, 3), "hf[b]": (3, 3), "hf[c]": (5, 4)}
SETS = ("ID", "OOD-H", "Hard")


def division(flags="00"):
    """Ten pairs a set; of the hard samples, one is listed in OOD-H, and all detectors fail on the last one."""
    rows = []
    for pair in range(30):
        name, index = SETS[pair // 10], pair % 10
        key = "OOD-H 0" if (name, index) == ("Hard", 0) else f"{name} {index}"
        fails = "22" if name == "OOD-H" or pair == 29 else "00"
        rows.append({"pair": pair, "key": key, "category": 1, "name": "cat", "set": name, "main": 1, "present": 1,
                     "flags": fails})  # fmt: skip
    return rows


def answers(wrong):
    """Both questions of every pair; the first pairs of each set are wrong in both."""
    rows = []
    for row in division():
        failed = row["pair"] % 10 < wrong[row["set"]]
        for question, expected in (("positive", "yes"), ("negative", "no")):
            given = {"yes": "no", "no": "yes"}[expected] if failed else expected
            shared = {"target": expected, "prediction": given, "correct": int(not failed), "subset": row["set"]}
            rows.append({**row, **shared, "category_name": row["name"], "question": question})
    return rows


def numbers(wrong):
    """What a record has of them."""
    for name, failed in wrong.items():
        for measure in ("acc", "f1", "precision", "recall", "mcc"):
            yield measure, name, 1 - failed / 10, 20, (0.0, 1.0)
        yield "acc_delta", name, failed / 10, 40, (-0.05, 0.95)
        yield "acc_p", name, 0.04, 40, (0.03, 0.05), "permutation"


def ask(bench, model, mined, out):
    """One model's case."""
    wrong = dict(zip(SETS, (0, out, mined), strict=True))
    files = {"division": division()}
    bench.case("existence", model, rows=answers(wrong), metrics=numbers(wrong), files=files, hard_samples="own")


@dataclass(frozen=True)
class Asked:
    """A run, and each of its tables, made once."""

    pool: Any
    tables: Callable[[str], list[Any]]

    def rows(self, name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(StringIO(to_csv(self.tables(name)))))


@pytest.fixture(scope="module")
def asked(module_bench):
    """Four models, which the tests only read."""
    for model, wrong in WRONG.items():
        ask(module_bench, model, *wrong)
    pool = module_bench.pool()
    return Asked(pool, cache(partial(tables, runs=pool)))


def test_table_8_has_chance_then_three_rows_a_model(asked):
    chance, *rows = asked.rows("oodbench-T8")
    assert (chance["Model"], chance["Accuracy"], chance["MCC"]) == ("Random Chance", "50.00", "0.00")
    assert [row["Data Type"] for row in rows[:3]] == ["ID", "OOD-H", "Hard Sample"]
    assert [row["Accuracy"] for row in rows[:3]] == ["100.00", "70.00", "90.00"]
    assert [(row["Num"], row["ID − Accuracy"], row["p"]) for row in rows[1:3]] == [
        ("20", "+30.00", "0.0400"),
        ("20", "+10.00", "0.0400"),
    ]


def test_figure_11_puts_the_model_first_that_falls_least_on_hard_samples(asked):
    rows = asked.rows("oodbench-F11")
    assert [row["Model"] for row in rows] == ["hf[a]", "hf[b]", "hf[c]", "hf[d]"]
    assert [row["ID − Hard"] for row in rows] == ["+10.00", "+30.00", "+50.00", "+90.00"]
    assert [row["ID − OOD-H"] for row in rows] == ["+30.00", "+30.00", "+40.00", "+20.00"]
    assert {row["ID − OOD-H n"] for row in rows} == {"40"}


def test_a_trend_is_exponential_and_where_a_fall_is_none_it_is_straight(asked, bench):
    (table,) = asked.tables("oodbench-F11")
    assert "Trend of ID − Hard, x = 1 for the first model: 5.77 · exp(0.710 x)." in table.notes
    for model, wrong in (WRONG | {"hf[e]": (0, 0)}).items():
        ask(bench, model, *wrong)
    (table,) = bench.tables("oodbench-F11")
    assert "Trend of ID − Hard, x = 1 for the first model: -30.00 +22.00 x." in table.notes


def test_figure_12_has_the_papers_lines_of_evidence(asked):
    rows = asked.rows("oodbench-F12")
    assert [row["Evidence"] for row in rows] == ["1", "2", "2", "3", "4", "4", "5", "5"]
    f, pearson, spearman = rows[:3]
    assert (f["Statistic"][:7], f["Value"], f["Value n"], f["p"]) == ("F(3, 3)", "17.50", "4", "0.0210")
    assert (pearson["Value"], spearman["Value"]) == ("-0.48", "-0.32")
    assert -1 < float(pearson["Value low"]) < -0.48 < float(pearson["Value high"])


def test_resampled_hard_samples_vary_more_than_ood_and_agree_more_with_all(asked):
    variance, pearson, _ = asked.rows("oodbench-F12")[3:6]
    assert variance["Value"] == "66.67"  # of 0.2, 0.3, 0.3 and 0.4, in squared points
    assert float(variance["Baseline low"]) < 1166.67 < float(variance["Baseline high"])
    assert float(variance["p low"]) < float(variance["p"]) < float(variance["p high"]) < 0.1
    assert float(pearson["Baseline"]) > 0.9
    assert float(pearson["p"]) == pytest.approx(1 / 1001, abs=1e-4)


def test_a_hard_sample_is_in_ood_if_it_is_listed_or_all_detectors_fail(asked):
    ood, mined = asked.rows("oodbench-F12")[6:]
    assert (ood["Value"], ood["Value n"]) == ("18.18", "11")
    assert (mined["Value"], mined["Value n"]) == ("20.00", "10")


def test_it_is_said_what_own_hard_samples_cannot_show(asked):
    (table,) = asked.tables("oodbench-F12")
    assert any(
        "Give an object detector's results: --eye-set=existence.hard_samples=FILE.json" in note for note in table.notes
    )


def test_it_is_said_how_hard_samples_were_drawn(asked):
    (table,) = asked.tables("oodbench-F12")
    assert any("1,000 times 10 of 10 hard samples, with replacement" in note for note in table.notes)


def test_models_that_fall_alike_have_no_correlation(bench):
    for model in ("hf[a]", "hf[b]"):
        ask(bench, model, 5, 5)
    rows = bench.rows("oodbench-F12")
    assert [row["Value"] for row in rows[:6]] == ["", "", "", "0.00", "", ""]


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
def test_the_figures_have_what_the_tables_have(asked, drawing, name, texts):
    assert texts <= {*drawing(asked.pool, name, "one.svg")}
