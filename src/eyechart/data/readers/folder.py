"""Open splits of image files: the ILSVRC validation files, flat or in synset folders, and class folders."""

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from eyechart.data.dataset.columns import CHUNK, Columns
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.discovery import is_document, join_names
from eyechart.data.imagenet.classes import synset_classes, val_file, val_labels
from eyechart.data.images import SUFFIXES
from eyechart.data.index.file_index import IndexEntry, build_dataset, read_class_names
from eyechart.data.index.index_cache import FileFacts, file_facts, load_or_build, real_path
from eyechart.data.labels.class_folders import read_class_folders
from eyechart.data.labels.foreign_labels import LABEL_SUFFIXES, describe_label_files
from eyechart.data.names import check_encoding, is_system
from eyechart.data.side_files import check_link
from eyechart.data.splits.validation import check_validation_labels
from eyechart.errors import DataError
from eyechart.files.path_encoding import check_locale, printable

LOOKED_AT = 1000  # folders in which others' content is looked for
TABLES = (".parquet", ".arrow", ".tar")


def open_folder(
    folder: Path,
    benchmark: str,
    split: str,
    *,
    classes: int | None = None,
    upright: bool = True,
    cache: Path | None = None,
) -> Dataset:
    """Open a folder of images; with `classes=1000` the classes are ImageNet's, else the folders'.

    Images outside class folders must be ILSVRC validation files, whose labels are known. Folders are synsets, numbers
    from 0, or classes in the order of their names. Validation files are sorted by name, other images by path. The notes
    of the data set list other files in class folders, which are not read. Raises DataError for an image without a label
    or that is no regular file, for a folder that is no class or cannot be listed, and as `build_dataset`.
    """
    folders, flat, entries, notes = _read_index(folder, cache)
    classed = read_class_folders(folder, folders, read_class_names(folder), classes, flat=flat)
    if not len(entries):
        _refuse_other_content(folder, notes)
    entries = _with_labels(folder, entries, classed.labels)
    files = "labels: those of ILSVRC's validation files, by their names; class names: those of ImageNet"
    dataset = build_dataset(
        folder,
        benchmark,
        split,
        entries,
        classes=classed.count,
        names=classed.names,
        upright=upright,
        provenance=files if flat else classed.provenance,
    )
    check_validation_labels(dataset, folder, all_equal=True)
    return replace(dataset, notes=(*classed.notes, *dataset.notes, *notes))


def _read_index(folder: Path, cache: Path | None) -> tuple[list[str], bool, Columns[IndexEntry], tuple[str, ...]]:
    """Return the names of the class folders, the entries of all images, and the notes about other files.

    Folders without pictures beside ILSVRC validation files are no classes, and the second value is whether there are
    such files.
    """
    top = _list(folder, root := os.path.realpath(folder))
    for path in map(Path, top.others):  # which may be a link to the folder of a class
        if path.suffix.lower() not in LABEL_SUFFIXES:
            check_link(path)
    listed = [_list(path, real_path(path, root)) for path in top.folders]
    flat = bool(top.pictures) and all(val_file(name) is not None for name in top.names())
    empty = [path.name for path, listing in zip(top.folders, listed, strict=True) if not listing.pictures]
    strays = [name for name in empty if name not in synset_classes()] if flat else []

    pairs = [(folder, top), *zip(top.folders, listed, strict=True)]

    def build() -> Columns[IndexEntry]:
        return _index(folder, (f"{path}{os.sep}{name}" for path, of in pairs for name in of.names()))

    facts = [listing.facts for listing in (top, *listed)]
    entries = load_or_build(cache, facts, build, reader=f"folder {root}")
    folders = [path.name for path in top.folders if path.name not in strays]
    stray_note = (f"{join_names(strays)} beside the pictures has none and is not read.",) if strays else ()
    return folders, flat, entries, (*stray_note, *_describe_ignored(folder, listed))


def _refuse_other_content(folder: Path, notes: Iterable[str]) -> None:
    """Raise DataError for a folder without pictures that has others deeper, or other files in class folders."""
    for deeper, names, files in islice(os.walk(folder), LOOKED_AT):
        names[:] = sorted(name for name in names if not is_system(name))
        where = Path(deeper).relative_to(folder)
        found = [name for name in files if Path(name).suffix.lower() in (*SUFFIXES, *TABLES) and not is_system(name)]
        if found and (len(where.parts) > 1 or any(Path(name).suffix.lower() in TABLES for name in found)):
            deepest = printable(str(where / min(found)))
            raise DataError(
                f"{folder} has no pictures in its folders, but deeper, such as {deepest}: expected a folder of "
                "pictures for each class, or tables in the folder of the split. Move them up, or give a folder "
                "below as the split."
            )
    if notes := [*notes]:
        raise DataError(f"{folder} holds no images: {notes[-1]}")


class _Listing(NamedTuple):
    """The visible entries of a folder, sorted by name: images (by extension) and their facts, folders, other files."""

    pictures: str  # their names, a slash after each, since a million texts would take 100 MB
    facts: str  # their hash, since the facts of a million files would take 200 MB
    folders: list[Path]
    others: list[str]

    def names(self) -> list[str]:
        return self.pictures.split("/")[:-1]


def _list(folder: Path, real_path: str) -> _Listing:
    pictures, numbers, links, folders, others = list[str](), array("q"), list[FileFacts](), list[Path](), list[str]()
    check_locale(real_path)
    try:
        with _opened(folder) as descriptor, os.scandir(descriptor) as entries:  # knows most kinds without asking
            visible = sorted((entry for entry in entries if not is_system(entry.name)), key=attrgetter("name"))
            for entry in visible:
                if not entry.name.isascii():
                    check_encoding(str(folder / entry.name))
                regular = entry.is_file(follow_symlinks=False)  # as most are; a link needs more questions
                if not regular and (path := folder / entry.name).is_dir():
                    folders.append(path)
                elif f".{entry.name.rpartition('.')[2]}".lower() in SUFFIXES:  # ten times faster than a Path
                    pictures.append(f"{entry.name}/")
                    if regular:
                        state = entry.stat()
                        numbers.extend((state.st_size, state.st_mtime_ns, state.st_ctime_ns))
                    else:
                        check_link(path)
                        _check_regular_file(path)
                        links.append(file_facts(path, real_path))
                else:
                    others.append(str(folder / entry.name))
    except OSError as error:
        raise DataError(
            f"{folder} cannot be listed ({error.strerror}): allow this user to read and enter it, or move it away."
        ) from error
    names = "".join(pictures)
    facts = sha256(msgspec.json.encode((real_path, names, links)) + numbers.tobytes())
    return _Listing(names, facts.hexdigest(), folders, others)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Yield a descriptor of a folder, beside which the system finds files faster than by their paths."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check_regular_file(picture: Path) -> None:
    """Raise DataError for a pipe, a device or a socket, which may block forever."""
    if not picture.is_file() and picture.exists():
        raise DataError(f"{picture} is a pipe, a device or a socket, expected a file: remove it.")


def _describe_ignored(folder: Path, listed: Iterable[_Listing]) -> tuple[str, ...]:
    """Return a note about entries of class folders that are not evaluated, () if there are none."""
    paths = [path for listing in listed for path in (*listing.folders, *map(Path, listing.others))]
    ignored = [path for path in paths if not is_document(path.name)]
    if not ignored:
        return ()
    shown = join_names([path.relative_to(folder).as_posix() for path in ignored])
    verb, known = "is" if len(ignored) == 1 else "are", ", ".join(sorted(SUFFIXES))
    return (f"{shown} in class folders {verb} not evaluated: expected pictures that end in {known}, and no folders.",)


def _index(folder: Path, pictures: Iterator[str]) -> Columns[IndexEntry]:
    def entry(picture: str) -> IndexEntry:
        path = Path(picture)
        location = path.relative_to(folder).as_posix()
        return IndexEntry(location, path.name, sha256(_read_bytes(path)).hexdigest(), "")

    with ThreadPoolExecutor() as pool:  # which keeps a kilobyte for each picture of a call
        parts = iter(lambda: [*islice(pictures, CHUNK)], [])
        return Columns.join(IndexEntry, (Columns.of(IndexEntry, pool.map(entry, part)) for part in parts))


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): copy it again, or remove it.") from error


def _with_labels(folder: Path, entries: Columns[IndexEntry], labels: Mapping[str, int]) -> Columns[IndexEntry]:
    """Return the entries with their labels and paths, which are their keys in the cache, sorted by key."""
    paths, synsets = entries.arrays["key"], labels is synset_classes()
    keys, classes = paths, array("q")
    for row, (path, file) in enumerate(zip(entries.values("key"), entries.values("file"), strict=True)):
        name, above = val_file(file) if synsets else None, path.rpartition("/")[0]
        classes.append(labels[above] if name is None and above else _label(folder, path, name, labels))
        if name is not None:
            keys = paths.copy() if keys is paths else keys
            keys[row] = name
    files = entries.arrays["file"] if keys is paths else np.where(keys == paths, entries.arrays["file"], keys)
    numbers = np.frombuffer(classes, np.int64)
    labelled = entries.replace(key=keys, file=files, path=paths, label=numbers)
    return labelled if (keys[:-1] <= keys[1:]).all() else labelled.take(np.argsort(keys, kind="stable"))


def _label(folder: Path, path: str, file: str | None, labels: Mapping[str, int]) -> int:
    """Return the label of an ILSVRC validation file, whose name there is `file`, None for a picture without a label."""
    above = path.rpartition("/")[0]
    if file is None:
        beside = describe_label_files([folder, folder / "annotations", folder.parent])
        raise DataError(
            f"{folder / path} has no label: it lies in no class folder and is no ILSVRC validation file. "
            f"Move it into the folder of its class.{beside}"
        )
    label = labels[above] if above else val_labels()[file]
    if label != val_labels()[file]:
        raise DataError(
            f"{folder / path} lies in the folder of class {label}, but {file} is of class {val_labels()[file]}: "
            "sort the validation files into their synsets again."
        )
    return label
