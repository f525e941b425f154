"""Open splits of image files: the ILSVRC validation files, flat or in synset folders, and class folders."""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import msgspec

from eyechart.data.dataset import Dataset
from eyechart.data.discovery import is_document, join_names
from eyechart.data.file_index import IndexEntry, build_dataset, read_class_names
from eyechart.data.imagenet import CLASSES, SYNSET, synset_classes, val_file, val_labels
from eyechart.data.images import SUFFIXES
from eyechart.data.index_cache import FileFacts, file_facts, hash_facts, load_or_build, real_path
from eyechart.errors import DataError


def open_folder(
    folder: Path,
    benchmark: str,
    split: str,
    *,
    classes: int | None = None,
    upright: bool = True,
    cache: Path | None = None,
) -> Dataset:
    """Open a folder of images; with `classes=1000` the classes are those of ImageNet, else those of the folders.

    Images outside class folders must be ILSVRC validation files, whose labels are known. Folders are synsets, numbers
    from 0, or classes in the order of their names. Validation files are sorted by name, other images by path. The notes
    of the data set list other files in class folders, which are not read. Raises DataError for an image without a label
    or that is no regular file, for a folder that is no class or cannot be listed, and as `build_dataset`.
    """
    folders, entries, notes = _read_index(folder, cache)
    own = read_class_names(folder)
    labels = _labels(folder, folders, own, classes)
    ordered = sorted((_with_label(folder, entry, labels) for entry in entries), key=attrgetter("key"))
    if labels is synset_classes():
        return replace(build_dataset(folder, benchmark, split, ordered, classes=CLASSES, upright=upright), notes=notes)
    names = () if classes else own or sorted(labels, key=labels.__getitem__)
    count = classes or len(names)
    dataset = build_dataset(folder, benchmark, split, ordered, classes=count, names=names, upright=upright)
    return replace(dataset, notes=notes)


def _read_index(folder: Path, cache: Path | None) -> tuple[list[str], Sequence[IndexEntry], tuple[str, ...]]:
    """Return the names of the class folders, the entries of all images, and the notes about other files."""
    top = _list(folder, root := os.path.realpath(folder))
    listed = [_list(entry, real_path(entry, root)) for entry in top.folders]

    def build() -> list[IndexEntry]:
        return _index(folder, [picture for listing in (top, *listed) for picture in listing.pictures])

    facts = [listing.facts for listing in (top, *listed)]
    entries = load_or_build(cache, facts, build, reader=f"folder {root}")
    return [entry.name for entry in top.folders], entries, _describe_ignored(folder, listed)


class _Listing(NamedTuple):
    """The visible entries of a folder, sorted by name: images (by extension) and their facts, folders, other files."""

    pictures: list[str]
    facts: str  # their hash, since the facts of a million files would take 200 MB
    folders: list[os.DirEntry[str]]
    others: list[str]


def _list(folder: Path | os.DirEntry[str], real_path: str) -> _Listing:
    pictures, facts, folders, others = list[str](), list[FileFacts](), list[os.DirEntry[str]](), list[str]()
    try:
        with os.scandir(folder) as entries:  # which knows what most entries are without asking for each
            visible = sorted((entry for entry in entries if entry.name[0] != "."), key=attrgetter("name"))
        for entry in visible:
            regular = entry.is_file(follow_symlinks=False)  # as most are; a link needs more questions
            if not regular and (Path(entry).is_dir() if entry.is_symlink() else entry.is_dir()):
                folders.append(entry)
            elif f".{entry.name.rpartition('.')[2]}".lower() in SUFFIXES:  # ten times faster than a Path
                if not regular:
                    _check_regular_file(entry)
                pictures.append(entry.path)
                facts.append(file_facts(entry, real_path))
            else:
                others.append(entry.path)
    except OSError as error:
        raise DataError(
            f"{Path(folder)} cannot be listed ({error.strerror}): allow this user to read and enter it, or move it "
            "away."
        ) from error
    return _Listing(pictures, hash_facts(facts), folders, others)


def _check_regular_file(picture: os.DirEntry[str]) -> None:
    """Raise DataError for a pipe, a device or a socket, which may block forever."""
    if not picture.is_file() and Path(picture).exists():
        raise DataError(f"{picture.path} is a pipe, a device or a socket, expected a file: remove it.")


def _describe_ignored(folder: Path, listed: Iterable[_Listing]) -> tuple[str, ...]:
    """Return a note about entries of class folders that are not evaluated, () if there are none."""
    paths = [path for listing in listed for path in (*(entry.path for entry in listing.folders), *listing.others)]
    ignored = [path for path in map(Path, paths) if not is_document(path.name)]
    if not ignored:
        return ()
    shown = join_names([path.relative_to(folder).as_posix() for path in ignored])
    verb, known = "is" if len(ignored) == 1 else "are", ", ".join(sorted(SUFFIXES))
    return (f"{shown} in class folders {verb} not evaluated: expected pictures that end in {known}, and no folders.",)


def _index(folder: Path, pictures: Sequence[str]) -> list[IndexEntry]:
    def entry(picture: str) -> IndexEntry:
        path = Path(picture)
        place = path.relative_to(folder).as_posix()
        return IndexEntry(place, path.name, sha256(_read_bytes(path)).hexdigest(), place)

    with ThreadPoolExecutor() as pool:
        return list(pool.map(entry, pictures))


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): copy it again, or remove it.") from error


def _labels(folder: Path, folders: Sequence[str], names: Sequence[str], classes: int | None) -> Mapping[str, int]:
    """Return the class of every folder."""
    unknown = [name for name in folders if name not in synset_classes()]
    numbers = {name: int(name) for name in folders if name.isdecimal()}
    if not unknown:
        return synset_classes()
    if len(numbers) == len(folders) and (classes or names or {*numbers.values()} == {*range(len(folders))}):
        return numbers
    if classes or (len(unknown) < len(folders) and all(map(SYNSET.fullmatch, folders))):
        raise DataError(
            f"{folder} has {len(unknown)} folders that are no ImageNet-1k synsets, the first {unknown[0]}; expected "
            "names such as n01440764: move the synset folders up, or the others away."
        )
    if names and len(names) != len(folders):
        raise DataError(
            f"{folder} has {len(folders)} class folders and {len(names)} lines in classnames.txt: give one line for "
            "every folder, in the order of their names, and an empty folder for a class without pictures."
        )
    return {name: place for place, name in enumerate(folders)}


def _with_label(folder: Path, entry: IndexEntry, labels: Mapping[str, int]) -> IndexEntry:
    above = entry.path.rpartition("/")[0]
    file = val_file(entry.file) if labels is synset_classes() else None
    if file is None and not above:
        raise DataError(
            f"{folder / entry.path} has no label: it lies in no class folder and is no ILSVRC validation file. "
            "Move it into the folder of its class."
        )
    if file is None:  # a third of the time of msgspec.structs.replace
        path = entry.key if entry.key == entry.path else entry.path  # one text instead of two
        return IndexEntry(entry.key, entry.file, entry.sha256, path, label=labels[above])
    label = labels[above] if above else val_labels()[file]
    if label != val_labels()[file]:
        raise DataError(
            f"{folder / entry.path} lies in the folder of class {label}, but {file} is of class {val_labels()[file]}: "
            "sort the validation files into their synsets again."
        )
    return msgspec.structs.replace(entry, key=file, file=file, label=label)
