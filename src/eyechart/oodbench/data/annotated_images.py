"""Shared by the readers of annotated data sets: read JSON, and build the data set."""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.file_index import IndexEntry, build_dataset
from eyechart.data.labels.class_names import check_unique
from eyechart.errors import DataError, VocabularyError
from eyechart.files.text_files import HEAD, describe_content, utf8_bytes
from eyechart.oodbench.data.annotation import Annotation

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


def read_json(path: Path, kind: type[T], what: str, repair: Callable[[Any], Any] | None = None) -> T:
    """Return the content of a JSON file as a typed struct; fields that the struct does not have are skipped.

    If it does not fit, `repair` returns plain content that may; NaN, which Python writes, is then read, too.
    """
    try:
        return _decode_json(path, kind, repair)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): copy it again from where it came from.") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        reason = str(error).rstrip(".")
        raise DataError(f"{path} is no file of {what} ({reason}): correct it, or copy it again.") from error


def _decode_json(path: Path, kind: type[T], repair: Callable[[Any], Any] | None) -> T:
    data = utf8_bytes(path.read_bytes())
    if why := describe_content(data[:HEAD]) if data else "":
        raise DataError(f"{path} {why}.")
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        if repair is None:
            raise
    return msgspec.convert(repair(json.loads(data)), kind)


def index_by_id(ids: Iterable[H], where: Path, what: str) -> dict[H, int]:
    """Return the index of every id; raises DataError for repeated ids."""
    indices: dict[H, int] = {}
    for index, identifier in enumerate(ids):
        if indices.setdefault(identifier, index) != index:
            raise DataError(f"{where} has two {what} with the id {identifier}: remove or renumber one of them.")
    return indices


def build_annotated_dataset(
    folder: Path,
    benchmark: str,
    split: str,
    entries: Sequence[IndexEntry],
    names: Sequence[str],
    annotation: Annotation,
    *,
    expected: int | None = None,
) -> Dataset:
    """Return the data set of annotated images, with one entry per row of the annotation and without label sets.

    Raises DataError for no pictures and for equal keys, VocabularyError for empty names and names equal but for case.
    """
    try:
        check_unique(names)
    except VocabularyError as error:
        raise VocabularyError(f"{folder}: {error}") from error
    whole = build_dataset(folder, benchmark, split, entries, classes=len(names), names=names, upright=False)
    provenance = f"labels: boxes of {len(names):,} categories in the annotation files; class names: their names"
    return replace(whole, label_sets={}, details=annotation, expected=expected, provenance=provenance)
