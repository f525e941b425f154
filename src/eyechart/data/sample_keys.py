"""Match the rows of a csv to the images of a split, for labels, responses, pairs and probabilities.

A key is the key of a sample, or its file name if that is unique. A row that matches no image of the split is an error,
since a file of another data set would otherwise look like an incomplete one. A column `split` selects rows.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from eyechart.data.class_names import check_unique
from eyechart.data.dataset import Dataset
from eyechart.errors import ModelError


class CsvLine(NamedTuple):
    """A row of a csv: its cells by column, and its location for messages."""

    where: str
    cells: Mapping[str, str]

    @property
    def key(self) -> str:
        """The key of the image."""
        return self.cells["key"]


def read_lines(
    path: Path, columns: Sequence[str], expected: str, split: str = "", *, either: Sequence[str] = ()
) -> Iterator[CsvLine]:
    """Yield the rows of a csv, of one split if there is a column `split`. One of the columns `either` is required too.

    Raises ModelError, with the sentence `expected`, if a column is missing or the file cannot be read.
    """
    end = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            header = reader.fieldnames or ()
            if not {*columns} <= {*header} or (either and {*either}.isdisjoint(header)):
                raise ModelError(f"{path} has the columns {', '.join(header) or 'none'}. {expected}")
            end = reader.line_num
            for row in reader:
                cells = {name: row[name] or "" for name in header}
                if not split or (cells.get("split") or split) == split:
                    yield CsvLine(f"{path}, line {reader.line_num}", cells)
                end = reader.line_num
    except csv.Error as error:
        raise ModelError(
            f"{path}, line {end + 1}: the row that begins there is no csv ({error}): close its quotes, and double "
            "those within a cell."
        ) from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({error}). {expected}") from error


def index_by_key(dataset: Dataset) -> dict[str, int]:
    """Return the rows of the index by key, and by unique file name."""
    files = Counter(row.file for row in dataset.index)
    by_file = {row.file: place for place, row in enumerate(dataset.index) if files[row.file] == 1}
    return by_file | {row.key: place for place, row in enumerate(dataset.index)}


def match_images(path: Path, dataset: Dataset, keys: Sequence[str], where: Sequence[str]) -> list[int]:
    """Return the row of the index of each key; `where` are the locations of the keys for messages.

    Raises ModelError for an unknown key and for a file without keys.
    """
    known, name = index_by_key(dataset), f"{dataset.benchmark}/{dataset.split}"
    unknown = [place for place, key in enumerate(keys) if key not in known]
    if unknown:
        raise ModelError(
            f"{where[unknown[0]]}: {name} has no image '{keys[unknown[0]]}'{count_others(unknown)}. Its first is "
            f"'{dataset.index[0].key}'. Leave out what is about other images, say the split of each line in a column "
            "split, or give the data by --eye-data."
        )
    if not keys:
        raise ModelError(
            f"{path} has no answer about an image of {name}. Give a file with lines about it; a column split, if "
            f"there is one, says {dataset.split}."
        )
    return [known[key] for key in keys]


def match_unique_images(path: Path, dataset: Dataset, keys: Sequence[str], where: Sequence[str]) -> dict[int, int]:
    """Return the index of each image's key among the keys, by row of the data set's index.

    Raises ModelError as `match_images`, and for an image that occurs twice, by key or file name.
    """
    index_by_row: dict[int, int] = {}
    for place, row in enumerate(match_images(path, dataset, keys, where)):
        if index_by_row.setdefault(row, place) != place:
            raise ModelError(f"{where[place]}: the image {keys[place]} comes a second time. Keep one of its lines.")
    return index_by_row


def count_others(wrong: Sequence[object]) -> str:
    """Return a clause with the number of items after the first, "" if there are none."""
    return f", and {len(wrong) - 1:,} more like it" if len(wrong) > 1 else ""


class ClassMatcher:
    """Matches an answer to a class by its index or its exact name."""

    def __init__(self, names: Sequence[str], classes: int) -> None:
        self.names, self.classes = names, classes

    def __call__(self, answer: str) -> int:
        """Return the class of an answer, -1 if it names none."""
        text = answer.strip().casefold()
        if text.isascii() and text.isdecimal() and int(text) < self.classes:
            return int(text)
        return self.index.get(text, -1)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Classes by name; raises VocabularyError for two equal names, which would be ambiguous."""
        check_unique(self.names)
        return {name.strip().casefold(): place for place, name in enumerate(self.names[: self.classes])}
