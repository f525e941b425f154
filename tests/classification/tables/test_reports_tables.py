"""The tables come out of a run's files with the numbers that the records hold, and in the published layouts."""

import re

import pandas as pd
import pytest

from eyechart.classification.tables.category_tables import LABEL_CATEGORIES
from eyechart.errors import ReportError
from eyechart.reports.runs import load, model_name
from eyechart.reports.tables.registry import table_builders, tables
from eyechart.reports.tables.render import Table, to_markdown
from eyechart.reports.tables.selection import Page
from eyechart.results.records import read_run
from tests.classification.tables.table_rows import golden, of, read

CELLS = ("A", "S", "S+", "S-", "M", "M+", "M-")
CLIP = "ViT-B-32/laion2b_s34b_b79k"
TIMM = "timm[tf_efficientnet_lite0]"


def published(row):
    """A row of the published Table 4 without its ranks and changes."""
    before, after = (float(row[f"{labels} A"]) / 100 for labels in ("ImGT", "ReGT"))
    numbers = {cell: float(row[f"ReGT {cell}"]) / 100 for cell in CELLS}
    return {"ImGT": before, **numbers, "N": 1.0, "Δ": after - before, "both": float(row["Im∩Re"]) / 100}


def published_table_4():
    """The published Table 4, ranked and formatted by us."""
    rows = golden("table_4")
    names = pd.DataFrame({"Model": [row["model"] for row in rows], "Protocol": [row["task"] for row in rows]}).assign(
        Family="all"
    )
    page = Page(cases=(), title="published", names=names, labels="ReGT", reference="ImGT")
    cells = [
        {"row": number, "column": column, "value": value}
        for number, row in enumerate(rows)
        for column, value in published(row).items()
    ]
    return LABEL_CATEGORIES.make(page, pd.DataFrame(cells))


@pytest.fixture(scope="module")
def table_4():
    return read([published_table_4()])


def test_table_4_ranks_are_the_published_ones_but_for_the_errata(table_4):
    holds = {(row["model"], row["column"]): row["holds"] for row in golden("errata") if row["table"] == "table_4"}
    for ours, theirs in zip(table_4, golden("table_4"), strict=True):
        columns = {"ImGT": "ImGT A", **{cell: f"ReGT {cell}" for cell in CELLS}}
        for mine, printed in columns.items():
            expected = holds.get((theirs["model"], f"{printed} rank"), theirs[f"{printed} rank"])
            assert ours[f"{mine} rank"] == expected, (theirs["model"], printed)


def test_table_4_values_and_changes_are_the_published_ones(table_4):
    for ours, theirs in zip(table_4, golden("table_4"), strict=True):
        assert ours["both"] == theirs["Im∩Re"]
        assert [ours["ImGT"], *(ours[cell] for cell in CELLS)] == [
            theirs["ImGT A"],
            *(theirs[f"ReGT {c}"] for c in CELLS),
        ]
        assert float(ours["Δ"]) == pytest.approx(float(theirs["delta"]), abs=0.1 + 1e-9)
        assert ours["Δ"][0] in "+-"


def test_table_4_in_markdown_has_a_value_and_a_rank_in_a_cell():
    (line,) = [line for line in to_markdown(published_table_4()).splitlines() if "GPT-4o" in line]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1:6] == ["CW+", "76.40 (9)", "82.36 (9)", "+6.0", "81.11 (9)"]


def test_table_4_of_a_run_has_the_numbers_of_its_records(table, run_folder):
    rows = table("T4")
    for record in read_run(run_folder).records:
        for metric in record.metrics:
            parts = ("S", "S+", "S-", "M", "M+", "M-")  # ImGT scores all of these images
            if metric.name == "acc1" and metric.labels != "ImGT" and metric.subset in parts:
                row = of(rows, model_name(record.model.spec), labels=metric.labels)
                shown = "" if metric.value is None else f"{100 * metric.value:.2f}"
                assert (row[metric.subset], row[f"{metric.subset} n"]) == (shown, str(metric.n))


def test_table_4_compares_over_the_images_that_both_ground_truths_score(table):
    row = of(table("T4", "WeaselGT"), TIMM)
    assert (row["ImGT"], row["ImGT n"], row["A"], row["A n"]) == ("100.00", "12", "75.00", "12")
    assert (row["Δ"], row["Δ n"], row["both"]) == ("-25.0", "12", "75.00")
    assert float(row["Δ low"]) < -25 < float(row["Δ high"])


def test_ranks_are_dense_and_equal_values_share_one(table):
    ranks = {row["Model"]: row["S+ rank"] for row in table("T4", "ReGT")}
    assert ranks == {CLIP: "1", TIMM: "1", "conse[]": "2"}


def test_the_change_of_figure_3_is_that_of_table_4(table):
    for changed, row in zip(table("F3"), table("T4"), strict=True):
        assert (changed["Model"], changed["Δ"], changed["before"]) == (row["Model"], row["Δ"], row["ImGT"])
        assert float(changed["after"]) - float(changed["before"]) == pytest.approx(float(changed["Δ"]), abs=0.06)


@pytest.mark.parametrize(
    ("name", "labels", "says"),
    [
        ("T4", ("ImGT",), r"T4 compares .* zero_shot under ImGT; .*pytest .* --eye-labels=ReaL=FILE"),
        ("F3", ("ImGT",), r"F3 compares"),
        ("T9", ("ImGT", "ReGT"), r"T9 needs images of the classes 356–359 .*'WeaselGT'.*--eye-labels=WeaselGT=FILE"),
        ("T10", ("ImGT", "ReGT"), r"T10 needs"),
        ("T44", ("ImGT",), r"no table 'T44'; did you mean T4"),
    ],
)
def test_what_a_run_cannot_show_is_refused_with_the_remedy(make_run, name, labels, says):
    with pytest.raises(ReportError, match=says):
        tables(name, load([make_run(labels=labels)]))


def test_every_table_of_a_run_without_its_cases_says_which_it_needs(make_run, subtests):
    pool = load([make_run(labels=("ImGT",), models={TIMM: ("supervised", [7] * 18)})])
    for name in (table.alias or table.name for table in table_builders().values()):
        with subtests.test(name):
            try:
                assert all(table.rows for table in tables(name, pool))
            except ReportError as error:
                message = str(error)
                assert message.startswith(name)
                assert "with: pytest" in message or "with: eyechart" in message
                assert not re.search(r"\.\.|…\.|\?\.", message)


def test_a_table_that_would_have_no_row_is_refused(run_folder, monkeypatch):
    monkeypatch.setitem(table_builders(), "label-categories", lambda pool, labels: [Table("empty", ("Model",), ())])
    with pytest.raises(ReportError, match="label-categories would have no rows"):
        tables("label-categories", load([run_folder]))


def test_a_table_says_what_its_own_records_say_and_no_other(make_run):
    first = make_run("one", errors={3: "broken"})
    other = make_run("other", errors={4: "broken"}, split="val-b", models={TIMM: ("supervised", [7] * 18)})
    said = ["\n".join(table.notes) for table in tables("T4", load([first, other]))]
    kept = [notes for notes in said if "val-b" not in notes]
    assert all("imagenet/val/conse[] (zero_shot): 1 of 18 images ended in an error" in notes for notes in kept)
    assert len(kept) == len(said) // 2 > 0
    assert not any("imagenet/val/conse[]" in notes for notes in said if notes not in kept)


def test_a_table_is_found_whatever_its_case(run_folder):
    assert tables("t4", load([run_folder])) == tables("T4", load([run_folder]))


def test_what_a_table_rests_on_stands_beneath_it(run_folder):
    written = to_markdown(tables("T4", load([run_folder]))[0])
    for sentence in (
        "names mill (e55fe991), templates 80",
        "supervised: no prompts",
        "equivalences 12",
        "Label sets, and images without labels: ImGT",
    ):
        assert sentence in written
