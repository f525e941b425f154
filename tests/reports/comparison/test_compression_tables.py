"""The tables of variants in other formats."""

import csv
import io

import pytest

import eyechart
from eyechart.reports.tables.render import RENDERERS

pytestmark = pytest.mark.deep


def test_the_tables_are_latex_and_csv_too(measured: eyechart.Compression) -> None:
    tex = RENDERERS["tex"](measured.tables)
    assert "\\begin{tabular" in tex
    assert "fast & equal &" in tex
    rows = [*csv.DictReader(io.StringIO(RENDERERS["csv"](measured.tables)))]
    assert [row["Variant"] for row in rows] == ["original", "fast", "bad", "far"]
    assert rows[2]["Lost"] == str(measured.variants["lost"][1])
