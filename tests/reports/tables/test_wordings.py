"""`wordings`: the cases of a model that differ in their prompt alone, as one row."""

from typing import Any

import pytest

from eyechart.reports.runs import EmptyTableError, load
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import NumberCell


def test_a_model_has_a_row_with_its_wordings(under: Any) -> None:
    folders = [under(f"w{size} (0)", range(size)) for size in (4, 8, 12)]
    (table,) = tables("wordings", load(folders))
    model, protocol, count, mean, spread, best, observed, elsewhere = table.rows[0]
    assert (model, protocol, count, best) == ("conse[a]", "zero_shot", 3, "w4 (0)")
    assert (round(mean.value, 9), observed.value, mean.n) == (0.8, 0.9, 40)
    assert mean.ci[0] < 0.7 < 0.9 < mean.ci[1]  # a new wording is as different as these are
    assert 0.05 < spread.value < 0.15
    assert elsewhere.ci[0] < elsewhere.value <= 0.9
    (note,) = (note for note in table.notes if "parts of the variance" in note)
    assert {*note.partition("Wordings: ")[2].rstrip(".").split(", ")} == {"w4 (0)", "w8 (0)", "w12 (0)"}


def test_two_wordings_have_no_interval_of_a_new_one(under: Any) -> None:
    (table,) = tables("wordings", load([under("a", range(4)), under("b", range(8))]))
    mean = table.rows[0][3]
    assert isinstance(mean, NumberCell)
    assert mean.ci is None


def test_without_a_second_wording_there_is_no_table(under: Any) -> None:
    with pytest.raises(EmptyTableError, match=r"differ in their prompt alone; these runs have zero_shot under ImGT"):
        tables("wordings", load([under("a", range(4))]))
