"""Tables 2 and 3 and Figure 16 of RealBirdID: what models are worth, in the paper's layout."""

import csv
import re
from io import StringIO
from pathlib import Path

import pytest

from eyechart.errors import ReportError
from eyechart.reports.tables.render import RENDERERS
from tests.realbirdid.tables.summary_numbers import summary

# Table 2 of arXiv 2603.27033: IG and UA/A, in per cent.
ENCODERS = {
    "B/32": (50.6, 47.8), "B/16": (55.3, 44.6), "L/14": (62.0, 48.1), "MetaCLIP-L/14": (66.0, 42.5),
    "SigLIP": (53.7, 53.2), "BioCLIP": (68.9, 49.6),
}  # fmt: skip
MLLMS = {"InternVL3": (46.5, 45.6), "Gemini": (57.7, 44.1)}
# Table 3: AUC and Acc of species and genus of the answerable images, and of genus of the unanswerable ones.
LEVELS = {
    "CLIP-B/32": (9.9, 4.6, 46.8, 33.8, 55.2, 40.3),
    "BioCLIP": (30.1, 17.0, 69.4, 57.0, 71.4, 57.6),
    "GPT-5": (21.5, 10.4, 67.1, 45.6, 76.5, 58.6),
}
SPOTS = [
    (name, of) for of in ("answerable.species", "answerable.genus", "unanswerable.genus") for name in ("auc", "acc")
]

GOLDEN = Path(__file__).parents[2] / "golden"


def by_level(values, labels="all species"):
    """The numbers of Table 3."""
    return [(*spot[:1], labels, spot[1], value / 100, 30) for spot, value in zip(SPOTS, values, strict=True)]


@pytest.fixture
def table_2(flock):
    """Models of both families with the published numbers."""
    for model, numbers in MLLMS.items():
        flock.mllm(model=model, metrics=summary(*numbers))
    for model, numbers in ENCODERS.items():
        flock.case(model=model, metrics=summary(*numbers))
    return flock


def test_table_2_has_a_row_a_metric_and_a_column_a_model_encoders_first(table_2):
    (table,) = table_2.tables("realbirdid-T2")
    assert table.columns == ("Metric", *sorted(ENCODERS), *sorted(MLLMS))
    assert [row[0] for row in table.rows] == ["IG (n=30)", "UA/A (n=40)"]


def test_the_best_is_bold_and_the_next_underlined_as_published(table_2):
    text = RENDERERS["md"](table_2.tables("realbirdid-T2"))
    assert re.findall(r"(?:\*\*|<u>)([\d.]+)", text) == ["68.90", "66.00", "49.60", "53.20"]
    assert "**68.90 [10.00, 90.00]**" in text
    assert "<u>49.60 [20.00, 80.00]</u>" in text


def test_latex_has_the_same_marks(table_2):
    text = RENDERERS["tex"](table_2.tables("realbirdid-T2"))
    assert r"\textbf{68.90}\\\scriptsize {[}10.00, 90.00]" in text
    assert r"\underline{66.00}\\\scriptsize {[}10.00, 90.00]" in text


def test_as_csv_table_2_has_a_row_a_model_with_n_and_interval(table_2):
    row = next(row for row in table_2.rows("realbirdid-T2") if row["Model"] == "BioCLIP")
    assert row["labels"] == "all species"
    assert [row[name] for name in ("IG", "IG n", "IG low", "IG high")] == ["68.90", "30", "10.00", "90.00"]
    assert [row[name] for name in ("UA/A", "UA/A n")] == ["49.60", "40"]


def test_equal_numbers_share_a_place_and_one_alone_has_none(flock):
    flock.case(model="a", metrics=summary(50, 40))
    assert "**" not in RENDERERS["md"](flock.tables("realbirdid-T2"))
    flock.case(model="b", metrics=summary(50, 30))
    flock.case(model="c", metrics=summary(40, 30))
    assert [[n.highlight for n in row[1:]] for row in flock.tables("realbirdid-T2")[0].rows] == [[1, 1, 2], [1, 2, 2]]


def test_an_n_that_differs_stands_in_every_cell(flock):
    flock.case(model="a", metrics=summary(50, 40))
    flock.case(
        model="b", metrics=[("ig", "all species", "answerable", 0.5, 29), ("ua_a", "all species", "all", None, 0)]
    )
    text = RENDERERS["md"](flock.tables("realbirdid-T2"))
    assert "n=29" in text
    assert "IG (n=" not in text


@pytest.fixture
def table_3(flock):
    """The published numbers of three models."""
    for model, values in LEVELS.items():
        flock.case(model=model, metrics=by_level(values), **({"stop": "unique prefix"} if model == "GPT-5" else {}))
    return flock


def test_table_3_has_the_published_columns_and_sections(table_3):
    (table,) = table_3.tables("realbirdid-T3")
    heads = ("A Species AUC", "A Species Acc", "A Genus AUC", "A Genus Acc", "UA Genus AUC", "UA Genus Acc")
    assert table.columns == ("Model", *heads)
    assert [row[0] for row in table.rows] == ["Encoder-Based", "BioCLIP", "CLIP-B/32", "Multimodal LLMs", "GPT-5"]
    assert [100 * number.value for number in table.rows[1][1:]] == pytest.approx(LEVELS["BioCLIP"])


def test_as_csv_table_3_has_the_family_as_a_column(table_3):
    rows = table_3.rows("realbirdid-T3")
    assert [(row["Family"], row["Model"]) for row in rows][1:] == [
        ("Encoder-Based", "CLIP-B/32"),
        ("Multimodal LLMs", "GPT-5"),
    ]


def test_figure_16_has_macro_and_balanced_numbers(flock):
    names = ("auc_macro", "auc_balanced", "acc_macro")
    flock.case(metrics=[(name, "all species", "unanswerable.genus", at / 10, 30) for at, name in enumerate(names, 1)])
    (row,) = flock.rows("realbirdid-F16")
    found = [row[f"UA Genus {head}"] for head in ("AUC macro", "AUC balanced", "Acc macro")]
    assert found == ["10.00", "20.00", "30.00"]
    assert row["A Species AUC macro"] == ""


def test_free_words_have_accuracies_abstentions_and_their_harmonic_mean(flock):
    spots = (("acc", "answerable.species"), ("acc", "unanswerable"), ("hm", "all"), ("abstained", "unanswerable"))
    flock.mllm("free_form", metrics=[(name, "observations", of, at / 10) for at, (name, of) in enumerate(spots, 1)])
    (row,) = flock.rows("realbirdid-free-form")
    assert [row[name] for name in ("A Species", "Unanswerable", "HM", "UA abstained")] == [
        "10.00",
        "20.00",
        "30.00",
        "40.00",
    ]
    assert (row["Family"], row["A Genus"]) == ("Multimodal LLMs", "")


def test_without_free_words_the_remedy_is_named(flock):
    flock.case(metrics=summary(50, 40))
    with pytest.raises(ReportError, match=r'have species\. Make it with: pytest -k "realbirdid and free_form"'):
        flock.tables("realbirdid-free-form")


@pytest.mark.parametrize("name", ["realbirdid-T2", "realbirdid-T3", "realbirdid-F16"])
def test_without_probabilities_the_remedy_is_named(flock, name):
    flock.case("free_form", metrics=[("acc", "observations", "answerable.species", 0.5)])
    with pytest.raises(
        ReportError, match=r'these runs have free_form\. Make it with: pytest -k "realbirdid and species"'
    ):
        flock.tables(name)


def read(name: str) -> list[dict[str, str]]:
    """Read a published table."""
    return list(csv.DictReader(StringIO((GOLDEN / f"realbirdid_{name}.csv").read_text(encoding="utf-8"))))


@pytest.fixture
def models(flock):
    """All published models."""
    accuracy = {row["model"]: row["A species Acc"] for row in read("accuracy")}
    for row in read("summary"):
        numbers = (
            ("ig", "answerable", row["ig"]),
            ("ua_a", "all", row["ua_a"]),
            ("acc", "answerable.species", accuracy[row["model"]]),
        )
        metrics = [(name, "all species", subset, float(value) / 100, 30) for name, subset, value in numbers]
        (flock.case if row["kind"] == "encoder" else flock.mllm)(model=row["model"], metrics=metrics)
    return flock


def test_published_classification_and_abstention_are_not_correlated(models):
    rows = {row["Models"]: row for row in models.rows("realbirdid-correlation")}
    found = {name: (row["IG and UA/A"], row["A Species Acc and UA/A"]) for name, row in rows.items()}
    (holds,) = [row["holds"] for row in read("errata") if "correlation" in row["quantity"]]
    assert found["Encoder-Based"] == ("-0.24", holds)
    assert (found["Multimodal LLMs"][0], found["All models"][0]) == ("0.38", "0.25")
    assert rows["Encoder-Based"]["IG and UA/A n"] == "10"
    low, high = (float(rows["Encoder-Based"][f"IG and UA/A {end}"]) for end in ("low", "high"))
    assert low < 0 < high  # not significant, as the paper says


def test_two_models_have_no_correlation(flock):
    for model in ("a", "b"):
        flock.case(
            model=model, metrics=[("ig", "all species", "answerable", 0.5, 30), ("ua_a", "all species", "all", 0.5, 40)]
        )
    with pytest.raises(ReportError, match="of at least 3 models"):
        flock.tables("realbirdid-correlation")
