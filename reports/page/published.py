"""Published tables and figures as the page shows them: all that the runs can make, each from its own builder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyechart.errors import ReportError

from ..figures import DRAWERS, draw
from ..render import Cell, NumberCell, Table, format_cell, numeric_columns, one_line
from ..runs import Runs
from ..tables import BUILDERS, tables
from .chunks import write_chunk

FOLDER = "figures"


def write_tables(folder: Path, runs: Runs) -> list[dict[str, Any]]:
    """Write every table that can be made, and return their names with titles."""
    written = []
    for name in BUILDERS:
        try:
            result = tables(name, runs)
        except ReportError:  # the runs have nothing of what it is about
            continue
        write_chunk(folder, f"tables/{name}", [*map(table_data, result)])
        written.append({"name": name, "title": one_line(result[0].title)})
    return written


def table_data(table: Table) -> dict[str, Any]:
    """A table as data: texts to read, numbers to sort by."""
    return {
        "title": one_line(table.title),
        "columns": [*map(one_line, table.columns)],
        "numeric": numeric_columns(table),
        "rows": [[cell_data(value) for value in row] for row in table.rows],
        "notes": [*map(one_line, table.notes)],
    }


def cell_data(value: Cell) -> Any:
    """A text; or a number with its text."""
    if isinstance(value, NumberCell):
        return [
            value.value if value.is_defined else None,
            format_cell(value),
            *([value.highlight] if value.highlight else []),
        ]
    return [value, format_cell(value)] if isinstance(value, int) else format_cell(value)


def write_figures(folder: Path, runs: Runs, tables: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Draw every figure that can be drawn; say why there is none where nothing can draw."""
    try:
        import matplotlib  # noqa: F401  # to tell a figure that lacks data from a machine that lacks the drawer
    except ImportError:
        return [], ["Published figures are left out: drawing needs pip install 'eyechart[figures]'."]
    return [*draw_figures(folder, runs, {table["name"]: table["title"] for table in tables})], []


def draw_figures(folder: Path, runs: Runs, titles: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The figures, each with the name of the table that has its numbers."""
    for name in DRAWERS:
        try:
            draw(name, runs, None, folder / FOLDER / f"{name}.svg", folder)
        except ReportError:
            continue
        yield {"name": name, "file": f"{FOLDER}/{name}.svg", "title": titles.get(name, name), "table": name in titles}
