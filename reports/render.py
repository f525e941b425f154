"""A table as data, and the three ways to write it down. Every text may come from outside and is escaped."""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from math import isnan

from .latex import latex_table

MISSING = "—"
SMALLEST_P_VALUE = 1e-300  # smaller p-values are 0 as numbers of a computer
# One line, nothing that turns the direction of reading: what is left can stand in a cell.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
MARKDOWN = re.compile(r"[\\`*|<&~$#]|(?<![^\W_])_|_(?![^\W_])|(?<=\])[(\[:]")


@dataclass(frozen=True)
class NumberFormat:
    """How a number is written: times what, to how many digits, with a sign or not."""

    scale: float
    digits: int
    signed: bool = False

    def __call__(self, value: float | None) -> str:
        """Write a value; one that is not there is a dash."""
        if value is None or isnan(value):
            return MISSING
        rounded = round(value * self.scale, self.digits) + 0.0  # adding 0 turns -0.0 into 0.0
        return f"{rounded:{'+' if self.signed else ''}.{self.digits}f}"


@dataclass(frozen=True)
class PValueFormat(NumberFormat):
    """How a p-value is written: never as 0, which no p-value is."""

    def __call__(self, value: float | None) -> str:
        """Write a value; the least there is below 1e-300."""
        if value is None or not 0 <= value < 0.5 / 10**self.digits:
            return super().__call__(value)
        return f"{value:.1e}" if value >= SMALLEST_P_VALUE else f"<{SMALLEST_P_VALUE:.0e}"


PERCENT = NumberFormat(100, 2)
CHANGE = NumberFormat(100, 1, signed=True)
FRACTION = NumberFormat(1, 4)
DIFFERENCE = NumberFormat(1, 4, signed=True)
CORRELATION = NumberFormat(1, 2)
P_VALUE = PValueFormat(1, 4)


@dataclass(frozen=True)
class NumberCell:
    """A value with what belongs to it: of how many, how sure, and its rank in the column."""

    value: float | None
    n: int | None = None
    ci: tuple[float, float] | None = None
    rank: int | None = None
    style: NumberFormat = PERCENT
    half_width: bool = False  # the interval as ±, where it lies evenly around the value
    highlight: int | None = None  # 1: the best of its kind, bold; 2: the next, underlined

    def text(self, *, with_n: bool) -> str:
        """As it stands in a cell: `82.36 [81.93, 82.78] (9)`, or `74.69 ±0.19`."""
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
        """Whether there is a value at all."""
        return self.value is not None and not isnan(self.value)

    def csv_fields(self) -> Iterator[tuple[str, str]]:
        """As columns of a csv: the value, then whatever else there is."""
        yield "", self.style(self.value) if self.is_defined else ""
        if self.n is not None:
            yield " n", str(self.n)
        if self.is_defined and self.ci is not None:
            yield from zip((" low", " high"), map(self.style, self.ci), strict=True)
        if self.is_defined and self.rank is not None:
            yield " rank", str(self.rank)


Cell = str | int | NumberCell | None
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns; in a csv, `context` tells tables of one name apart and `data` is the layout."""

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
    """A text without line breaks, runs of spaces and control characters."""
    return UNPRINTABLE.sub("�", " ".join(text.split()))


def markdown_text(text: str) -> str:
    """A text that Markdown shows as it is, in a cell or in a line."""
    return MARKDOWN.sub(r"\\\g<0>", one_line(text))


def markdown_item(text: str) -> str:
    """A text as an item of a list, whatever it begins with."""
    escaped = re.sub(r"^(\d+)([.)])", r"\1\\\2", markdown_text(text))
    return re.sub(r"^[\[\]>+=!-]", r"\\\g<0>", escaped)


def shared_n(table: Table, column: int) -> int | None:
    """The number of images behind every number of a column, if it is one and the same."""
    numbers = [row[column] for row in table.rows if isinstance(row[column], NumberCell)]
    counts = {number.n for number in numbers if isinstance(number, NumberCell)}
    return counts.pop() if len(counts) == 1 else None


def format_cells(table: Table) -> tuple[list[str], list[list[str]]]:
    """Heads and cells as plain text; an n that a column shares stands in its head."""
    shared = [shared_n(table, index) for index in range(len(table.columns))]
    heads = [name if n is None else f"{name} (n={n:,})" for name, n in zip(table.columns, shared, strict=True)]
    return heads, [
        [format_cell(cell, with_n=n is None) for cell, n in zip(row, shared, strict=True)] for row in table.rows
    ]


def format_cell(cell: Cell, *, with_n: bool = True) -> str:
    """One cell as plain text."""
    if isinstance(cell, NumberCell):
        return cell.text(with_n=with_n)
    if isinstance(cell, int):
        return f"{cell:,}"
    return MISSING if cell is None else one_line(cell)


def highlights(table: Table) -> list[list[int | None]]:
    """Which cells are the best of their kind, and which are next."""
    return [[cell.highlight if isinstance(cell, NumberCell) else None for cell in row] for row in table.rows]


def numeric_columns(table: Table) -> list[bool]:
    """Which columns hold numbers, and stand at the right."""
    return [any(isinstance(row[index], int | NumberCell) for row in table.rows) for index in range(len(table.columns))]


def markdown_cell(text: str, highlight: int | None) -> str:
    """A cell, the best of its kind bold and the next underlined, for which Markdown has nothing but HTML."""
    before, after = {1: ("**", "**"), 2: ("<u>", "</u>")}.get(highlight or 0, ("", ""))
    return f"{before}{markdown_text(text)}{after}"


def to_markdown(table: Table) -> str:
    """The table with its title and, beneath, its notes; columns are padded so that it reads in a terminal, too."""
    heads, cells = format_cells(table)
    marked = zip(cells, highlights(table), strict=True)
    lines = [[*map(markdown_text, heads)], *(list(map(markdown_cell, *row)) for row in marked)]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    right = numeric_columns(table)
    rule = [f"{'-' * (width - 1)}{':' if end else '-'}" for width, end in zip(widths, right, strict=True)]
    padded = [
        [text.rjust(width) if end else text.ljust(width) for text, width, end in zip(row, widths, right, strict=True)]
        for row in (lines[0], rule, *lines[1:])
    ]
    body = "".join(f"| {' | '.join(row)} |\n" for row in padded)
    notes = "".join(f"- {markdown_item(note)}\n" for note in table.notes)
    return f"### {markdown_text(table.title)}\n\n{body}" + (f"\n{notes}" if notes else "")


def to_csv(tables: Sequence[Table]) -> str:
    """All tables of one name as one csv: their contexts first, every number with its n, interval and rank."""
    layouts = [table.data or table for table in tables]
    rows = [row for table in layouts for row in csv_rows(table)]
    names = dict.fromkeys(name for table in layouts for name in (*table.context, *csv_columns(table)))
    text = StringIO()
    writer = csv.DictWriter(text, list(names), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def csv_columns(table: Table) -> Iterator[str]:
    """The csv's columns, each followed by those of its n, interval and rank."""
    for index, column in enumerate(table.columns):
        yield from dict.fromkeys(name for row in table.rows for name, _ in csv_cells(column, row[index])) or (column,)


def csv_rows(table: Table) -> Iterator[dict[str, str]]:
    """The csv's rows."""
    for row in table.rows:
        cells = (pair for column, cell in zip(table.columns, row, strict=True) for pair in csv_cells(column, cell))
        yield {**table.context, **dict(cells)}


def csv_cells(column: str, cell: Cell) -> Iterator[tuple[str, str]]:
    """One cell as one or more columns of a csv."""
    if isinstance(cell, NumberCell):
        yield from ((column + part, text) for part, text in cell.csv_fields())
    else:
        yield column, "" if cell is None else str(cell)


def to_latex(table: Table) -> str:
    """The table as floating tables; a comment at the head of each names the packages that it needs."""
    shared = [shared_n(table, index) for index in range(len(table.columns))]
    heads = list(zip(map(one_line, table.columns), shared, strict=True))
    cells = [[latex_lines(cell, with_n=n is None) for cell, n in zip(row, shared, strict=True)] for row in table.rows]
    title, notes = one_line(table.title), [one_line(note) for note in table.notes]
    return latex_table(title, heads, cells, numeric_columns(table), notes, highlights(table))


def latex_lines(cell: Cell, *, with_n: bool) -> tuple[str, ...]:
    """A cell in lines: a number's value with its rank, then its interval, then its n."""
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
