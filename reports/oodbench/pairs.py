"""The image–category pairs of OODBench and their answers, read from the CSV files of a run."""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import ReportError
from eyechart.metrics.yes_no import MISSING, NO, UNPARSED, YES, confusion_tables
from eyechart.oodbench.division import SETS
from eyechart.records import Record

from ..answers import Bools, Ints
from ..run_files import read_verified

PREDICTIONS = "predictions"
INITIAL = "'"  # marks a set of the initial benchmark: everything that was flagged, before downsampling
QUESTIONS = {"positive": 0, "negative": 1}
CODES = {"yes": YES, "no": NO, "": UNPARSED}
Columns = Mapping[str, tuple[str, ...]]
T = TypeVar("T")


@dataclass(frozen=True)
class Pairs:
    """The m pairs of one case, in the order of the division.

    `numbers` (m,) are their numbers in the division, `categories` (m,) classes, `sets` (m,) names; `main` (m,) says
    which are of the main benchmark, `present` (m,) whether the category is in the image. `answers` (m, 2) to the
    positive and the negative question are the codes of `eyechart.metrics.yes_no`, `expected` (m, 2) whether "yes" is
    right.
    """

    numbers: Ints
    keys: tuple[str, ...]
    categories: Ints
    names: tuple[str, ...]
    sets: NDArray[np.str_]
    main: Bools
    present: Bools
    answers: Ints
    expected: Bools

    def in_set(self, name: str) -> Bools:
        """Return the mask of a set: `OOD-S` of the main benchmark, `OOD-S'` of the initial one, which contains it."""
        mask: Bools = self.sets == name.removesuffix(INITIAL)
        return mask if name.endswith(INITIAL) else mask & self.main

    def sorted_indices(self, name: str) -> Ints:
        """Return the indices of a set's pairs, sorted by image and category."""
        indices = np.flatnonzero(self.in_set(name)).tolist()
        return np.array(sorted(indices, key=lambda place: (self.keys[place], self.categories[place])), np.int64)

    @cached_property
    def images(self) -> Ints:
        """The image of each pair (m,); pairs of one image are not independent."""
        places = {key: place for place, key in enumerate(dict.fromkeys(self.keys))}
        return np.array([places[key] for key in self.keys], np.int64)

    @cached_property
    def answered(self) -> Bools:
        """Which pairs have both answers (m,); the others are left out, as in the records."""
        complete: Bools = (self.answers != MISSING).all(axis=1)
        return complete

    @cached_property
    def tables(self) -> Ints:
        """TP, FP, FN, TN of each pair's answers, (m, 4)."""
        return confusion_tables(self.answers, self.expected)

    @cached_property
    def counts(self) -> Ints:
        """`tables`, then the numbers of yes answers, of unparsed answers and of all answers, (m, 7)."""
        totals = [mask.sum(axis=1) for mask in (self.answers == YES, self.answers == UNPARSED, self.answers != MISSING)]
        return np.column_stack((self.tables, *totals)).astype(np.int64)

    @cached_property
    def identity(self) -> str:
        """The sha256 of the main benchmark's pairs; cases with the same hash have the same pairs."""
        chosen = np.flatnonzero(self.main & np.isin(self.sets, SETS))
        rows = sorted(f"{self.sets[p]} {self.categories[p]} {self.present[p]} {self.keys[p]}" for p in chosen)
        return sha256("\n".join(rows).encode()).hexdigest()


def read_columns(record: Record, folder: Path, name: str = PREDICTIONS) -> Columns:
    """Return the columns of a CSV file of a case: its predictions, or an artifact such as `division`."""
    return read_artifact(record, folder, name, lambda columns: columns)


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


def read_pairs(record: Record, folder: Path) -> Pairs:
    """Return the pairs of a case of the existence protocol."""
    return read_artifact(record, folder, PREDICTIONS, pairs_from_columns)


def pairs_from_columns(columns: Columns) -> Pairs:
    """Return the pairs of the columns of a table of questions."""
    numbers, first, place = np.unique(parse_integers(columns["pair"]), return_index=True, return_inverse=True)
    question = np.array([QUESTIONS[name] for name in columns["question"]], np.int64)
    if len(np.unique(2 * place + question)) < len(place):
        raise ValueError("a question was asked twice")
    answers, expected = np.full((len(numbers), 2), MISSING, np.int64), np.zeros((len(numbers), 2), bool)
    cells = zip(columns["prediction"], columns["correct"], strict=True)
    answers[place, question] = [CODES[answer] if correct else MISSING for answer, correct in cells]
    expected[place, question] = [{"yes": True, "no": False}[word] for word in columns["target"]]
    return Pairs(
        numbers,
        tuple(columns["key"][row] for row in first),
        parse_integers(columns["category"])[first],
        tuple(columns["category_name"][row] for row in first),
        np.array(columns["subset"], dtype=np.str_)[first],
        parse_integers(columns["main"])[first].astype(bool),
        parse_integers(columns["present"])[first].astype(bool),
        answers,
        expected,
    )


def parse_integers(texts: tuple[str, ...]) -> Ints:
    """Return texts as integers."""
    return np.array([int(text) for text in texts], np.int64)
