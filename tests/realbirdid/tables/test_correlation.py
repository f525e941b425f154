"""Tests of `eyechart.realbirdid.tables.correlation`."""

import csv
from io import StringIO
from pathlib import Path

import pytest

from eyechart.errors import ReportError

GOLDEN = Path(__file__).parents[2] / "golden"


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
