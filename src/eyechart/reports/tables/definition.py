"""A published table as a declaration: what its cells are, what its rows and columns are, and how it is made.

A table of the suite, or of another package, is one `TableDefinition`. Its `cells` are a pandas frame with a row per
number, computed from the frames of a page; everything else (which cases may stand in one table, their names, ranks,
notes, Markdown, CSV and LaTeX) is done here and in `selection.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from eyechart.reports.runs import EmptyTableError, Runs
from eyechart.reports.tables.render import CHANGE, PERCENT, Cell, NumberCell, NumberFormat, Row, Table, shared_n
from eyechart.reports.tables.selection import Page


@dataclass(frozen=True, kw_only=True)
class TableDefinition:
    """A table that can be made of runs.

    - `name`: what it shows, such as `label-categories`; `alias`: its number in the paper, such as `T4`; `source`: the
      paper; `summary`: a sentence for lists of tables.
    - `pages(runs, labels)`: the selections of comparable cases; each becomes a table. A page has a title, the
      cases in the order of their rows, and a frame `names` with the columns that name each case. If there are none,
      `needs` says what the table shows and `command` how to evaluate it.
    - `limit`: the part of the images that the paper evaluates, as `--eye-limit` has it; "" for all.
    - `title`: of a page, with the fields `{page}`, `{reference}`, `{labels}`, `{both}` and those of its context; its
      suffix follows.
    - `cells(page)`: a frame with a row per cell: `row` (the index of the case), the further names in `rows`, `column`,
      and either `value` with `n`, `low` and `high`, or `count` (a whole number), or `text`. Further columns: `rank`
      (printed in parentheses), `highlight` (1: best, 2: second), `half_width` (the interval is printed as ±),
      `format` (of this cell alone), `repeated` (the cell repeats another one and is left out of csv).
    - `rows`: the columns that name a row, from `page.names` or the cells, in the printed order.
    - `order`: the columns of the cells by which rows are sorted; equal rows keep the order of the cells.
    - `columns`: the values of `column` in the printed order, with the fields of `title`, or a function of the page;
      `heads`: what is printed for some of them, with the same fields.
    - `notes`: sentences beneath the table with the fields of `title`, and functions of the page that return one or
      several; the notes of the page follow.
    - `formats`: of columns, by their names. Without one a column with a Δ in its name is a change, others are per cent.
    - `ranked`: the columns whose values are ranked, with the fields of `title`.
    - `sections`: the name of a column of `rows` whose values are printed as lines of their own; in csv it is a column.
      Rows without a value have no such line. `section_order`: these values in the printed order; others follow them.
    - `across`: the name of a column of `rows` whose values are printed as columns, in their order in the cells; in csv
      it names rows. The table has one column.
    - `transposed`: the head of the first column if the printed table has a row per column of the cells and a column per
      case, "" if not; csv has a row per case in both.
    """

    name: str
    alias: str = ""
    source: str = ""
    summary: str
    pages: Callable[[Runs, str | None], Sequence[Page]]
    needs: str
    command: str
    limit: str = ""
    title: str
    cells: Callable[[Page], pd.DataFrame]
    rows: tuple[str, ...]
    order: tuple[str, ...] = ("row",)
    columns: tuple[str, ...] | Callable[[Page], Sequence[str]]
    heads: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str | Callable[[Page], str | Iterable[str]], ...] = ()
    formats: Mapping[str, NumberFormat] = field(default_factory=dict)
    ranked: tuple[str, ...] = ()
    sections: str = ""
    section_order: tuple[str, ...] = ()
    across: str = ""
    transposed: str = ""

    def __call__(self, runs: Runs, labels: str | None = None) -> list[Table]:
        """Return one table per page. Raises EmptyTableError if the runs have no page."""
        return [self.make(page, self.cells(page)) for page in self.get_pages(runs, labels)]

    def get_pages(self, runs: Runs, labels: str | None = None) -> Sequence[Page]:
        """Return the pages of the runs. Raises EmptyTableError if there are none."""
        pages = self.pages(runs, labels)
        if not pages:
            raise EmptyTableError(
                f"{self.alias or self.name} {self.needs}; these runs have {runs.describe()}. "
                f"Make it with: {self.command}"
            )
        return pages

    def make(self, page: Page, cells: pd.DataFrame) -> Table:
        """Return the table of one page with these cells."""
        columns = [*(self.columns(page) if callable(self.columns) else map(page.fill, self.columns))]
        cells = _add_ranks(cells, [*map(page.fill, self.ranked)]) if self.ranked else cells
        rows = self._arrange(page, columns, cells[~cells["repeated"]] if "repeated" in cells else cells)
        title = page.fill(self.title) + page.suffix
        plain = Table(title, (*self.rows, *columns), tuple(rows), context=page.context)
        names = [name for name in self.rows if not name or name not in (self.sections, self.across)]
        if self.across:
            columns, rows = self._arrange_across(page, cells)
        columns, rows = _without_empty(columns, rows)
        shown = self._with_sections(rows) if self.sections else tuple(rows)
        heads = [page.fill(self.heads[name]) if name in self.heads else name for name in (*names, *columns)]
        table = Table(title, tuple(heads), shown, (*self._explain(page), *page.notes), page.context, plain)
        return _transpose(table, len(names), self.transposed) if self.transposed else table

    def _explain(self, page: Page) -> Iterator[str]:
        for note in self.notes:
            text = note(page) if callable(note) else page.fill(note)
            yield from [text] if isinstance(text, str) else text

    def _arrange_across(self, page: Page, cells: pd.DataFrame) -> tuple[list[str], list[Row]]:
        """Return the values of the column `across` and the rows that have a cell for each of them."""
        columns = [*dict.fromkeys(cells[self.across])]
        formats = {column: self.formats[name] for name in self.formats for column in columns}
        names = tuple(name for name in self.rows if name != self.across)
        wide = replace(self, rows=names, across="", formats=formats)
        return columns, wide._arrange(page, columns, cells.assign(column=cells[self.across]))

    def _arrange(self, page: Page, columns: Sequence[str], cells: pd.DataFrame) -> list[Row]:
        """Return the rows of a page: their names, then a cell for each column, None where there is none."""
        if unknown := sorted({*cells["column"]} - {*columns}):
            raise ValueError(f"{self.name}: cells of the columns {unknown}. Expected {list(columns)}.")
        inner = [name for name in self.rows if name not in page.names]
        table: dict[tuple[Any, ...], dict[str, Cell]] = {}
        for cell in cells.sort_values([*self.order], kind="stable").to_dict("records"):
            names = (cell["row"], *(cell[name] for name in inner))
            table.setdefault(names, {})[cell["column"]] = self.make_cell(cell)
        named = page.names.to_dict("index")
        return [
            (
                *({**named[key[0]], **dict(zip(inner, key[1:], strict=True))}[name] for name in self.rows),
                *(row.get(column) for column in columns),
            )
            for key, row in table.items()
        ]

    def make_cell(self, cell: Mapping[str, Any]) -> Cell:
        """Return a cell of its row in the frame of cells."""
        text, count = _optional(cell.get("text"), str), _optional(cell.get("count"), int)
        if text is not None or count is not None:
            whole: int | str = count if text is None else text
            return whole
        column = cell["column"]
        style = _optional(cell.get("format"), lambda style: style)
        style = style or self.formats.get(column, CHANGE if "Δ" in column else PERCENT)
        value, low, high = (_optional(cell.get(name), float) for name in ("value", "low", "high"))
        n, rank, highlight = (_optional(cell.get(name), int) for name in ("n", "rank", "highlight"))
        ci = None if low is None or high is None else (low, high)
        return NumberCell(value, n, ci, rank, style, bool(_optional(cell.get("half_width"), int)), highlight)

    def _with_sections(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """Return the rows under a line for each value of the column `sections`."""
        at = self.rows.index(self.sections)
        blocks: dict[Cell, list[Row]] = {}
        for row in rows:
            blocks.setdefault(row[at], []).append((*row[:at], *row[at + 1 :]))
        heads: dict[Cell, list[Row]] = {head: [(head, *[""] * (len(rows[0]) - 2))] if head else [] for head in blocks}
        ordered = sorted(blocks, key=lambda head: [*self.section_order, head].index(head))
        return tuple(line for head in ordered for line in (*heads[head], *blocks[head]))


def _without_empty(columns: Sequence[str], rows: Sequence[Row]) -> tuple[list[str], list[Row]]:
    """Return the columns that are about some image in some row, and the rows with their cells, after their names."""
    names = len(rows[0]) - len(columns) if rows else 0
    kept = [index for index in range(len(columns)) if not _are_about_nothing([row[names + index] for row in rows])]
    return [columns[index] for index in kept], [(*row[:names], *(row[names + index] for index in kept)) for row in rows]


def _are_about_nothing(cells: Sequence[Cell]) -> bool:
    """Return whether the cells of a column are numbers over no image, or missing."""
    numbers = [cell for cell in cells if cell is not None]
    return bool(numbers) and all(isinstance(cell, NumberCell) and cell.n == 0 for cell in numbers)


def _transpose(table: Table, names: int, head: str) -> Table:
    """Return a table with a row for each column of numbers, and a column for each row, named by its first cells.

    The first column is named `head`. If the numbers of a column have a common n, it stands in the name of its row.
    """
    columns = (head, *(", ".join(map(str, row[:names])) for row in table.rows))
    rows = []
    for index, name in enumerate(table.columns[names:], names):
        n = shared_n(table, index)
        cells = (row[index] for row in table.rows)
        alike = [replace(cell, n=None) if n is not None and isinstance(cell, NumberCell) else cell for cell in cells]
        rows.append((name if n is None else f"{name} (n={n:,})", *alike))
    return replace(table, columns=columns, rows=tuple(rows))


def _optional(value: Any, kind: Callable[[Any], Any]) -> Any:
    """Return a value as a type, None if it is None or NaN."""
    return None if value is None or pd.isna(value) else kind(value)


def _add_ranks(cells: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Return cells with the rank of each value within its column, for some columns.

    The highest value has rank 1. Values that are equal to 12 digits share a rank, and no rank is left out after them.
    """
    ranked = cells["column"].isin([*columns])
    ranks = cells[ranked].assign(value=cells["value"].round(12)).groupby("column")["value"]
    return cells.assign(rank=ranks.rank("dense", ascending=False).reindex(cells.index))


def mark_best(cells: pd.DataFrame, by: str = "column") -> pd.DataFrame:
    """Return cells with the highest value of each group marked as best and the next as second, unless all are equal."""
    order = cells.groupby(by)["value"].rank("dense", ascending=False)
    several = cells.groupby(by)["value"].transform("nunique") > 1
    return cells.assign(highlight=order.where(several & (order <= 2)).astype(float).replace(np.nan, None))
