"""Shared by the readers of annotated data sets: read JSON, find and hash images, and build the data set."""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from unicodedata import normalize
from urllib.parse import unquote

import msgspec

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.detection.annotation import Annotation
from eyechart.data.index.file_index import IndexEntry, build_dataset
from eyechart.data.index.index_cache import load_or_build, read_facts
from eyechart.data.labels.class_names import check_unique
from eyechart.errors import DataError, VocabularyError
from eyechart.files.path_encoding import check_locale
from eyechart.files.text_files import HEAD, describe_content, utf8_bytes

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


def index_images(
    folder: Path, pictures: Sequence[str], *, named_by: Path, remedy: str, cache: Path | None = None
) -> tuple[IndexEntry, ...]:
    """Return one entry per image, in the given order: keys are paths without suffix, and entries have no label.

    `pictures` are paths below the folder as the file `named_by` gives them. Pictures are hashed once, then kept in the
    cache. Raises DataError for pictures outside the folder, and for missing ones with their number and the remedy.
    """
    pictures = [find_picture(folder, path) for path in pictures]
    outside = [path for path in pictures if not is_below(path)]
    if outside:
        raise DataError(f"{named_by} names the picture '{outside[0]}', which is no file below {folder}: correct it.")
    missing = [path for path in pictures if not (folder / path).is_file()]
    if missing:
        raise DataError(
            f"{len(missing):,} of the {len(pictures):,} pictures that {named_by} names are not there, the first "
            f"{folder / missing[0]}: {remedy}"
        )
    files = read_facts(folder / path for path in pictures)
    return tuple(
        load_or_build(cache, files, lambda: _hash_images(folder, pictures), reader=f"annotated {folder.resolve()}")
    )


def find_picture(folder: Path, path: str) -> str:
    """Return the path of a picture below a folder, which may be written with other separators, quotes or accents.

    >>> find_picture(Path("gone"), "val2017/.\\\\cat\\\\1.jpg")
    'val2017/cat/1.jpg'
    """
    check_locale(path)
    if is_below(path) and (folder / path).is_file():
        return path
    plain = plain_path(path)
    for other in (plain, normalize("NFC", plain), normalize("NFD", plain), unquote(plain)):
        if is_below(other) and (folder / other).is_file():
            return other
    return plain if plain != "." and "\\" in path else path


def plain_path(path: str) -> str:
    """Return a path with the separators of POSIX, and without quotes and spaces around it.

    >>> plain_path(' "a/1.jpg" ')
    'a/1.jpg'
    """
    return PurePosixPath(path.strip().strip("\"'").replace("\\", "/")).as_posix()


def is_below(path: str) -> bool:
    """Return whether a path is relative and does not leave its folder."""
    parts = PurePosixPath(path).parts
    return bool(parts) and ".." not in parts and not path.startswith("/")


def _hash_images(folder: Path, pictures: Sequence[str]) -> list[IndexEntry]:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda path: _entry(folder, path), pictures))


def _entry(folder: Path, path: str) -> IndexEntry:
    name = PurePosixPath(path)
    try:
        digest = sha256((folder / path).read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"{folder / path} cannot be read ({error.strerror}): copy it again.") from error
    return IndexEntry(name.with_suffix("").as_posix(), name.name, digest, name.as_posix(), labels=())


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
