"""Reads the table of a user's own variables, which split images into slices, beside the images of a split."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.columns import Columns
from eyechart.data.dataset.dataset import Row, SliceVariable
from eyechart.data.names import composed
from eyechart.data.tables import Table, check_unique, find_table, read_table
from eyechart.errors import DataError
from eyechart.messages.suggestions import did_you_mean

STEM, KEY, CLASS = "slices", "key", "class"
MOST_VALUES = 1000
Ints = NDArray[np.int64]


def read_slices(folder: Path, rows: Sequence[Row], taken: Collection[str] = ()) -> tuple[SliceVariable, ...]:
    """Return the columns of slices.csv (or .parquet) in the folder of a split, () without the file.

    The column `key` has the keys of images; an empty cell, and an image without a row, have no value. Raises DataError
    for a table without another column, a key that is repeated or of no image, and a column with an impossible name, too
    many values or the name of a variable that the data set has itself: the class, and those of `taken`.
    """
    path = find_table(folder, STEM)
    if path is None:
        return ()
    table = read_table(path, (KEY,))
    check_unique(table, KEY, str)
    indices = _find_rows(table, rows)
    names = [name for name in table.columns if name != KEY]
    if not names:
        raise DataError(f"{path} has no column but {KEY}. Add a column for each variable, such as lighting.")
    _check_names(table, names, (CLASS, *taken))
    return tuple(_variable(table, name, indices, len(rows)) for name in names)


def _find_rows(table: Table, rows: Sequence[Row]) -> Ints:
    """Return the row of the index of each row of the table (n,)."""
    known = {key: index for index, key in enumerate(Columns.of(Row, rows).values("key"))}
    spellings = composed(known)
    keys = [key if key in known else _spelled(key, spellings) for key in table[KEY]]
    unknown = [row for row, key in enumerate(keys) if key not in known]
    if len({*keys}) < len(keys):
        check_unique(table, KEY, lambda key: normalize("NFC", key))
    if unknown:
        first = f" Its first key is '{rows[0].key}'." if rows else ""
        key, more = table[KEY][unknown[0]], f", and {len(unknown) - 1} more rows" if unknown[1:] else ""
        raise DataError(
            f"{table.location(unknown[0])}: the split has no image with the key '{key}'{more}"
            f"{did_you_mean(key, [*known])}{first} Correct or remove the rows."
        )
    return np.array([known[key] for key in keys], np.int64)


def _spelled(key: str, spellings: Mapping[str, str]) -> str:
    """Return the key of an image that is written in another Unicode form, or as a path of Windows or a shell."""
    form = normalize("NFC", key)
    plain = str(PurePosixPath(form.replace("\\", "/")))
    return spellings.get(form, spellings.get(plain, key))


def _check_names(table: Table, names: Sequence[str], taken: Collection[str]) -> None:
    """Raise DataError for a column whose name is impossible or one of `taken`."""
    for name in names:
        if name in taken or not name.isidentifier():
            expected = "which the data set has itself" if name in taken else "expected letters, digits and _"
            raise DataError(f"{table.path} has the column '{name}', {expected}. Rename it.")


def _variable(table: Table, name: str, indices: Ints, count: int) -> SliceVariable:
    values = sorted({value for value in table[name] if value})
    if len(values) > MOST_VALUES:
        raise DataError(
            f"{table.path}: the column {name} has {len(values):,} values, expected {MOST_VALUES:,} or fewer. Group "
            "them, for example numbers into ranges, or remove the column."
        )
    code = {value: index for index, value in enumerate(values)} | {"": -1}
    codes = np.full(count, -1, np.int64)
    codes[indices] = [code[value] for value in table[name]]
    return SliceVariable(name, tuple(values), codes)
