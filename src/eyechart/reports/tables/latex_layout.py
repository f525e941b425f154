"""Estimate text widths, break lines and tables to fit a page, and group columns by their heads."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

PORTRAIT, LANDSCAPE = 475.0, 715.0  # points of an a4 page with margins of 2 cm, less a little
ROW_SPACE = {PORTRAIT: 560.0, LANDSCAPE: 340.0}  # points for rows; the caption and the notes take the rest
SEPARATION = 6.0  # between two columns
LEADING, LINE_HEIGHT = 12.0, 8.5  # points that the first line of a row takes, and each further one
WIDEST_TEXT, NARROW_TEXT = 130.0, 90.0  # points of a column of texts, and of one in a table that is too wide
NARROWEST_HEAD, HEAD = 34.0, 64.0  # points of a short head, and of a long one in several lines
BODY, SMALL = 8.5, 7.97  # the em of cmr8 and cmr7 in points, as multiples of cmr10's widths
WIDTHS = {  # of Computer Modern Roman, in em, rounded up
    **dict.fromkeys("ijl.,:;'![]|", 0.285),
    **dict.fromkeys("()frst-Iz", 0.4),
    **dict.fromkeys("0123456789/", 0.505),
    **dict.fromkeys("mMW%", 0.95),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZw&@#+=<>±−∩×~", 0.785),
    **dict.fromkeys("→—…", 1.02),
    " ": 0.34,
}
BOLD = 1.15
PIECE = re.compile(r"\S+?[-/_,=:.\]]+|\s+|[^\s]+")  # a word, its part up to punctuation, or spaces
DEFAULT_WIDTH = 0.56


def text_width(text: str, em: float = BODY) -> float:
    """Return an upper estimate of the width of a text in points."""
    return em * sum(WIDTHS.get(letter, DEFAULT_WIDTH if letter.isascii() else 1.0) for letter in text)


def wrap_text(text: str, width: float, em: float = BODY) -> list[str]:
    """Return a text in lines of at most this width, broken at spaces, after punctuation, or inside long words."""
    lines, line = [], ""
    for piece in (part for match in PIECE.findall(text) for part in split_piece(match, width, em)):
        if line.strip() and text_width((line + piece).rstrip(), em) > width:
            lines.append(line.strip())
            line = ""
        line += piece
    return [*lines, line.strip()]


def split_piece(piece: str, width: float, em: float) -> Iterator[str]:
    """Yield parts of a piece that fit the width."""
    part = ""
    for letter in piece:
        if part and text_width(part + letter, em) > width:
            yield part
            part = ""
        part += letter
    yield part


@dataclass(frozen=True)
class Column:
    """A column: the lines of its cells, the lines of its head, and its width in points."""

    cells: tuple[tuple[str, ...], ...]
    head: tuple[str, ...]
    width: float
    number: bool


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that are kept together: one, or several with a common head."""

    columns: tuple[Column, ...]
    indices: tuple[int, ...]
    head: tuple[str, ...] = ()

    @property
    def width(self) -> float:
        """Return the width including the space before each column."""
        whole = sum(column.width + SEPARATION for column in self.columns)
        return max(whole, 0.0, *(text_width(line) + SEPARATION for line in self.head))


def _create_column(head: str, n: int | None, cells: Sequence[Sequence[str]], *, number: bool, widest: float) -> Column:
    """Return a column with wrapped texts; of a number, the first line is the value, further lines are smaller."""
    if number:
        lines = tuple(tuple(cell) for cell in cells)
        widths = [
            text_width(line, SMALL if index else BODY * BOLD) for cell in lines for index, line in enumerate(cell)
        ]
    else:
        lines = tuple(tuple(wrap_text(cell[0], widest)) for cell in cells)
        widths = [text_width(line) for cell in lines for line in cell]
    body = max(widths, default=0.0)
    word = min(2 * HEAD, max(map(text_width, PIECE.findall(head)), default=0.0))  # which is not broken
    heads = wrap_text(head, max(body, word, NARROWEST_HEAD, min(HEAD, text_width(head) / 3))) if head else []
    heads += [] if n is None else [f"(n={n:,})"]
    return Column(lines, tuple(heads), max(body, 0.0, *map(text_width, heads)), number)


def _group_heads(heads: Sequence[str]) -> list[tuple[tuple[int, ...], str]]:
    """Group neighbouring columns by the words that their heads begin with; "" for a column on its own."""
    words = [head.split() for head in heads]
    common = [_count_shared_words(first, second) for first, second in pairwise(words)]
    longest = [max(left, right) for left, right in zip([0, *common], [*common, 0], strict=True)]
    groups: list[tuple[tuple[int, ...], str]] = []
    for index, size in enumerate(longest):
        name = " ".join(words[index][:size])
        if name and groups and groups[-1][1] == name:
            groups[-1] = ((*groups[-1][0], index), name)
        else:
            groups.append(((index,), name))
    return [(indices, name if len(indices) > 1 else "") for indices, name in groups]


def _count_shared_words(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the number of words that both begin with."""
    return next((n for n, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]),
                min(len(first), len(second)))  # fmt: skip


def column_groups(
    heads: Sequence[tuple[str, int | None]],
    cells: Sequence[Sequence[Sequence[str]]],
    right: Sequence[bool],
    widest: float,
) -> list[ColumnGroup]:
    """Return the table's columns, grouped by the common beginning of their heads."""
    groups = []
    names = [
        head if number else f"\0{index}" for index, ((head, _), number) in enumerate(zip(heads, right, strict=True))
    ]
    for indices, name in _group_heads(names):
        columns = tuple(
            _create_column(
                heads[column][0].removeprefix(name).strip(" ,"), heads[column][1], [row[column] for row in cells],
                number=right[column], widest=widest,
            )
            for column in indices
        )  # fmt: skip
        width = sum(column.width + SEPARATION for column in columns) - SEPARATION
        groups.append(ColumnGroup(columns, indices, tuple(wrap_text(name.strip(" ,"), width)) if name else ()))
    return groups


def split_columns(groups: Sequence[ColumnGroup], keys: int, limit: float) -> list[list[ColumnGroup]]:
    """Split the groups into parts that fit the width; every part begins with the key columns."""
    head = list(groups[:keys])
    space = limit - sum(unit.width for unit in head)
    pieces = [piece for unit in groups[keys:] for piece in _split_group(unit, space)]
    parts = [list(head)]
    for unit in pieces:
        if len(parts[-1]) > keys and sum(group.width for group in (*parts[-1], unit)) > limit:
            parts.append(list(head))
        parts[-1].append(unit)
    return parts


def _split_group(unit: ColumnGroup, limit: float) -> Iterator[ColumnGroup]:
    """Split a group that is too wide into several with the same head."""
    start, width = 0, 0.0
    for index, column in enumerate(unit.columns):
        if index > start and width + column.width + SEPARATION > limit:
            yield ColumnGroup(unit.columns[start:index], unit.indices[start:index], unit.head)
            start, width = index, 0.0
        width += column.width + SEPARATION
    yield ColumnGroup(unit.columns[start:], unit.indices[start:], unit.head)


def row_height(columns: Sequence[Column], row: int) -> float:
    """Return the height of a row in points."""
    return LEADING + LINE_HEIGHT * (max(len(column.cells[row]) for column in columns) - 1)


def row_chunks(columns: Sequence[Column], rows: int, tall: float) -> list[range]:
    """Return ranges of rows that fit a page."""
    chunks, start, height = [], 0, 0.0
    for row in range(rows):
        row_space = row_height(columns, row)
        if row > start and height + row_space > tall:
            chunks.append(range(start, row))
            start, height = row, 0.0
        height += row_space
    return [*chunks, range(start, rows)]
