"""Match the rows of a csv to the images of a split, for labels, responses, pairs and probabilities.

A key is the key of a sample, or its file name if that is unique. A row that matches no image of the split is an error,
since a file of another data set would otherwise look like an incomplete one. A column `split` selects rows.
"""

import csv
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from operator import eq
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.image_files import plain_path
from eyechart.data.labels.class_names import check_unique
from eyechart.data.names import composed, fold_name
from eyechart.data.tables import OTHER_SEPARATORS, is_blank
from eyechart.errors import ModelError, VocabularyError
from eyechart.files.text_files import open_text, read_text

NONE = -1  # the row of an unknown key, the line of an image without one, the class of an answer that names none
ANSWERS = 2**16  # whose classes are kept
Ints = NDArray[np.int64]
FindClass = Callable[[str], int]


class CsvLine(NamedTuple):
    """A row of a csv: the path of the file, the number of its last line, and its cells by column."""

    path: Path
    number: int
    cells: Mapping[str, str]

    @property
    def where(self) -> str:
        """The location of the row, for messages."""
        return location(self.path, self.number)

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
        with open_text(path, ModelError) as file:
            reader = csv.reader(file, strict=True)
            header = [*map(str.strip, next(reader, []))]
            header = header if {*columns} <= {*header} else [*map(str.lower, header)]
            if header and header[0].lstrip().startswith(("{", "[")):
                raise ModelError(f"{path} is JSON. {expected}")
            if repeated := [name for name, count in Counter(filter(None, header)).items() if count > 1]:
                raise ModelError(f"{path} has two columns '{repeated[0]}': rename or remove one.")
            if not {*columns} <= {*header} or (either and {*either}.isdisjoint(header)):
                signs = [name for sign, name in OTHER_SEPARATORS.items() if len(header) == 1 and sign in header[0]]
                listed = f"the columns {', '.join(header) or 'none'}"
                what = f"{signs[0]} between its columns, and no commas" if signs else listed
                raise ModelError(f"{path} has {what}. {expected}")
            end = reader.line_num
            for row in reader:
                if is_blank(row):
                    continue
                if any(row[len(header) :]):
                    raise ModelError(
                        f"{location(path, reader.line_num)} has {len(row)} cells, expected {len(header)}, as the "
                        "header: put cells with commas into quotes."
                    )
                row += [""] * (len(header) - len(row))
                cells = dict(zip(header, row, strict=False))
                if not split or (cells.get("split") or split) == split:
                    yield CsvLine(path, reader.line_num, cells)
                end = reader.line_num
    except csv.Error as error:
        raise ModelError(
            f"{path}, line {end + 1}: the row that begins there is no csv ({error}): close its quotes, and double "
            "those within a cell."
        ) from error
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError) and path.suffix.lower() != ".gz":
            read_text(path, ModelError)  # which names the line
        raise ModelError(f"{path} cannot be read ({error}). {expected}") from error


def location(path: Path, number: int) -> str:
    """Return the location of a line of a file, for messages."""
    return f"{path}, line {number}"


def find_rows(dataset: Dataset, keys: Sequence[str]) -> Ints:
    """Return the row of the index of each key (n,), -1 for an unknown one; a file name that one image has is a key."""
    index = dataset.index
    if len(keys) == len(index) and all(map(eq, keys, dataset.columns.values("key"))):
        return np.arange(len(index))  # without a dict of all keys
    by_key = {key: position for position, key in enumerate(dataset.columns.values("key"))}
    rows = np.fromiter((by_key.get(key, NONE) for key in keys), np.int64, len(keys))
    if len(others := np.flatnonzero(rows == NONE)):
        files = Counter(dataset.columns.values("file"))
        by_file = {file: position for position, file in enumerate(dataset.columns.values("file")) if files[file] == 1}
        spellings = composed((*by_key, *by_file))
        names = [_spelled(keys[position], spellings) for position in others.tolist()]
        rows[others] = [by_key.get(name, by_file.get(name, NONE)) for name in names]
    return rows


def _spelled(key: str, spellings: Mapping[str, str]) -> str:
    """Return the key of an image that is written in another Unicode form, or as a path of Windows or a shell."""
    form = normalize("NFC", key)
    return spellings.get(form, spellings.get(plain_path(form), key))


def match_images(path: Path, dataset: Dataset, keys: Sequence[str], where: Callable[[int], str]) -> Ints:
    """Return the row of the index of each key (n,); `where` returns the location of a key for messages.

    Raises ModelError for an unknown key and for a file without keys.
    """
    rows, name = find_rows(dataset, keys), f"{dataset.benchmark}/{dataset.split}"
    if unknown := np.flatnonzero(rows == NONE).tolist():
        raise ModelError(
            f"{where(unknown[0])}: {name} has no image '{keys[unknown[0]]}'{count_others(unknown)}. Its first is "
            f"'{dataset.index[0].key}'. Leave out what is about other images, say the split of each line in a column "
            "split, or give the data by --eye-data."
        )
    if not keys:
        raise ModelError(
            f"{path} has no answer about an image of {name}. Give a file with lines about it; a column split, if "
            f"there is one, says {dataset.split}."
        )
    return rows


def match_unique_images(path: Path, dataset: Dataset, keys: Sequence[str], where: Callable[[int], str]) -> Ints:
    """Return the index of each image of the data set's index among the keys (m,), -1 for an image without a key.

    Raises ModelError as `match_images`, and for an image that occurs twice, by key or file name.
    """
    rows = match_images(path, dataset, keys, where)
    indices, order = np.full(len(dataset.index), NONE), np.arange(len(rows))
    indices[rows[::-1]] = order[::-1]  # the first of equal ones is assigned last
    if len(repeated := np.flatnonzero(indices[rows] != order)):
        index = int(repeated[0])
        raise ModelError(f"{where(index)}: the image {keys[index]} comes a second time. Keep one of its lines.")
    return indices


def count_others(wrong: Sequence[object]) -> str:
    """Return a clause with the number of items after the first, "" if there are none."""
    return f", and {len(wrong) - 1:,} more like it" if len(wrong) > 1 else ""


def names_as_numbers(names: Sequence[str]) -> dict[str, int]:
    """Return the class of each name that is the index of another class.

    >>> names_as_numbers(["0", "2", "cat"]), names_as_numbers(["0", "1"])
    ({'2': 1}, {})
    """
    return {name: index for index, name in enumerate(names) if name.isdecimal() and int(name) != index}


def class_finder(names: Sequence[str], classes: int, answers: Collection[str] = ()) -> FindClass:
    """Return a function from an answer to its class, by index or name, -1 if it names none.

    Case, underscores and the Unicode form of a name do not matter, nor does ".0" after an index.

    If two names are equal, the function raises VocabularyError for an answer that is no index, because a name could
    mean two classes. So it does for an index that is the name of another class, unless all `answers` that are numbers
    are names, or all are indices.
    """
    given = {text for text in map(str.strip, answers) if text.isascii() and text.isdecimal()}
    are_names, are_indices = given <= {*names}, all(int(text) < classes for text in given)
    numbers = {} if are_indices and not are_names else names_as_numbers(names[:classes])
    are_clearly_names = are_names and not are_indices

    @cache
    def index() -> Mapping[str, int]:
        check_unique(names)
        known = {name.strip().casefold(): position for position, name in enumerate(names[:classes])}
        forms = Counter(map(fold_name, names[:classes]))
        others = {
            form: position for position, name in enumerate(names[:classes]) if forms[form := fold_name(name)] == 1
        }
        return {**others, **known}

    @lru_cache(maxsize=ANSWERS)
    def find(answer: str) -> int:
        text = answer.strip().casefold()
        text = text[:-2] if text.endswith(".0") and text[:-2].isdecimal() and text not in index() else text
        if text.isascii() and text.isdecimal() and int(text) < classes:
            if text in numbers and not are_clearly_names:
                raise VocabularyError(
                    f"The answer '{text}' is the name of class {numbers[text]} and the index of another class. Give "
                    "the classes names that are no numbers, in classnames.txt."
                )
            return numbers.get(text, int(text))
        known = index()
        return known[text] if text in known else known.get(fold_name(answer), NONE)

    return find
