"""Frames of runs, and tables that are declared over them."""

import csv
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import pytest

from eyechart.errors import ReportError
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import CORRELATION, NumberCell, to_csv, to_markdown
from eyechart.reports.tables.selection import Page, with_suffixes


def page(**fields: Any) -> Page:
    names = pd.DataFrame({"Family": ["x", "y", "x"], "Model": ["a", "b", "c"]})
    return Page(**{"cases": (), "title": "data/val", "names": names, "labels": "L", "reference": "R"} | fields)


def definition(cells: Any = (), **fields: Any) -> TableDefinition:
    return TableDefinition(**{
        "name": "example", "summary": "", "pages": lambda runs, labels: [], "needs": "needs answers",
        "command": "pytest -k x", "title": "{page}: {labels} after {reference}", "cells": lambda page: cells,
        "rows": ("Model",), "columns": ("x", "Δ"),
    } | fields)  # fmt: skip


def cells(*rows: tuple[Any, ...], names: str = "row column value n low high") -> pd.DataFrame:
    return pd.DataFrame(rows, columns=names.split())


def test_cells_are_arranged_by_case_and_column() -> None:
    frame = cells((1, "Δ", 0.1, 9, -0.1, 0.3), (0, "x", 0.5, 8, 0.2, 0.8), (1, "x", np.nan, 0, np.nan, np.nan))
    table = definition().make(page(), frame)
    assert table.title == "data/val: L after R"
    assert table.columns == ("Model", "x", "Δ")
    assert [row[0] for row in table.rows] == ["a", "b"]
    assert table.rows[0][1:] == (NumberCell(0.5, 8, (0.2, 0.8)), None)
    text = to_csv([table]).splitlines()
    assert text == [
        "Model,x,x n,x low,x high,Δ,Δ n,Δ low,Δ high",
        "a,50.00,8,20.00,80.00,,,,",
        "b,,0,,,+10.0,9,-10.0,+30.0",
    ]


def test_counts_texts_and_formats() -> None:
    frame = cells((0, "x", 3, np.nan, None), (0, "Δ", np.nan, 0.25, None), (1, "x", np.nan, np.nan, "kept"),
                  names="row column count value text")  # fmt: skip
    table = definition(formats={"Δ": CORRELATION}).make(page(), frame)
    assert to_csv([table]).splitlines()[1:] == ["a,3,0.25", "b,kept,"]


def test_a_cell_may_have_a_format_of_its_own() -> None:
    frame = cells((0, "x", 0.5, CORRELATION), (1, "x", 0.5, None), names="row column value format")
    table = definition(columns=("x",)).make(page(), frame)
    assert to_csv([table]).splitlines()[1:] == ["a,0.50", "b,50.00"]


def test_ranks_are_dense_and_equal_values_share_one() -> None:
    frame = cells((0, "x", 0.5), (1, "x", 0.1 + 0.2), (2, "x", 0.3), (0, "Δ", 1.0), names="row column value")
    table = definition(ranked=("x",)).make(page(), frame)
    ranks = [cell.rank for row in table.rows for cell in row[1:2] if isinstance(cell, NumberCell)]
    assert ranks == [1, 2, 2]
    assert isinstance(table.rows[0][2], NumberCell)
    assert table.rows[0][2].rank is None


def test_sections_are_lines_of_their_own_and_a_column_in_csv() -> None:
    frame = cells(*((row, "x", row / 10) for row in range(3)), names="row column value")
    table = definition(rows=("Family", "Model"), columns=("x",), sections="Family").make(page(), frame)
    assert [row[0] for row in table.rows] == ["x", "a", "c", "y", "b"]
    assert [row["Family"] for row in csv.DictReader(StringIO(to_csv([table])))] == ["x", "y", "x"]


def test_a_row_before_all_cases_has_a_negative_number_and_no_section() -> None:
    names = pd.DataFrame({"Family": ["", "x"], "Model": ["chance", "a"]}, index=[-1, 0])
    frame = cells((0, "x", 0.2), (-1, "x", 0.5), names="row column value")
    table = definition(rows=("Family", "Model"), columns=("x",), sections="Family").make(page(names=names), frame)
    assert [row[0] for row in table.rows] == ["chance", "x", "a"]
    assert to_csv([table]).splitlines()[1:] == [",chance,50.00", "x,a,20.00"]


def test_pages_with_one_title_get_suffixes_that_the_titles_of_tables_end_with() -> None:
    pages = with_suffixes([page(), page(title="other"), page()])
    assert [each.suffix for each in pages] == ["", "", " (2)"]
    assert (
        definition().make(pages[2], cells((0, "x", 0.1), names="row column value")).title == "data/val: L after R (2)"
    )


def test_a_transposed_table_has_a_row_per_column_and_a_column_per_case() -> None:
    values = ((0, "x", 0.5, 40), (1, "x", 0.25, 40), (0, "y", 0.5, 40), (1, "y", 0.75, 30))
    frame = cells(*values, names="row column value n")
    plain, table = (definition(columns=("x", "y"), transposed=head).make(page(), frame) for head in ("", "Measure"))
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in to_markdown(table).splitlines()[2:]]
    assert [lines[0], *lines[2:]] == [
        ["Measure", "a", "b"],
        ["x (n=40)", "50.00", "25.00"],
        ["y", "50.00 n=40", "75.00 n=30"],
    ]
    assert to_csv([table]) == to_csv([plain])


def test_names_of_rows_may_be_in_the_cells() -> None:
    frame = cells((0, "all", "x", 0.1), (0, "S", "x", 0.2), names="row Category column value")
    table = definition(rows=("Model", "Category"), columns=("x",)).make(page(), frame)
    assert [row[:2] for row in table.rows] == [("a", "all"), ("a", "S")]


def test_rows_are_in_the_order_of_the_table() -> None:
    frame = cells((1, 10, "x", 0.1), (0, 10, "x", 0.2), (0, 5, "x", 0.3), names="row position column value")
    table = definition(rows=("Model", "position"), columns=("x",), order=("position", "row")).make(page(), frame)
    assert [row[:2] for row in table.rows] == [("a", 5), ("a", 10), ("b", 10)]


def test_a_column_of_rows_is_printed_across_and_csv_leaves_out_repeated_cells() -> None:
    pairs = [(row, "abc"[other], "r", 1 / (1 + row + other), other <= row) for row in range(3) for other in range(3)]
    frame = cells(*pairs, names="row other column value repeated")
    matrix = definition(rows=("Model", "other"), across="other", columns=("r",), heads={"Model": "", "a": "first"},
                        formats={"r": CORRELATION})  # fmt: skip
    table = matrix.make(page(), frame)
    assert table.columns == ("", "first", "b", "c")
    assert table.rows[1] == ("b", *(NumberCell(value, style=CORRELATION) for value in (1 / 2, 1 / 3, 1 / 4)))
    assert to_csv([table]).splitlines() == ["Model,other,r", "a,b,0.50", "a,c,0.33", "b,c,0.25"]


def test_a_title_has_the_fields_of_the_context() -> None:
    table = definition(title="{page}: {kind}").make(page(context={"kind": "phi"}), cells((0, "x", 0.1, 1, 0, 1)))
    assert table.title == "data/val: phi"


def test_heads_and_notes_name_the_page() -> None:
    table = definition(heads={"x": "{labels} ∩ {reference}"}, notes=("Of {page}.",)).make(
        page(notes=("Images.",)), cells((0, "x", 0.1), names="row column value")
    )
    assert table.columns == ("Model", "L ∩ R", "Δ")
    assert table.notes == ("Of data/val.", "Images.")
    assert "| L ∩ R |" in to_markdown(table)


def test_a_column_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match=r"example: cells of the columns \['y'\]\. Expected \['x', 'Δ'\]"):
        definition().make(page(), cells((0, "y", 0.1), names="row column value"))


def test_runs_without_a_page_are_refused(runs: Runs) -> None:
    with pytest.raises(ReportError, match=r"^example needs answers; these runs have .*zero_shot under ImGT.*-k x$"):
        definition()(runs)


def test_a_missing_column_or_file_is_named(runs: Runs) -> None:
    (case, *_) = runs.cases
    with pytest.raises(ReportError, match=r"\.csv has no column colour; its columns are key,.*Run the case again\.$"):
        case.samples(["colour"])
    with pytest.raises(ReportError, match=r"names no colours\. Run the case again\.$"):
        case.samples([], "colours")


def test_a_changed_file_is_refused(runs: Runs) -> None:
    (case, *_) = runs.cases
    assert case.record.predictions
    path = case.folder / case.record.predictions.path
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(ReportError, match="has changed since the run"):
        case.samples(["key"])
