"""Equivalent classes: the 12 published pairs, or those of a user's file.

Source of the 12: arXiv 2603.06578, whose Figures 10 and 11 list the pairs treated as equal.
"""

from collections.abc import Iterator, Mapping, Sequence
from csv import reader
from dataclasses import dataclass
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.imagenet.classes import CLASSES
from eyechart.data.labels.label_values import plain_number
from eyechart.data.tables import is_blank
from eyechart.errors import DataError
from eyechart.files.text_files import plain_text

PACKAGED = Path(__file__).with_name("equivalences.csv")
COLUMNS = ("a", "b")
GROUPS = ("eq_classes", "equivalent_classes")
Pair = tuple[int, int]


@dataclass(frozen=True)
class LabelPolicy:
    """How labels are compared: equivalent pairs, whether they are transitive, and how images are categorised.

    With `strict_pairs` pairs are not transitive; else a = b and b = c imply a = c. With `strict_categories` the
    original label itself must be among the labels; else an equivalent class suffices. `source` names the pairs in the
    record.
    """

    pairs: Sequence[Pair] = ()
    strict_pairs: bool = False
    strict_categories: bool = False
    source: str = "none"


def equivalent_pairs(name_or_path: str = "12", classes: int = CLASSES) -> tuple[Pair, ...]:
    """Return the pairs of equivalent classes: the published `12`, `none`, or those of a file.

    A file is a csv with the columns `a` and `b`, or a json with groups of classes under `eq_classes` or
    `equivalent_classes`, as ReImageNet's class_update_config.json; all classes of a group are equivalent.
    """
    if name_or_path == "none":
        return ()
    path = PACKAGED if name_or_path == "12" else Path(name_or_path)
    if not path.is_file():
        raise DataError(f"The equivalences '{name_or_path}' are neither '12' nor 'none' nor a csv or json file.")
    read = _from_groups if path.suffix == ".json" else _from_table
    return tuple(_check_pair(pair, f"{path}, {location}", classes) for location, pair in read(path))


def _from_table(path: Path) -> Iterator[tuple[str, Pair]]:
    lines = reader(StringIO(_text(path), newline=""))
    header = [cell.strip().casefold() for cell in next(lines, [])]
    if not {*COLUMNS} <= {*header}:
        raise DataError(
            f"{path} begins with {','.join(header) or 'nothing'}, expected the line a,b and commas: add it."
        )
    columns = [*map(header.index, COLUMNS)]
    for row in lines:
        if is_blank(row):
            continue
        try:
            first, second = (plain_number(row[column]) for column in columns)
        except (IndexError, ValueError) as error:
            raise DataError(
                f"{path}, line {lines.line_num} is not a pair of classes. Give two indices in the columns a and b."
            ) from error
        yield f"line {lines.line_num}", (first, second)


def _from_groups(path: Path) -> Iterator[tuple[str, Pair]]:
    for name, group in _groups(path).items():
        for pair in combinations(group, 2):
            yield f"group '{name}'", pair


def _groups(path: Path) -> Mapping[str, list[int]]:
    try:
        config = msgspec.json.decode(_text(path), type=dict[str, Any])
        groups = next((config[key] for key in GROUPS if key in config), None)
        return msgspec.convert(groups, dict[str, list[int]])
    except msgspec.DecodeError as error:
        raise DataError(
            f'{path} has no groups of classes ({error}). Give {{"eq_classes": {{"name": [0, 1]}}}}.'
        ) from error


def _text(path: Path) -> str:
    try:
        return plain_text(path)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 at byte {error.start}. Save it as UTF-8 text.") from error


def _check_pair(pair: Pair, location: str, classes: int) -> Pair:
    if pair[0] == pair[1]:
        raise DataError(f"{location} pairs class {pair[0]} with itself. Give two different classes.")
    for label in pair:
        if not 0 <= label < classes:
            raise DataError(f"{location} has the class {label}, expected 0 to {classes - 1}.")
    return pair
