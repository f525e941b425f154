"""The tables come out of a run's files with the numbers that the records hold, and in the published layouts."""

import csv
import re
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eyechart.classification.tables.category_tables import LABEL_CATEGORIES
from eyechart.errors import ReportError
from eyechart.reports.runs import load, model_name
from eyechart.reports.tables.registry import table_builders, tables
from eyechart.reports.tables.render import Table, to_csv, to_markdown
from eyechart.reports.tables.selection import Page
from eyechart.results.records import read_run

GOLDEN = Path(__file__).parents[1] / "golden"
CELLS = ("A", "S", "S+", "S-", "M", "M+", "M-")
CLIP = "ViT-B-32/laion2b_s34b_b79k"
TIMM = "timm[tf_efficientnet_lite0]"


def golden(name):
    with (GOLDEN / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read(text):
    return list(csv.DictReader(StringIO(to_csv(text))))


def of(rows, model, **wanted):
    (row,) = [row for row in rows if row["Model"] == model and all(row[key] == value for key, value in wanted.items())]
    return row


@pytest.fixture
def table(run_folder):
    """One table of the run as rows of its csv."""
    return lambda name, labels=None: read(tables(name, load([run_folder]), labels))


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


def test_table_2_counts_the_categories(table):
    counts, shares = (row for row in table("T2") if row["Labels"] == "ReGT")
    assert [counts[name] for name in (*CELLS, "N")] == ["18", "12", "10", "2", "4", "2", "2", "2"]
    assert (shares["S"], shares["N"]) == ("66.67", "11.11")
    assert float(shares["S low"]) < 66.67 < float(shares["S high"])


def test_table_9_treats_the_original_labels_as_predictions(table):
    labels, model = of(table("T9"), "ImGT"), of(table("T9"), TIMM)
    assert (labels["ImGT all"], labels["ImGT weasels"], labels["WeaselGT weasels"]) == ("100.00", "100.00", "75.00")
    assert (labels["ReGT all"], labels["ReGT all n"]) == ("76.47", "17")  # 13 of 17, the equivalent class among them
    family = [key for key in labels if key.startswith("WeaselGT")]
    assert [labels[key] for key in family] == [model[key] for key in family]  # the model repeats those labels
    assert (labels["WeaselGT S+"], labels["WeaselGT S-"]) == ("100.00", "0.00")


def test_table_10_has_each_ground_truths_own_images(table):
    row = of(table("T10"), CLIP)
    assert (row["polecat ImGT"], row["polecat ImGT n"]) == ("33.33", "3")
    assert (row["polecat WeaselGT"], row["polecat WeaselGT n"], row["polecat Δ"]) == ("100.00", "1", "+66.7")
    assert (row["domestic ferret ImGT n"], row["domestic ferret WeaselGT n"]) == ("3", "5")


def published_weasels():
    """159 images with the sizes of the study, each class's original labels as right as its ImGT row says."""
    sizes = {row["category"]: int(row["images"]) for row in golden("sizes") if row["subset"] == "weasel family"}
    recall = golden("table_10")[0]
    for index, kind in enumerate(("weasel", "mink", "polecat", "domestic ferret")):
        right = round(float(recall[f"{kind} WeaselGT"]) * sizes[kind] / 100)
        for image in range(sizes[kind]):
            new = 356 + index
            yield new if image < right else 356 + (index + 1) % 4, (new,), (new,)


def test_the_first_rows_of_tables_9_and_10_are_the_published_ones(make_run):
    truths = tuple(published_weasels())
    runs = load([make_run(models={TIMM: ("supervised", [7] * len(truths))}, truths=truths)])
    ours, theirs = read(tables("T9", runs))[0], golden("table_9")[0]
    assert [ours[f"WeaselGT {name}"] for name in ("weasels", "weasels Δ", "S+", "S-")] == [
        theirs[f"WeaselGT {name}"] for name in ("A159", "A159 delta", "S+", "S-")
    ]
    recalls = read(tables("T10", runs))[0]
    kinds = [key for key in golden("table_10")[0] if key.endswith("WeaselGT")]
    assert [recalls[kind] for kind in kinds] == [golden("table_10")[0][kind] for kind in kinds]


def test_figure_9_pairs_every_two_models_and_the_original_labels(table):
    rows = table("F9", "ReGT")
    pairs = {(row["coefficient"][:3], row["model"], row["other"]): row for row in rows}
    assert len(pairs) == len(rows) == 2 * 6
    same = pairs["phi", TIMM, "ImGT"]
    assert (same["value"], same["value n"]) == ("1.00", "16")  # S and M; N is left out
    assert pairs["phi", "conse[]", CLIP]["value"] == ""  # one of the two is always right


def test_the_phi_of_figure_9_is_the_correlation_of_the_answers(table, run_folder):
    (answers,) = (run_folder / "predictions").glob("zero_shot-imagenet-val-conse*.csv")
    with answers.open() as file:
        labelled = [row for row in csv.DictReader(file) if row["ReGT.category"] != "no_label"]
    right = [(float(row["ReGT.correct"]), row["ReGT.category"].endswith("_original")) for row in labelled]
    row = next(
        r
        for r in table("F9", "ReGT")
        if r["coefficient"][:3] == "phi" and {r["model"], r["other"]} == {"conse[]", "ImGT"}
    )
    assert float(row["value"]) == pytest.approx(np.corrcoef(np.array(right, float).T)[0, 1], abs=0.005)


def test_figure_9_as_a_matrix_is_symmetric_with_ones(run_folder):
    spearman, phi, *_ = tables("F9", load([run_folder]), "ReGT")
    assert spearman.columns == ("", *(row[0] for row in spearman.rows))
    values = np.array([[cell.value for cell in row[1:]] for row in phi.rows], float)
    np.testing.assert_array_equal(values, values.T)
    assert values[2, 2] == 1


def test_mills_table_puts_ours_beside_what_was_reported(run_folder):
    (table,) = tables("mill-imagenet", load([run_folder]))
    assert table.columns == ("Model", "Mill (acc)", "Reported", "Source", "Δ")
    (line,) = [line for line in to_markdown(table).splitlines() if "laion2b" in line]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "ViT-B-32 / laion2b_s34b_b79k", "0.7059 [0.4687, 0.8672]", "0.6656", "open_clip results", "+0.0403"
    ]  # fmt: skip


def test_mills_table_leaves_open_what_nobody_reported(run_folder):
    (table,) = tables("mill-imagenet", load([run_folder]))
    (line,) = [line for line in to_markdown(table).splitlines() if "conse" in line]
    assert [cell.strip() for cell in line.strip("|").split("|")][2:] == ["—"] * 3


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


def test_one_model_under_its_original_labels_has_nothing_to_correlate(make_run):
    folder = make_run(labels=("ImGT",), models={TIMM: ("supervised", [7] * 18)})
    with pytest.raises(ReportError, match=r"F9 correlates two or more models .*--eye-model=A --eye-model=B"):
        tables("F9", load([folder]))


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
