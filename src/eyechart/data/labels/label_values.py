"""Read labels as users give them: whole numbers of any type, and lists of class indices or of 1 where a class holds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.dataset.columns import Columns
from eyechart.data.index.file_index import IndexEntry
from eyechart.errors import DataError


def is_missing(value: Any) -> bool:
    """Return whether a value stands for a missing one: None, NaN, NaT, pandas' NA, or a text without a sign.

    >>> is_missing(None), is_missing(float("nan")), is_missing(" "), is_missing(0)
    (True, True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not value.strip()
    try:
        return bool(value != value)
    except Exception:  # an array, a tensor or a value that is not compared
        return False


def plain_number(text: str) -> int:
    """Return the whole number that a text has in digits, without the underscores that Python reads. Raises ValueError.

    >>> plain_number(" 7")
    7
    """
    if "_" in text:
        raise ValueError(f"it has {text.strip()}")
    return int(text)


def whole_number(value: Any, where: str) -> int:
    """Return a label as an int: whole numbers of Python, NumPy, pandas and torch, also as floats.

    `where` names the label in errors. Raises DataError for a missing label, a fraction, a list and anything else.
    """
    if is_missing(value):
        raise DataError(f"{where} has no label ({value}): give it one, or leave it out.")
    if isinstance(value, bytes):
        raise DataError(f"{where} has the label {value!r}, which are bytes: decode it, and give a text or a number.")
    if isinstance(value, str):
        raise DataError(f"{where} has the label {value!r}, a text; expected a whole number, as the other labels are.")
    try:
        if getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M"):
            raise TypeError  # a date of NumPy, which is a number of nanoseconds
        plain = value.item() if hasattr(value, "item") and not isinstance(value, int | float) else value
        number = int(plain)
        equal = bool(plain == number)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise DataError(
            f"{where} has the label {_short(value)} of the type {type(value).__name__}; expected one whole number, or "
            "the name of a class."
        ) from None
    if not equal:
        raise DataError(f"{where} has the label {_short(value)}, which is no whole number: correct it.")
    return number


def _short(value: object, most: int = 60) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[:most]}…"


def read_lists(location: Path | str, entries: Sequence[IndexEntry], classes: int) -> Sequence[IndexEntry]:
    """Return the entries with lists of labels as class indices, also those that are multi-hot.

    A list that may be either is read as those of the split that may not. Raises DataError if they do not say.
    """
    hot = {True: False, False: False}  # whether there are lists that are certainly multi-hot, and certainly not
    doubtful = list[IndexEntry]()
    if Columns.of(IndexEntry, entries).different_values("labels") == [None]:
        return entries
    single = next((entry for entry in entries if entry.labels is None), None)
    several = next((entry for entry in entries if entry.labels is not None), None)
    if single and several:
        raise DataError(
            f"{location}: sample {single.key} has a label, and sample {several.key} a list of labels: "
            "write all as lists."
        )
    for entry in entries:
        if entry.labels is not None:
            if (kind := _is_multi_hot(entry, classes)) is None:
                doubtful.append(entry)
            else:
                hot[kind] = True
    if doubtful and hot[True] == hot[False]:
        first = doubtful[0]
        raise DataError(
            f"{location}: sample {first.location} has the labels {list(first.labels or ())} of {classes} "
            "classes: are they the numbers of its classes, or 1 for each class that holds? Write an array of the type "
            "bool, True for each class that holds."
        )
    return [_class_indices(location, entry, classes, otherwise=hot[True]) for entry in entries]


def _is_multi_hot(entry: IndexEntry, classes: int) -> bool | None:
    """Return whether a list of labels has 1 for each class that holds, None if it may also be class indices."""
    labels = entry.labels or ()
    if entry.multi_hot or len(labels) != classes or not {*labels} <= {0, 1}:
        return entry.multi_hot
    return True if len({*labels}) < len(labels) or max(labels) >= classes else None


def _class_indices(location: Path | str, entry: IndexEntry, classes: int, *, otherwise: bool) -> IndexEntry:
    """Return an entry with class indices; `otherwise` is whether a doubtful list is multi-hot."""
    if entry.labels is None:
        return entry
    kind = _is_multi_hot(entry, classes)
    if not (otherwise if kind is None else kind):
        return entry
    if len(entry.labels) != classes:
        raise DataError(
            f"{location}: sample {entry.key} has {len(entry.labels)} labels of the type bool, expected {classes}, "
            "one a class: correct the array or the class names."
        )
    return msgspec.structs.replace(
        entry, labels=tuple(label for label, holds in enumerate(entry.labels) if holds), multi_hot=False
    )
