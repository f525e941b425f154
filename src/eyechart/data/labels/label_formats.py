"""Parsers of the published formats of ImageNet label files; an entry is (location, image name, labels).

A location is the number of a line, or a text. A label that means "not sure" is dropped. The labels of an entry are None
if the annotators left it open.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from io import StringIO
from typing import Annotated, Any

import msgspec

from eyechart.data.imagenet.classes import VAL_COUNT, synset_classes
from eyechart.data.labels.label_values import plain_number
from eyechart.data.tables import OTHER_SEPARATORS, is_blank
from eyechart.errors import DataError

MAX_LINE = 1_000_000
Labels = tuple[int, ...]
Location = int | str
_Entry = tuple[Location, str, Labels | None]
Reader = Callable[[str], Iterator[_Entry]]


def validation_file(number: int) -> str:
    """Return the name of the n-th ImageNet validation image, from 1.

    >>> validation_file(1)
    'ILSVRC2012_val_00000001.JPEG'
    """
    return f"ILSVRC2012_val_{number:08d}.JPEG"


def _parse_real(text: str) -> Iterator[_Entry]:
    """Parse ReaL's real.json: one list of labels per validation image, in their order."""
    entries = _decode(text, list[list[int]])
    if len(entries) != VAL_COUNT:
        raise DataError(f"it has {len(entries)} entries, expected {VAL_COUNT}, one for every validation image.")
    for number, labels in enumerate(entries, 1):
        yield f"entry {number}", validation_file(number), tuple(labels)


class _ReImageNet(msgspec.Struct):
    image_name: Annotated[str, msgspec.Meta(min_length=1)]
    reannotated_labels: list[int]


def _parse_reimagenet(text: str) -> Iterator[_Entry]:
    """Parse ReImageNet's reannotation.jsonl, where the label -1 is "not sure" and [] or [-1] is no class."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            row = _decode(line, _ReImageNet, f"line {number}: ")
            yield number, row.image_name, tuple(label for label in row.reannotated_labels if label != -1)


def _parse_kisel(text: str) -> Iterator[_Entry]:
    """Parse a csv of corrections: `proposed_labels` separated by commas, empty for no class."""
    yield from _table(text, "id", "proposed_labels")


def _parse_table(text: str) -> Iterator[_Entry]:
    """Parse a csv `file,labels`; labels are separated by spaces, semicolons or commas, empty for no class."""
    yield from _table(text, "file", "labels")


class _Annotations(msgspec.Struct):
    correct: list[str] = []
    unclear: list[str] = []


class _MultiLabel(msgspec.Struct):
    initial_annots: dict[str, _Annotations]
    problematic_images: dict[str, Any] | list[str] = {}
    imagenet_m: list[str] = []


def _parse_multilabel(text: str) -> Iterator[_Entry]:
    """Parse the correct labels of Shankar et al. (2020) and Vasudevan et al. (2022); problematic images are open."""
    content = _decode(text, _MultiLabel)
    for name, labels in content.initial_annots.items():
        where = f"entry '{name}'"
        yield where, name, None if name in content.problematic_images else _indices(where, labels.correct)


def _parse_imagenet_m(text: str) -> Iterator[_Entry]:
    """Parse ImageNet-M of Vasudevan et al. (2022): only its images; unclear labels count as correct."""
    content = _decode(text, _MultiLabel)
    for name in content.imagenet_m:
        if name not in content.initial_annots:
            raise DataError(f"its imagenet_m lists '{name}', which is not in initial_annots.")
        labels = content.initial_annots[name]
        yield f"entry '{name}'", name, _indices(f"entry '{name}'", [*labels.correct, *labels.unclear])


class _Expert(msgspec.Struct):
    label_type: str
    new_label: int | list[int] | None


def _parse_expert(text: str) -> Iterator[_Entry]:
    """Parse Kisel et al.'s expert labels of four weasel classes; `uncertain` images are open, null is no class."""
    for name, row in _decode(text, dict[str, _Expert]).items():
        labels = row.new_label if isinstance(row.new_label, list) else [row.new_label]
        known = tuple(label for label in labels if label is not None)
        yield f"entry '{name}'", name, None if row.label_type == "uncertain" else known


FORMATS: Mapping[str, Reader] = {
    "real": _parse_real,
    "reimagenet": _parse_reimagenet,
    "kisel": _parse_kisel,
    "multilabel": _parse_multilabel,
    "imagenet-m": _parse_imagenet_m,
    "expert": _parse_expert,
    "csv": _parse_table,
}
FORMAT_MARKERS = {"reannotated_labels": "reimagenet", "initial_annots": "multilabel", "new_label": "expert"}


def detect_format(text: str) -> str:
    """Return the format of a label file from its content."""
    if text.lstrip().startswith("["):
        return "real"
    if text.lstrip().startswith("{"):
        formats = [name for sign, name in FORMAT_MARKERS.items() if f'"{sign}"' in text]
    else:
        _check_lines(text)
        first = text.split("\n", 1)[0].replace('"', "")
        header = {*_column_names(first.split(","))}
        if sign := next(
            (sign for sign in OTHER_SEPARATORS if {"file", "labels"} <= {*_column_names(first.split(sign))}), ""
        ):
            raise DataError(
                f"it has {OTHER_SEPARATORS[sign]} between its columns, expected commas: save it with commas."
            )
        formats = ["kisel"] * ({"id", "proposed_labels"} <= header) or ["csv"] * ({"file", "labels"} <= header)
    if not formats:
        known = ", ".join(FORMATS)
        raise DataError(f"its format is not known. Expected one of {known}; csv begins with the line file,labels.")
    return formats[0]


def _check_lines(text: str) -> None:
    """Raise DataError for a line that is too long for a csv, before it is parsed."""
    lengths = [*map(len, text.split("\n"))]
    for number, length in enumerate(lengths, 1) if max(lengths) > MAX_LINE else ():
        if length > MAX_LINE:
            raise DataError(
                f"line {number} has {length:,} characters, expected at most {MAX_LINE:,}: "
                "save it as csv, an image a line."
            )


def _table(text: str, name: str, labels: str) -> Iterator[_Entry]:
    _check_lines(text)
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    header = _column_names(next(reader, []))
    if missing := {name, labels} - {*header}:
        raise DataError(f"it has no column {', '.join(sorted(missing))}; expected {name} and {labels}.")
    columns = {column: index for index, column in enumerate(header)}
    name_column, label_column, width, end = columns[name], columns[labels], len(header), reader.line_num
    try:
        for row in reader:
            if is_blank(row):
                continue
            if len(row) != width or not row[name_column]:
                raise DataError(f"line {reader.line_num}: {row} does not have the columns of the header.")
            end, cell = reader.line_num, row[label_column]
            try:
                valid = _class_indices(cell)
            except ValueError as error:
                raise DataError(f"line {end}: the labels '{cell}' are not class indices.") from error
            yield end, row[name_column], valid
    except csv.Error as error:
        raise DataError(f"after line {end}: {error}.") from error


def _column_names(cells: Sequence[str]) -> list[str]:
    return [cell.strip().casefold() for cell in cells]


@lru_cache(maxsize=2**14)  # a file has few different cells, and many rows
def _class_indices(labels: str) -> Labels:
    """Return the labels of a cell, which may be a list of Python, and whole floats, as pandas writes them."""
    plain = labels.strip().removeprefix("[").removesuffix("]").replace(",", " ").replace(";", " ")
    return tuple(plain_number(label.removesuffix(".0")) for label in plain.split())


def _indices(where: str, wnids: Sequence[str]) -> Labels:
    classes = synset_classes()
    unknown = [wnid for wnid in wnids if wnid not in classes]
    if unknown:
        raise DataError(f"{where}: '{unknown[0]}' is not a WordNet id of ImageNet-1k.")
    return tuple(classes[wnid] for wnid in wnids)


def _decode(text: str, shape: type[Any], where: str = "") -> Any:
    try:
        return msgspec.json.decode(text, type=shape)
    except msgspec.ValidationError as error:
        raise DataError(f"{where}{error}.") from error
    except msgspec.DecodeError as error:
        raise DataError(f"{where or _line(text)}it is not valid JSON ({error}).") from error


def _line(text: str) -> str:
    """Return the line of a syntax error, which msgspec reports as a byte offset."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: "
    return ""
