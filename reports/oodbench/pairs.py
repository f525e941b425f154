"""Read the csv files of a case as columns of text."""

import csv
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import TypeVar

import numpy as np

from eyechart.errors import ReportError
from eyechart.records import Record

from ..answers import Ints
from ..run_files import read_verified

PREDICTIONS = "predictions"
Columns = Mapping[str, tuple[str, ...]]
T = TypeVar("T")


def read_artifact(record: Record, folder: Path, name: str, convert: Callable[[Columns], T]) -> T:
    """Return a CSV file of a case, converted from its columns by a function.

    Raises ReportError for a missing or malformed file.
    """
    file = record.predictions if name == PREDICTIONS else record.artifacts.get(name)
    if file is None:
        raise ReportError(f"The record of {record.case} in {folder} names no {name}. Run the case again.")
    text = read_verified(folder / file.path, folder, file)
    try:
        head, *rows = csv.reader(StringIO(text, newline=""))
        if odd := next((number for number, row in enumerate(rows, 2) if len(row) != len(head)), None):
            raise ValueError(f"row {odd} does not have {len(head)} fields")
        return convert({column: tuple(row[place] for row in rows) for place, column in enumerate(head)})
    except (KeyError, ValueError) as error:
        raise ReportError(f"{folder / file.path} cannot be read as {name} ({error}). Run the case again.") from error


def parse_integers(texts: tuple[str, ...]) -> Ints:
    """Return texts as integers."""
    return np.array([int(text) for text in texts], np.int64)
