"""Tests of `eyechart.oodbench.tables.spread`."""

MEASURES = ["Accuracy", "F1", "Precision", "Recall", "MCC"]


def test_figure_9_as_a_table_has_a_row_a_measure_with_the_shuffles(three):
    rows = three.bench.rows("oodbench-F9")
    assert [row["Measure"] for row in rows[:5]] == MEASURES
    assert len(rows) == 3 * 2 * 5
    assert {row["Num"] for row in rows} == {"80"}
    recall = next(row for row in rows if (row["Data Type"], row["Measure"]) == ("OOD-H", "Recall"))
    low, high = (float(recall[f"Shuffled Δ {end}"]) for end in ("low", "high"))
    assert low < float(recall["Shuffled Δ"]) < high < float(recall["Δ"])
