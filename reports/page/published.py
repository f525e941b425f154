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


def write_tables(folder: Path, pool: Runs) -> list[dict[str, Any]]:
    """Write every table that can be made, and return their names with titles."""
    found = []
    for name in BUILDERS:
        try:
            made = tables(name, pool)
        except ReportError:  # the runs have nothing of what it is about
            continue
        write_chunk(folder, f"tables/{name}", [*map(table_data, made)])
        found.append({"name": name, "title": one_line(made[0].title)})
    return found


def table_data(made: Table) -> dict[str, Any]:
    """A table as data: texts to read, numbers to sort by."""
    return {
        "title": one_line(made.title),
        "columns": [*map(one_line, made.columns)],
        "numeric": numeric_columns(made),
        "rows": [[cell_data(one) for one in row] for row in made.rows],
        "notes": [*map(one_line, made.notes)],
    }


def cell_data(found: Cell) -> Any:
    """A text; or a number with its text."""
    if isinstance(found, NumberCell):
        return [
            found.value if found.is_defined else None,
            format_cell(found),
            *([found.highlight] if found.highlight else []),
        ]
    return [found, format_cell(found)] if isinstance(found, int) else format_cell(found)


def write_figures(folder: Path, pool: Runs, tables: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Draw every figure that can be drawn; say why there is none where nothing can draw."""
    try:
        import matplotlib  # noqa: F401  # to tell a figure that lacks data from a machine that lacks the drawer
    except ImportError:
        return [], ["Published figures are left out: drawing needs pip install 'eyechart[figures]'."]
    return [*draw_figures(folder, pool, {one["name"]: one["title"] for one in tables})], []


def draw_figures(folder: Path, pool: Runs, titles: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The figures, each with the name of the table that has its numbers."""
    for name in DRAWERS:
        try:
            draw(name, pool, None, folder / FOLDER / f"{name}.svg", folder)
        except ReportError:
            continue
        yield {"name": name, "file": f"{FOLDER}/{name}.svg", "title": titles.get(name, name), "table": name in titles}
