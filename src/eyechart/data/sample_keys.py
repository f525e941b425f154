"""Which image of a split a line of a file is about: one way for labels, words, pairs and probabilities.

A key is a sample's key, or its file name where no other image has the same. A line about no image of the split is
refused, since a file of other data would otherwise pass for one with gaps; a column `split` says whose a line is.
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
    """A line of a csv, its cells by column, and its file and number as a sentence names them."""

    where: str
    cells: Mapping[str, str]

    @property
    def key(self) -> str:
        """Which image it is about."""
        return self.cells["key"]


def read_lines(
    path: Path, columns: Sequence[str], expected: str, split: str = "", *, either: Sequence[str] = ()
) -> Iterator[CsvLine]:
    """The lines of a csv; of a split, where there is a column that says so. One of `either` is needed too.

    Raises ModelError, with what was `expected`, where a column is missing or the file cannot be read.
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
    """Rows of the index by key, and by file name where only one has it."""
    files = Counter(row.file for row in dataset.index)
    by_file = {row.file: place for place, row in enumerate(dataset.index) if files[row.file] == 1}
    return by_file | {row.key: place for place, row in enumerate(dataset.index)}


def match_images(path: Path, dataset: Dataset, keys: Sequence[str], where: Sequence[str]) -> list[int]:
    """The row of the index that each key is about; `where` says where it stands.

    Raises ModelError for a key that is no image's, and for a file without any.
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
    """The place among the keys of each image's own, by its row of the index.

    Raises ModelError as `images`, and for an image that comes twice, by its key or by its file's name.
    """
    index_by_row: dict[int, int] = {}
    for place, row in enumerate(match_images(path, dataset, keys, where)):
        if index_by_row.setdefault(row, place) != place:
            raise ModelError(f"{where[place]}: the image {keys[place]} comes a second time. Keep one of its lines.")
    return index_by_row


def count_others(wrong: Sequence[object]) -> str:
    """How many there are besides the first."""
    return f", and {len(wrong) - 1:,} more like it" if len(wrong) > 1 else ""


class ClassMatcher:
    """Tells which class an answer names: by its index, else by its exact name, else none (-1)."""

    def __init__(self, names: Sequence[str], classes: int) -> None:
        self.names, self.classes = names, classes

    def __call__(self, answer: str) -> int:
        """The class of an answer, -1 for what names none."""
        text = answer.strip().casefold()
        if text.isascii() and text.isdecimal() and int(text) < self.classes:
            return int(text)
        return self.index.get(text, -1)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Classes by name; two equal names are refused, since an answer could mean either."""
        check_unique(self.names)
        return {name.strip().casefold(): place for place, name in enumerate(self.names[: self.classes])}
