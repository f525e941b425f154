"""Read lists of labels, which are the numbers of classes, or 1 for each class that holds and 0 for the others."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from eyechart.data.index.file_index import IndexEntry
from eyechart.errors import DataError


def read_lists(location: Path | str, entries: Sequence[IndexEntry], classes: int) -> list[IndexEntry]:
    """Return the entries with lists of labels as class indices, also those that are multi-hot.

    A list that may be either is read as those of the split that may not. Raises DataError if they do not say.
    """
    hot = {True: False, False: False}  # whether there are lists that are certainly multi-hot, and certainly not
    doubtful = list[IndexEntry]()
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
