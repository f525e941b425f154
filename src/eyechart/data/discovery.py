"""Find the splits under a data root, report ignored files, and detect a root that is a level too deep or too high."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path

from eyechart.data.imagenet.classes import SYNSET, VAL_FILE
from eyechart.data.images import SUFFIXES
from eyechart.data.labels.foreign_labels import SPLIT_NAMES
from eyechart.data.names import check_encoding, is_system
from eyechart.data.splits.registry import FolderSource, SplitRef, folder_sources
from eyechart.errors import DataError
from eyechart.files.folders import expand_home
from eyechart.messages.plurals import count_of

AUXILIARY_FILES = (
    "classnames.txt",
    "zeroshot_classification_templates.txt",
    "dataset_type.txt",
    "equivalences.csv",
    "dataset_dict.json",
    "slices.csv",
    "slices.parquet",
)  # files beside splits or classes that readers use
SLICES = ("slices.csv", "slices.parquet")
KNOWN_LAYOUTS = (
    "nshards.txt with 0.tar and so on",
    "pictures in a folder a class",
    "ILSVRC validation files",
    "parquet files",
    "what `datasets` writes with save_to_disk",
)
CLASS_FOLDERS = "class folders are the labels; others come with --eye-labels=NAME=FILE"
SPLIT_LIKE = re.compile(r"(?i)val|train|test|dev|eval|ilsvrc|imagenet|images|img")  # for ILSVRC validation files
DOCUMENTS = ("readme", "license", "licence", "copying", "citation", "checksums")
EXPECTED = "ROOT/<benchmark>/<split>"
EXAMPLES = 3  # names in a list of names
MAX_LISTED = 8  # splits and remarks in a line, and folders inspected to recognise their parent
MAX_ENTRIES = 50  # entries of a folder inspected to recognise it as a class folder


@dataclass(frozen=True)
class Survey:
    """The splits under a data root, and the ignored files and folders as pairs of path and reason."""

    splits: tuple[SplitRef, ...]
    ignored: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        names = list(map(str, self.splits))
        more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
        summary = f"{count_of(len(names), 'split')} found"
        text = f"{summary} ({', '.join(names[:MAX_LISTED])}{more})" if names else f"no split found, expected {EXPECTED}"
        left = [f"{location} ({reason})" for location, reason in self.ignored]
        more = f"; and {len(left) - MAX_LISTED} more" if len(left) > MAX_LISTED else ""
        return f"{text}; ignored: {'; '.join(left[:MAX_LISTED])}{more}" if left else text


@dataclass
class _FolderListing:
    """The visible folders and files of a folder, sorted by name; `error` says why it cannot be listed."""

    path: Path
    folders: list[Path] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    error: str = ""

    @property
    def suffixes(self) -> set[str]:
        """The files' extensions in lower case."""
        return {Path(name).suffix.lower() for name in self.files}

    @property
    def first_image(self) -> str:
        """The first file with the extension of an image, "" if there is none."""
        return next((name for name in self.files if Path(name).suffix.lower() in SUFFIXES), "")


def _list_folder(path: Path, most: int | None = None) -> _FolderListing:
    """Return the visible entries of a folder, sorted by name, or those among its first `most` entries."""
    listing = _FolderListing(path)
    try:
        with os.scandir(path) as entries:
            for entry in islice(entries, most):
                if is_system(entry.name):
                    continue
                if not entry.name.isascii():
                    check_encoding(entry.path)
                if _is_folder(entry):
                    listing.folders.append(path / entry.name)
                else:
                    listing.files.append(entry.name)
    except OSError as error:
        listing.error = error.strerror or str(error)
    listing.folders.sort()
    listing.files.sort()
    return listing


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder, which a link to itself is not."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _detect_layout(listing: _FolderListing) -> str:
    """Return the layout of the folder of a split, "none" if it is unknown."""
    suffixes = listing.suffixes
    if "nshards.txt" in listing.files or ".tar" in suffixes:
        return "shards"
    if "state.json" in listing.files or "dataset_dict.json" in listing.files:
        return "disk"
    if any(map(_is_table, listing.files)) or any(_is_table(path.name) for path in (listing.path / "data").glob("*")):
        return "hub"
    return "folder" if listing.first_image or listing.folders else "none"


def picture_folders(folder: Path) -> list[str]:
    """Return the folders with pictures in a folder that has shards or tables, which then are the data."""
    folders = _list_folder(folder).folders
    return [inner.name for inner in folders if inner.name != "data" and _list_folder(inner, MAX_ENTRIES).first_image]


def _is_table(name: str) -> bool:
    return name.endswith(".parquet") and name not in SLICES and not is_system(name)


def survey_root(root: Path) -> Survey:
    """Return the splits under a data root: ROOT/<benchmark>/<split>, and what registered data sets recognise.

    Folders are listed, but no file is opened. Raises DataError for a root that cannot be listed, and for a root without
    splits that is itself a split or a benchmark, or whose folders are data roots.
    """
    root = Path(expand_home(str(root)))
    if not root.is_dir():
        raise DataError(f"The data root {root} is no folder: give one with splits as {EXPECTED}.")
    check_encoding(str(root))
    top = _list_folder(root)
    if top.error:
        raise DataError(f"The data root {root} cannot be listed ({top.error}): allow it, or give another folder.")
    listed = {folder: _list_folder(folder) for folder in top.folders}
    inner = (folder for listing in listed.values() for folder in listing.folders)
    splits = _recognise([root, *listed, *inner], root)
    taken = {Path(split.location) for split in splits}
    if root in taken:  # the folders of a data set are no benchmarks
        return Survey(tuple(splits), ())
    if not splits:
        _check_level(top, listed)
    ignored = [*_stray(root, top, "it is in no folder of a benchmark")]
    for folder, listing in listed.items():
        if folder not in taken:
            more, left = _survey_benchmark(root, listing, taken)
            splits += more
            ignored += left
    return Survey(tuple(splits), tuple(ignored))


def find_split(folder: Path) -> SplitRef:
    """Return the split in a folder, which has the name of the folder and of the one above it: `pets/test`.

    Raises DataError for a path that is no folder.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder: give the folder of a split, with a folder of images for each class.")
    location = folder.resolve()
    check_encoding(str(location))
    refs = _recognise([location], location.parent.parent)
    if len(refs) > 1:
        names = ", ".join(ref.split for ref in refs)
        raise DataError(f"{folder} holds several splits ({names}): move the files of each into a folder of its own.")
    return refs[0] if refs else _split(location.parent.name or "data", _list_folder(location))


def _recognise(folders: Sequence[Path], root: Path) -> list[SplitRef]:
    """Return the splits that registered data sets recognise in folders of a data root."""
    return [
        replace(ref, reader=name)
        for name, source in folder_sources().items()
        for folder in folders
        for ref in _ask(source, folder, root)
    ]


def _ask(source: FolderSource, folder: Path, root: Path) -> Sequence[SplitRef]:
    """Return the splits that a data set recognises in a folder; none if it cannot be listed, which a survey reports."""
    try:
        return source.recognises(folder, root)
    except OSError:
        return ()


def _survey_benchmark(
    root: Path, benchmark: _FolderListing, taken: set[Path]
) -> tuple[list[SplitRef], list[tuple[str, str]]]:
    """Return the splits of the folder of a benchmark, and the ignored entries with reasons."""
    name = benchmark.path.name
    if benchmark.error:
        return [], [(name, f"it cannot be listed: {benchmark.error}")]
    if _is_split(benchmark):
        return [], [(name, f"it is itself a split: move it to ROOT/<benchmark>/{name}")]
    if not benchmark.folders:
        return [], [(name, f"it has no folder of a split, expected {EXPECTED}")]
    splits, ignored = [], [*_stray(root, benchmark, "it is in no folder of a split")]
    for folder in benchmark.folders:
        if folder not in taken:
            listing = _list_folder(folder)
            splits.append(split := _split(name, listing))
            if split.layout == "folder" and listing.folders:
                ignored += _stray(root, listing, CLASS_FOLDERS)
    return splits, ignored


def _split(benchmark: str, listing: _FolderListing) -> SplitRef:
    make = partial(SplitRef, benchmark, listing.path.name)
    if listing.error:
        defect = (
            f"{listing.path} cannot be listed ({listing.error}): allow it, or move the folder out of the data root."
        )
        return make("none", str(listing.path), defect=defect)
    layout = _detect_layout(listing)
    location = f"hub:{listing.path}" if layout in ("hub", "disk") else str(listing.path)
    return make(layout, location, defect=_unknown(listing.path) if layout == "none" else "")


def _unknown(folder: Path) -> str:
    *first, last = (*KNOWN_LAYOUTS, *(source.expected for source in folder_sources().values()))
    return (
        f"{folder} holds no split in a known layout: expected {', '.join(first)}, or {last}. If it is no split, move "
        "it out of the data root, or begin its name with a dot."
    )


def _stray(root: Path, listing: _FolderListing, why: str) -> Iterator[tuple[str, str]]:
    """Yield the files that are not read; images beside class folders are refused when the split is opened."""
    names = [
        name
        for name in listing.files
        if name not in AUXILIARY_FILES and not is_document(name) and Path(name).suffix.lower() not in SUFFIXES
    ]
    if why != CLASS_FOLDERS and (slices := [name for name in listing.files if name in SLICES]):
        location, reason = listing.path.relative_to(root), "it belongs into the folder of a split, beside its images"
        yield join_names([str(location / name) for name in slices]), reason
    if names:
        location = listing.path.relative_to(root)
        yield join_names([str(location / name) for name in names]), why


def _is_class(folder: Path) -> bool:
    """Return whether a folder is a class folder: images, no folders, and no flat ILSVRC validation files."""
    listing = _list_folder(folder, MAX_ENTRIES)
    known = VAL_FILE.fullmatch(listing.first_image) and not _has_label(folder.name)
    return bool(listing.first_image) and not listing.folders and not known


def _has_label(name: str) -> bool:
    """Return whether the name of a folder of ILSVRC validation files may be a class: it is not called as a split is."""
    return SPLIT_LIKE.search(name) is None


def _is_split(listing: _FolderListing) -> bool:
    """Return whether a folder has the content of a split, whatever its path."""
    if _detect_layout(listing) in ("shards", "hub") or "state.json" in listing.files:
        return True
    if listing.first_image:
        flat = not listing.folders and VAL_FILE.fullmatch(listing.first_image) is not None
        return flat and not _has_label(listing.path.name)
    names = [folder.name for folder in listing.folders]
    if len(names) < 2 and not all(map(SYNSET.fullmatch, names)):
        return False
    if not names or any(name.casefold() in SPLIT_NAMES for name in names):
        return False
    return all(_is_class(folder) for folder in listing.folders[:MAX_LISTED])


def _check_level(top: _FolderListing, listed: Mapping[Path, _FolderListing]) -> None:
    """Raise DataError for a root without splits that is one or two levels too deep, or one level too high."""
    root, here = top.path, top.path.resolve()
    if _is_split(top):
        folders = f" with the class folders {join_names([path.name for path in top.folders])}" if top.folders else ""
        raise DataError(
            f"The data root {root} is itself a split{folders}; expected {EXPECTED}. Give "
            f"--eye-data={here.parent.parent}, under which it is {here.parent.name}/{here.name}."
        )
    splits = [path.name for path, listing in listed.items() if _is_split(listing)]
    inner = {path: [*map(_list_folder, listing.folders[:MAX_LISTED])] for path, listing in listed.items()}
    others = [listing for path, several in inner.items() if path.name not in splits for listing in several]
    if any(_is_split(listing) or not listing.folders or _detect_layout(listing) == "disk" for listing in others):
        return
    if splits:
        raise DataError(
            f"The data root {root} is itself a benchmark with the splits {join_names(splits)}; expected {EXPECTED}. "
            f"Give --eye-data={here.parent}, under which they are {here.name}/{splits[0]} and so on."
        )
    for path, several in inner.items():
        benchmarks = [
            listing.path.name for listing in several if any(map(_is_split, map(_list_folder, listing.folders)))
        ]
        if benchmarks:
            raise DataError(
                f"The data root {root} is a folder too high: {path.name} in it holds the benchmarks "
                f"{join_names(benchmarks)}; expected {EXPECTED}. Give --eye-data={here / path.name}."
            )


def is_document(name: str) -> bool:
    """Return whether the name of a file belongs to a document, such as a licence, and not to data."""
    return name.lower().startswith(DOCUMENTS)


def join_names(names: Sequence[str]) -> str:
    """Return the first names, joined by commas, and the number of the others."""
    more = f" and {len(names) - EXAMPLES} more" if len(names) > EXAMPLES else ""
    return f"{', '.join(names[:EXAMPLES])}{more}"
