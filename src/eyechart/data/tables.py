"""Read tables from csv or parquet as stripped text, with line numbers for messages."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unicodedata import normalize

from eyechart.data.names import fold_name
from eyechart.data.side_files import is_side_file
from eyechart.errors import DataError
from eyechart.files.text_files import MARK, open_text, utf8_bytes
from eyechart.messages.install_commands import install_command
from eyechart.messages.suggestions import did_you_mean

SUFFIXES = (".csv", ".parquet")
LIST_SEPARATOR = ";"
OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}  # separators of other dialects


@dataclass(frozen=True)
class Table:
    """The columns of a table by lower-case name, and the line (csv) or row (parquet) number of each row."""

    path: Path
    columns: Mapping[str, Sequence[str]]
    row_numbers: Sequence[int]
    unit: str = "line"

    def __len__(self) -> int:
        return len(self.row_numbers)

    def __getitem__(self, column: str) -> Sequence[str]:
        return self.columns[column]

    def location(self, row: int) -> str:
        """Return the file and line of a row."""
        return f"{self.path}, {self.unit} {self.row_numbers[row]}"

    def row_label(self, row: int) -> str:
        """Return the line of a row without the file."""
        return f"{self.unit} {self.row_numbers[row]}"


def find_table(folder: Path, stem: str) -> Path | None:
    """Return STEM.csv or STEM.parquet of a folder, None if neither exists; raises DataError if both exist."""
    paths = [path for suffix in SUFFIXES if is_side_file(path := folder / f"{stem}{suffix}")]
    if len(paths) > 1:
        raise DataError(f"{folder} has {paths[0].name} and {paths[1].name}: remove one, since they may differ.")
    return paths[0] if paths else None


def read_table(path: str | Path, required: Sequence[str], *, optional: Sequence[str] = ()) -> Table:
    """Read a csv or parquet file with at least one row and all required columns; other columns are kept.

    A list in a cell of parquet is joined by `;`. Raises DataError, which names file and line, for a missing or repeated
    column, a wrong number of cells, text that is not UTF-8, and an empty table.
    """
    path = Path(path)
    table = _parquet(path) if path.suffix == ".parquet" else _csv(path)
    for name in required:
        if name not in table.columns:
            rest = [column for column in table.columns if column not in (*required, *optional)]
            raise DataError(
                f"{path} has no column '{name}'; its columns are {', '.join(table.columns)}; expected "
                f"{', '.join(required)}, separated by commas{did_you_mean(name, rest)} Add the column; its cells may "
                "be empty where nothing is known."
            )
    if not len(table):
        raise DataError(f"{path} has a header and no rows: give a row at least.")
    return table


def _csv(path: Path) -> Table:
    try:
        with open_text(path) as file:
            separator = "\t" if path.suffix == ".tsv" else ","
            header, rows, numbers = _rows(path, csv.reader(file, strict=True, delimiter=separator))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): copy it again.") from error
    cells = list(zip(*rows, strict=True)) or [()] * len(header)
    columns = {name: [*map(str.strip, column)] for name, column in zip(header, cells, strict=True)}
    return Table(path, columns, numbers)


def _rows(path: Path, lines: Any) -> tuple[list[str], list[list[str]], list[int]]:
    try:
        header = _header(path, next(lines, []))
        if path.suffix != ".tsv":
            check_separator(path, header)
        rows, numbers = [], []
        for cells in lines:
            if not is_blank(cells):
                _check_width(f"{path}, line {lines.line_num}", cells, header)
                rows.append(cells)
                numbers.append(lines.line_num)
    except UnicodeDecodeError as error:
        raise _encoding_error(path) from error
    except csv.Error as error:
        raise DataError(
            f"{path}, line {lines.line_num} is no csv ({error}): correct the quotes, or save it anew."
        ) from error
    return header, rows, numbers


def is_blank(cells: Iterable[str]) -> bool:
    """Return whether a row of a table has no text. Excel writes such rows, of commas alone, at the end.

    >>> is_blank(["", " "]), is_blank(["", "a"])
    (True, False)
    """
    return not any(map(str.strip, cells))


def check_separator(path: Path, header: Sequence[str]) -> None:
    """Raise DataError for a header whose columns are separated by another sign than commas."""
    for sign, name in OTHER_SEPARATORS.items():
        if sign in header[0]:
            raise DataError(
                f"{path} has {name} between its columns, expected commas: save it as csv with commas (and a point in "
                f"decimal numbers). It begins with {' '.join(header[0].split())}."
            )


def _encoding_error(path: Path) -> DataError:
    """Return the error for a file that is not UTF-8, with the line, since the csv reader reports an earlier one."""
    data, start = utf8_bytes(path.read_bytes()), 0
    try:
        data.decode()
    except UnicodeDecodeError as error:
        start = error.start
    line, byte = data.count(b"\n", 0, start) + 1, data[start : start + 1].hex()
    return DataError(f"{path}, line {line} is not UTF-8: it has the byte 0x{byte}. Save it as UTF-8 text.")


def fold_column(name: str) -> str:
    """Return the form in which names of columns are compared: one Unicode form, in lower case, without outer spaces.

    >>> fold_column(" Größe ")
    'größe'
    """
    return normalize("NFC", name.strip().strip(MARK).strip()).lower()


def _header(path: Path, cells: Sequence[str]) -> list[str]:
    names = [*map(fold_column, cells)]
    if not any(names):
        raise DataError(f"{path} is empty: expected a header and a row at least.")
    for index, name in enumerate(names):
        if name in names[:index]:
            raise DataError(f"{path} has two columns '{name}': rename or remove one.")
    return names


def _check_width(where: str, cells: Sequence[str], header: Sequence[str]) -> None:
    if len(cells) != len(header):
        raise DataError(
            f"{where} has {len(cells)} cells, expected {len(header)}, as the header: put cells with commas into quotes."
        )


def _parquet(path: Path) -> Table:
    columns, count = read_parquet(path)
    return Table(path, {name: [*map(_text, cells)] for name, cells in columns.items()}, range(1, count + 1), "row")


def read_parquet(path: Path) -> tuple[dict[str, list[Any]], int]:
    """Return the cells of a parquet file by column, in lower case, and the number of rows. Raises DataError."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise DataError(
            f"{path} needs `pyarrow` to be read ({error}): {install_command('hub')}, or save it as csv."
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            table = file.read()
    except (OSError, ArrowException) as error:
        raise DataError(f"{path} is no parquet file that can be read ({error}): copy or write it again.") from error
    header = _header(path, table.column_names)
    cells = {name: column.to_pylist() for name, column in zip(header, table.columns, strict=True)}
    return cells, table.num_rows


def _text(cell: Any) -> str:
    """Return a cell of parquet as text; whole floats, which joins produce, without a decimal point."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, list | tuple):
        return LIST_SEPARATOR.join(map(_text, cell))
    if isinstance(cell, bool):
        return str(int(cell))
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def check_unique(table: Table, column: str, fold: Callable[[str], str] = fold_name) -> None:
    """Raise DataError for two equal cells of a column, by default compared stripped and casefolded."""
    rows: dict[str, int] = {}
    for row, name in enumerate(table[column]):
        first = rows.setdefault(fold(name), row)
        if first != row:
            raise DataError(
                f"{table.location(row)} has the {column} '{name}', and {table.row_label(first)} has "
                f"'{table[column][first]}': remove or rename one of the two."
            )
