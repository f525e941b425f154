"""A table as data, and its Markdown, CSV and LaTeX. All text is escaped, because it may come from outside."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan

from eyechart.files.atomic import csv_lines
from eyechart.reports.tables.latex import latex_table
from eyechart.results.glossary import is_counted, is_percent
from eyechart.results.records import Metric

MISSING = "—"
SMALLEST_P_VALUE = 1e-300  # smaller p-values are 0 as numbers of a computer
# One line, nothing that turns the direction of reading: what is left can stand in a cell.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
MARKDOWN = re.compile(r"[\\`*|<&~$#]|(?<![^\W_])_|_(?![^\W_])|(?<=\])[(\[:]")


@dataclass(frozen=True)
class NumberFormat:
    """The format of a number: scale, digits, and whether a sign is always written."""

    scale: float
    digits: int
    signed: bool = False

    def __call__(self, value: float | None) -> str:
        """Return the formatted value, or a dash if it is missing."""
        if value is None or isnan(value):
            return MISSING
        rounded = round(value * self.scale, self.digits) + 0.0  # adding 0 turns -0.0 into 0.0
        return f"{rounded:{'+' if self.signed else ''}.{self.digits}f}"


@dataclass(frozen=True)
class _PValueFormat(NumberFormat):
    """The format of a p-value, which is never written as 0."""

    def __call__(self, value: float | None) -> str:
        """Return the formatted p-value; values below 1e-300 as `<1e-300`."""
        if value is None or not 0 <= value < 0.5 / 10**self.digits:
            return super().__call__(value)
        return f"{value:.1e}" if value >= SMALLEST_P_VALUE else f"<{SMALLEST_P_VALUE:.0e}"


PERCENT = NumberFormat(100, 2)
CHANGE = NumberFormat(100, 1, signed=True)
FRACTION = NumberFormat(1, 4)
DIFFERENCE = NumberFormat(1, 4, signed=True)
CORRELATION = NumberFormat(1, 2)
P_VALUE = _PValueFormat(1, 4)


@dataclass(frozen=True)
class NumberCell:
    """A number in a table, with its n, interval and rank."""

    value: float | None
    n: int | None = None
    ci: tuple[float, float] | None = None
    rank: int | None = None
    style: NumberFormat = PERCENT
    half_width: bool = False  # the interval as ±, where it lies evenly around the value
    highlight: int | None = None  # 1: the best of its kind, bold; 2: the next, underlined

    def text(self, *, with_n: bool) -> str:
        """Return the text of the cell: `82.36 [81.93, 82.78] (9)`, or `74.69 ±0.19`."""
        parts = [self.style(self.value)]
        if self.is_defined and self.ci is not None:
            low, high = self.ci
            even = f"±{self.style((high - low) / 2)}"
            parts.append(even if self.half_width else f"[{self.style(low)}, {self.style(high)}]")
        if self.is_defined and self.rank is not None:
            parts.append(f"({self.rank})")
        if with_n and self.n is not None:
            parts.append(f"n={self.n:,}")
        return " ".join(parts)

    @property
    def is_defined(self) -> bool:
        """Return whether there is a value."""
        return self.value is not None and not isnan(self.value)

    def csv_fields(self) -> Iterator[tuple[str, str]]:
        """Yield (suffix of the column, text) for csv: the value, then n, interval and rank if present."""
        yield "", self.style(self.value) if self.is_defined else ""
        if self.n is not None:
            yield " n", str(self.n)
        if self.is_defined and self.ci is not None:
            yield from zip((" low", " high"), map(self.style, self.ci), strict=True)
        if self.is_defined and self.rank is not None:
            yield " rank", str(self.rank)


Cell = str | int | NumberCell | None


def metric_cell(metric: Metric) -> NumberCell:
    """Return a metric as a cell: a share in percent, another number, such as a log score, as it is."""
    style = PERCENT if is_percent(metric.name, metric.value, counted=is_counted(metric.ci_method)) else FRACTION
    return NumberCell(metric.value, metric.n, metric.ci, style=style)


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Rows of cells; in csv, `context` distinguishes tables of one name, and `data` replaces the layout if given."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    data: "Table | None" = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"'{self.title}' has {len(self.columns)} columns. Got a row of {len(row)} instead.")


def one_line(text: str) -> str:
    """Return a text without line breaks, repeated spaces and control characters."""
    return UNPRINTABLE.sub("�", " ".join(text.split()))


def _markdown_text(text: str) -> str:
    return MARKDOWN.sub(r"\\\g<0>", one_line(text))


def markdown_item(text: str) -> str:
    """Return a text escaped as a Markdown list item."""
    escaped = re.sub(r"^(\d+)([.)])", r"\1\\\2", _markdown_text(text))
    return re.sub(r"^[\[\]>+=!-]", r"\\\g<0>", escaped)


def shared_n(table: Table, column: int) -> int | None:
    """Return the n of a column if all its numbers have the same, else None."""
    numbers = [row[column] for row in table.rows if isinstance(row[column], NumberCell)]
    counts = {number.n for number in numbers if isinstance(number, NumberCell)}
    return counts.pop() if len(counts) == 1 else None


def _format_cells(table: Table) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells as plain text; an n shared by a column is written in its head."""
    shared = [shared_n(table, index) for index in range(len(table.columns))]
    heads = [name if n is None else f"{name} (n={n:,})" for name, n in zip(table.columns, shared, strict=True)]
    return heads, [
        [format_cell(cell, with_n=n is None) for cell, n in zip(row, shared, strict=True)] for row in table.rows
    ]


def format_cell(cell: Cell, *, with_n: bool = True) -> str:
    """Return one cell as plain text."""
    if isinstance(cell, NumberCell):
        return cell.text(with_n=with_n)
    if isinstance(cell, int):
        return f"{cell:,}"
    return MISSING if cell is None else one_line(cell)


def _highlights(table: Table) -> list[list[int | None]]:
    """Return which cells are the best (1) and second best (2) of their kind."""
    return [[cell.highlight if isinstance(cell, NumberCell) else None for cell in row] for row in table.rows]


def numeric_columns(table: Table) -> list[bool]:
    """Return which columns contain numbers, and are aligned right."""
    return [any(isinstance(row[index], int | NumberCell) for row in table.rows) for index in range(len(table.columns))]


def _markdown_cell(text: str, highlight: int | None) -> str:
    """Return a Markdown cell; the best is bold, the second best underlined with HTML."""
    before, after = {1: ("**", "**"), 2: ("<u>", "</u>")}.get(highlight or 0, ("", ""))
    return f"{before}{_markdown_text(text)}{after}"


def to_markdown(table: Table) -> str:
    """Return the table as Markdown with title and notes, its columns padded for terminals."""
    heads, cells = _format_cells(table)
    marked = zip(cells, _highlights(table), strict=True)
    lines = [[*map(_markdown_text, heads)], *(list(map(_markdown_cell, *row)) for row in marked)]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    right = numeric_columns(table)
    rule = [f"{'-' * (width - 1)}{':' if end else '-'}" for width, end in zip(widths, right, strict=True)]
    padded = [
        [text.rjust(width) if end else text.ljust(width) for text, width, end in zip(row, widths, right, strict=True)]
        for row in (lines[0], rule, *lines[1:])
    ]
    body = "".join(f"| {' | '.join(row)} |\n" for row in padded)
    notes = "".join(f"- {markdown_item(note)}\n" for note in table.notes)
    return f"### {_markdown_text(table.title)}\n\n{body}" + (f"\n{notes}" if notes else "")


def to_csv(tables: Sequence[Table]) -> str:
    """Return all tables of one name as one csv: context columns first, each number with n, interval and rank."""
    layouts = [table.data or table for table in tables]
    rows = [row for table in layouts for row in _csv_rows(table)]
    names = dict.fromkeys(name for table in layouts for name in (*table.context, *_csv_columns(table)))
    return "".join(csv_lines([list(names), *([row.get(name, "") for name in names] for row in rows)]))


def _csv_columns(table: Table) -> Iterator[str]:
    """Yield the csv's columns, each followed by those of its n, interval and rank."""
    for index, column in enumerate(table.columns):
        yield from dict.fromkeys(name for row in table.rows for name, _ in _csv_cells(column, row[index])) or (column,)


def _csv_rows(table: Table) -> Iterator[dict[str, str]]:
    for row in table.rows:
        cells = (pair for column, cell in zip(table.columns, row, strict=True) for pair in _csv_cells(column, cell))
        yield {**table.context, **dict(cells)}


def _csv_cells(column: str, cell: Cell) -> Iterator[tuple[str, str]]:
    if isinstance(cell, NumberCell):
        yield from ((column + part, text) for part, text in cell.csv_fields())
    else:
        yield column, "" if cell is None else str(cell)


def to_latex(table: Table) -> str:
    """Return the table as LaTeX floats; a comment at the beginning names the required packages."""
    shared = [shared_n(table, index) for index in range(len(table.columns))]
    heads = list(zip(map(one_line, table.columns), shared, strict=True))
    cells = [[_latex_lines(cell, with_n=n is None) for cell, n in zip(row, shared, strict=True)] for row in table.rows]
    title, notes = one_line(table.title), [one_line(note) for note in table.notes]
    return latex_table(title, heads, cells, numeric_columns(table), notes, _highlights(table))


def _latex_lines(cell: Cell, *, with_n: bool) -> tuple[str, ...]:
    """Return the lines of a cell: the value with its rank, then its interval, then its n."""
    if not isinstance(cell, NumberCell) or not cell.is_defined:
        return (format_cell(cell, with_n=with_n),)
    rank = f" ({cell.rank})" if cell.rank is not None else ""
    value, *interval = replace(cell, rank=None).text(with_n=False).split(" ", 1)
    return (value + rank, *interval, *([f"n={cell.n:,}"] if with_n and cell.n is not None else []))


RENDERERS: Mapping[str, Callable[[Sequence[Table]], str]] = {
    "md": lambda tables: "\n".join(map(to_markdown, tables)),
    "csv": to_csv,
    "tex": lambda tables: "\n".join(map(to_latex, tables)),
}
