"""The measures of pairs with their intervals: whose pairs are drawn together, and which pairs count."""

import pandas as pd
import pytest

from eyechart.oodbench.tables.measure_columns import measure_cells
from eyechart.statistics.degenerate_intervals import share_interval
from tests.oodbench.tables.existence_answers import GOOD, POOR


def test_pairs_are_drawn_within_data_sets(existing):
    """COCO's pairs are all alike, and so are LVIS's: no resample differs, and the interval is that of eight images."""
    existing("hf[a]", "coco", {"ID": GOOD * 5, "OOD-H": GOOD * 5})
    existing("hf[a]", "lvis", {"ID": POOR * 3, "OOD-H": POOR * 3})
    row = existing.bench.rows("oodbench-T1")[1]
    shown = [float(row[name]) for name in ("Accuracy low", "Accuracy", "Accuracy high")]
    low, high = share_interval([0.625], 0.625, 8)
    assert shown == pytest.approx([100 * low, 62.5, 100 * high], abs=0.01)


def test_pairs_without_both_answers_do_not_count():
    heads = ["data", "image", "answered", "tp", "fp", "fn", "tn", "yes", "unparsed", "answers"]
    whole = [(0, 0, True, 1, 0, 0, 1, 1, 0, 2), (0, 1, True, 0, 0, 1, 1, 0, 1, 2), (0, 1, True, 1, 1, 0, 0, 2, 0, 2)]
    failed = (0, 2, False, 0, 0, 0, 1, 0, 0, 1)
    cells = measure_cells(pd.DataFrame([*whole, failed], columns=heads), 0).set_index("column")
    assert cells.loc["Num", "count"] == 6
    expected = {"Accuracy": 4 / 6, "Precision": 2 / 3, "Recall": 2 / 3, "F1": 2 / 3, "Yes": 3 / 6, "Unparsed": 1 / 6}
    assert cells.loc[[*expected], "value"].to_dict() == pytest.approx(expected)
    without = measure_cells(pd.DataFrame(whole, columns=heads), 0, ("Num", "MCC")).set_index("column")
    assert without.loc["MCC"].equals(cells.loc["MCC"])
    assert [*without.index] == ["Num", "MCC"]
