"""Read a table of questions as columns of raw cells: csv and tsv, JSON lines, parquet, or a data frame in memory."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.data import tables
from eyechart.data.labels.label_values import is_missing
from eyechart.data.side_files import is_side_file
from eyechart.errors import DataError
from eyechart.files.text_files import decode_text, unix_lines

NAMES = ("questions.csv", "questions.tsv", "questions.jsonl", "questions.parquet")
ANSWER_NAMES = ("answers.csv", "answers.tsv", "answers.jsonl", "answers.parquet")
_LARGEST_CELL = 2**31 - 1  # a cell may be an image


@dataclass(frozen=True)
class RawTable:
    """The columns of a table by name, as they are written, and the line or row number of each row.

    `name` is the path of the file, or what messages call data in memory.
    """

    name: str
    columns: Mapping[str, Sequence[Any]]
    row_numbers: Sequence[int]
    unit: str = "line"

    def __len__(self) -> int:
        return len(self.row_numbers)

    def location(self, row: int) -> str:
        """Return the file and line of a row."""
        return f"{self.name}, {self.unit} {self.row_numbers[row]}"

    def row_label(self, row: int) -> str:
        """Return the line of a row without the file."""
        return f"{self.unit} {self.row_numbers[row]}"


def find_question_file(folder: Path, names: Sequence[str] = NAMES) -> Path | None:
    """Return the table of questions in a folder, None if there is none. Raises DataError if there are several."""
    found = [path for name in names if is_side_file(path := folder / name)]
    if len(found) > 1:
        raise DataError(
            f"{folder} has {' and '.join(path.name for path in found)}. Expected one table: remove all but one, since "
            "they may differ."
        )
    return found[0] if found else None


def read_question_file(path: Path) -> RawTable:
    """Read a table of questions. Raises DataError, which names the line, for a file that cannot be read or is empty."""
    if path.suffix == ".jsonl":
        table = _read_json_lines(path)
    elif path.suffix == ".parquet":
        table = _read_parquet(path)
    else:
        csv.field_size_limit(_LARGEST_CELL)
        read = tables.read_table(path, ())
        table = RawTable(str(path), read.columns, read.row_numbers, read.unit)
    return _named(table)


def frame_table(frame: Any, name: str) -> RawTable:
    """Return a data frame of pandas as a table; rows are numbered from 0."""
    columns = {column: frame[column].tolist() for column in frame.columns}
    return _named(RawTable(name, columns, range(len(frame)), "row"))


def _named(table: RawTable) -> RawTable:
    """Return a table with stripped names of columns in lower case.

    Raises DataError for an empty table and for equal names.
    """
    if not len(table):
        raise DataError(f"{table.name} has no rows. Give a row for each question.")
    columns: dict[str, Sequence[Any]] = {}
    for name, cells in table.columns.items():
        if (plain := str(name).strip().casefold()) in columns:
            raise DataError(f"{table.name} has two columns '{plain}'. Rename or remove one.")
        columns[plain] = cells
    return RawTable(table.name, columns, table.row_numbers, table.unit)


def _read_json_lines(path: Path) -> RawTable:
    text = decode_text(path.read_bytes(), path)
    rows: list[Mapping[str, Any]] = []
    numbers = list[int]()
    for number, line in enumerate(unix_lines(text).split("\n"), 1):
        if line.strip():
            rows.append(_json_object(line, f"{path}, line {number}"))
            numbers.append(number)
    names = dict.fromkeys(name for row in rows for name in row)
    return RawTable(str(path), {name: [row.get(name) for row in rows] for name in names}, numbers)


def _json_object(line: str, where: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{where} is no JSON ({error.msg}). Expected one object a line, as JSON lines have.") from error
    if not isinstance(row, dict):
        raise DataError(f'{where} is a {type(row).__name__}. Expected an object such as {{"image": …}}.')
    return row


def _read_parquet(path: Path) -> RawTable:
    columns, count = tables.read_parquet(path)
    return RawTable(str(path), columns, range(1, count + 1), "row")


def cell_text(cell: Any) -> str:
    """Return a cell as text, "" for a missing one; whole floats have no decimal point, and truth is yes or no.

    >>> cell_text(3.0), cell_text(None), cell_text(" a "), cell_text(True)
    ('3', '', 'a', 'yes')
    """
    if is_missing(cell):
        return ""
    if hasattr(cell, "item") and getattr(cell, "ndim", 1) == 0:
        cell = cell.item()
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()
