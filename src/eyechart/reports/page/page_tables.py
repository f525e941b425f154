"""Published tables and figures for the page: all that the runs have data for."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from eyechart.errors import ReportError
from eyechart.messages.install_commands import install_command
from eyechart.reports.figures.registry import draw, figure_drawers
from eyechart.reports.page.chunks import write_chunk
from eyechart.reports.runs import Runs
from eyechart.reports.tables.registry import table_builders, tables
from eyechart.reports.tables.render import Cell, NumberCell, Table, format_cell, numeric_columns, one_line

FOLDER = "figures"


def write_tables(folder: Path, runs: Runs) -> list[dict[str, Any]]:
    """Write every table that has rows, and return names and titles."""
    written = []
    for name in table_builders():
        try:
            result = tables(name, runs)
        except ReportError:  # the runs have nothing of what it is about
            continue
        write_chunk(folder, f"tables/{name}", [*map(_table_data, result)])
        written.append({"name": name, "title": one_line(result[0].title)})
    return written


def _table_data(table: Table) -> dict[str, Any]:
    """Return a table as data: texts to show, numbers to sort by."""
    return {
        "title": one_line(table.title),
        "columns": [*map(one_line, table.columns)],
        "numeric": numeric_columns(table),
        "rows": [[cell_data(value) for value in row] for row in table.rows],
        "notes": [*map(one_line, table.notes)],
    }


def cell_data(value: Cell) -> Any:
    """Return the text of a cell; a number as [value, text]."""
    if isinstance(value, NumberCell):
        return [
            value.value if value.is_defined else None,
            format_cell(value),
            *([value.highlight] if value.highlight else []),
        ]
    return [value, format_cell(value)] if isinstance(value, int) else format_cell(value)


def write_figures(folder: Path, runs: Runs, tables: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Draw every figure that has data, and return each with the name of its table, or a note without matplotlib."""
    try:
        import matplotlib  # noqa: F401  # to distinguish a figure without data from a machine without matplotlib
    except ImportError:
        return [], [f"Published figures are left out. To draw them: {install_command('figures')}"]
    titles, figures = {table["name"]: table["title"] for table in tables}, []
    for name in figure_drawers():
        file = f"{FOLDER}/{name}.svg"
        with suppress(ReportError):
            draw(name, runs, None, folder / file, folder)
            figures.append({"name": name, "file": file, "title": titles.get(name, name), "table": name in titles})
    return figures, []
