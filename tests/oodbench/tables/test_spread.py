"""Tests of `eyechart.oodbench.tables.spread`."""

import pytest

GOOD, POOR, DEAF = "yn", "ny", "nn"
MEASURES = ["Accuracy", "F1", "Precision", "Recall", "MCC"]


def falls(deaf):
    """Answers that are right in distribution, and deny some of what is out of it."""
    return {"ID": GOOD * 19 + DEAF, "OOD-S": GOOD * 20, "OOD-H": DEAF * deaf + GOOD * (20 - deaf)}


@pytest.fixture
def three(existing):
    """Three models, each of which falls a little more."""
    for model, deaf in (("hf[a]", 8), ("hf[b]", 10), ("hf[c]", 18)):
        existing(model, "coco", falls(deaf))
    return existing


def test_figure_9_as_a_table_has_a_row_a_measure_with_the_shuffles(three):
    rows = three.bench.rows("oodbench-F9")
    assert [row["Measure"] for row in rows[:5]] == MEASURES
    assert len(rows) == 3 * 2 * 5
    assert {row["Num"] for row in rows} == {"80"}
    recall = next(row for row in rows if (row["Data Type"], row["Measure"]) == ("OOD-H", "Recall"))
    low, high = (float(recall[f"Shuffled Δ {end}"]) for end in ("low", "high"))
    assert low < float(recall["Shuffled Δ"]) < high < float(recall["Δ"])
