"""Read tables of any length in chunks: csv, tab-separated text, parquet, or a list with one text per line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.data.names import is_system
from eyechart.data.tables import check_separator
from eyechart.errors import DataError
from eyechart.files.text_files import open_text
from eyechart.messages.install_commands import install_command

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 1 << 24  # bytes of csv
ROWS = 1 << 16  # rows of parquet or of a list
LINES = "lines"
SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")
_SelectColumns = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class TableChunk:
    """Some rows of a table: the number of the first row, from 1, and the columns as text, None for empty cells."""

    first: int
    rows: int
    columns: dict[str, pa.StringArray]


def read_chunks(path: Path, choose: _SelectColumns) -> Iterator[TableChunk]:
    """Yield the chunks of a table with the columns that `choose` selects; a list has the single column `lines`.

    The tables of a folder are read in the order of their names. Raises DataError, which names the file.
    """
    if path.is_dir():
        first = 1
        for inner in _list_tables(path):
            for part in read_chunks(inner, choose):
                yield TableChunk(first, part.rows, part.columns)
                first += part.rows
        return
    try:
        import pyarrow as pa
    except ImportError as error:
        raise DataError(f"{path} needs `pyarrow` to be read ({error}): {install_command('hub')}.") from error
    try:
        yield from _read(path, choose)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or str(error).strip().rstrip(".")
        raise DataError(
            f"{path} cannot be read ({what}). Expected csv, tab-separated text, parquet or a list."
        ) from error


def _list_tables(folder: Path) -> list[Path]:
    files = (path for path in folder.rglob("*") if path.is_file() and _suffix(path) in SUFFIXES)
    tables = sorted(path for path in files if not any(map(is_system, path.relative_to(folder).parts)))
    if not tables:
        raise DataError(f"{folder} holds no table: expected files that end in {', '.join(SUFFIXES)}, or .gz after it.")
    return tables


def _suffix(path: Path) -> str:
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def _read(path: Path, choose: _SelectColumns) -> Iterator[TableChunk]:
    kind = _suffix(path)
    if kind not in SUFFIXES:
        raise DataError(f"{path} is no table by its name: expected one that ends in {', '.join(SUFFIXES)}.")
    if kind == ".parquet":
        return _parquet(path, choose)
    with open_text(path) as file:
        head = file.readline().rstrip("\r\n")
    if kind == ".txt" and "\t" not in head:
        return _lines(path)
    return _text(path, head, choose)


def _lines(path: Path) -> Iterator[TableChunk]:
    import pyarrow as pa

    first = 1
    with open_text(path) as file:
        while block := [line.strip() for line in islice(file, ROWS)]:
            yield TableChunk(first, len(block), {LINES: pa.array(block, pa.string())})
            first += len(block)


def _text(path: Path, head: str, choose: _SelectColumns) -> Iterator[TableChunk]:
    import pyarrow as pa
    from pyarrow import csv as arrow

    tabs = head.count("\t") > head.count(",")
    names = next(csv.reader([head], delimiter="\t" if tabs else ","), [])
    check_separator(path, names)
    chosen = _select_columns(path, names, choose)
    parse = arrow.ParseOptions(
        delimiter="\t" if tabs else ",", quote_char=False if tabs else '"', newlines_in_values=not tabs
    )
    convert = arrow.ConvertOptions(include_columns=chosen, column_types=dict.fromkeys(chosen, pa.string()))
    reader = arrow.open_csv(
        path, read_options=arrow.ReadOptions(block_size=BLOCK), parse_options=parse, convert_options=convert
    )
    return _number_rows(reader)


def _parquet(path: Path, choose: _SelectColumns) -> Iterator[TableChunk]:
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    chosen = _select_columns(path, file.schema_arrow.names, choose)
    return _number_rows(file.iter_batches(batch_size=ROWS, columns=chosen))


def _select_columns(path: Path, names: Sequence[str], choose: _SelectColumns) -> list[str]:
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise DataError(f"{path} has two columns '{twice[0]}': rename or remove one.")
    return [*choose(names)]


def _number_rows(batches: Any) -> Iterator[TableChunk]:
    first = 1
    for batch in batches:
        columns = {name: as_text(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
        yield TableChunk(first, batch.num_rows, columns)
        first += batch.num_rows


def as_text(column: Any) -> pa.StringArray:
    """Return a column's cells as text: whole numbers without a point, None where there is no number."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_floating(column.type):
        whole = compute.if_else(compute.is_finite(column), column, None)
        column = compute.cast(whole, pa.int64(), safe=False)
    if not (pa.types.is_nested(column.type) or pa.types.is_string(column.type)):
        return compute.cast(column, pa.string(), safe=False)
    return pa.nulls(len(column), pa.string()) if pa.types.is_nested(column.type) else column
