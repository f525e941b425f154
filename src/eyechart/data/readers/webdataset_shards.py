"""Open splits of WebDataset shards in the wds_imagenet1k layout: nshards.txt, 0.tar, 1.tar, …"""

import io
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol

import msgspec
import numpy as np

from eyechart.data.dataset.dataset import Dataset, Source
from eyechart.data.discovery import join_names
from eyechart.data.index.file_index import FileSource, IndexEntry, build_dataset, read_class_names
from eyechart.data.index.index_cache import FileFacts, load_or_build, read_facts
from eyechart.data.labels.class_names import read_split_templates
from eyechart.data.labels.equivalences import equivalent_pairs
from eyechart.data.labels.label_values import read_lists
from eyechart.data.names import check_encoding, is_system
from eyechart.data.side_files import is_side_file
from eyechart.data.splits.validation import check_validation_labels
from eyechart.errors import DataError
from eyechart.files.text_files import plain_text, utf8_bytes

IMAGES = ("webp", "png", "jpg", "jpeg")
LABELS = ("cls", "npy")
COMPRESSED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ": ("xz", "unxz"),
    b"\x28\xb5\x2f\xfd": ("Zstandard", "unzstd"),
    b"PK\x03\x04": ("zip", "unzip and tar"),
}  # by the first bytes


class ShardFiles(Protocol):
    """The shards of a split, wherever they are."""

    @property
    def names(self) -> frozenset[str]:
        """The names of all shards that are there."""

    def facts(self, names: Sequence[str]) -> list[FileFacts]:
        """Return what distinguishes shards from changed ones."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a shard for reading."""

    def has_labels(self, entries: Sequence[IndexEntry]) -> bool:
        """Return whether the labels of an index are still those in the shards, as far as a quick check shows."""

    def source(self, entries: Sequence[IndexEntry]) -> Source:
        """Return the source of the images of all entries."""


@dataclass(frozen=True)
class LocalShards:
    """The shards in a folder."""

    folder: Path

    @property
    def names(self) -> frozenset[str]:
        """The names of all shards that are there."""
        archives = (path for path in self.folder.iterdir() if _is_archive(path.name) and not is_system(path.name))
        return frozenset(path.name for path in archives if path.is_file())

    def facts(self, names: Sequence[str]) -> list[FileFacts]:
        """Return path, size and date of shards."""
        return read_facts(self.folder / name for name in names)

    def open(self, name: str) -> BinaryIO:
        """Open a shard for reading."""
        return (self.folder / name).open("rb")

    def has_labels(self, entries: Sequence[IndexEntry]) -> bool:
        """Return whether the labels of an index are still those in the shards."""
        try:
            for name, group in groupby(entries, key=lambda entry: entry.path):
                with self.open(name) as file:
                    if not all(_has_label(file, entry) for entry in group):
                        return False
        except (OSError, ValueError, EOFError, OverflowError):
            return False
        return True

    def source(self, entries: Sequence[IndexEntry]) -> FileSource:
        """Return the source of the images of all entries."""
        return FileSource(self.folder, entries)


def open_shards(
    folder: Path,
    benchmark: str,
    split: str,
    *,
    classes: int | None = None,
    subset: Sequence[int] = (),
    upright: bool = True,
    cache: Path | None = None,
    files: ShardFiles | None = None,
) -> Dataset:
    """Open the shards of a folder; by default `classnames.txt` gives the number of classes.

    `files` are the shards if only the small files are in the folder. If there are as many names as classes in
    `subset`, labels are indices into the subset. Raises DataError for a missing or truncated shard, a sample without
    image or label, an unsafe member, and as `build_dataset`.
    """
    files = files or LocalShards(folder)
    shards = _shards(folder, files.names)
    entries: Sequence[IndexEntry] = load_or_build(
        cache,
        files.facts(shards),
        lambda: _index(folder, files, shards),
        reader="shards",
        is_current=files.has_labels,
    )
    names = read_class_names(folder)
    count = classes or _count(folder, names)
    entries = read_lists(folder, entries, count)
    if subset and len(names) == len(subset):
        names, entries = (), [_map_to_subset(folder, entry, subset) for entry in entries]
    source = files.source(entries)
    dataset = build_dataset(
        folder,
        benchmark,
        split,
        entries,
        classes=count,
        names=names,
        upright=upright,
        source=source,
        numbered=True,
        provenance=f"labels: numbers from 0 in the shards; class names: {'classnames.txt' if names else 'of ImageNet'}",
    )
    check_validation_labels(dataset, folder)
    return replace(
        dataset,
        equivalences=_equivalences(folder, count),
        templates=read_split_templates(folder),
        notes=(*dataset.notes, *_describe_further(files.names, len(shards))),
    )


def _equivalences(folder: Path, classes: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of `equivalences.csv` in the folder of a split or its parent, () if there is none."""
    paths = (folder / "equivalences.csv", folder.parent / "equivalences.csv")
    return next((equivalent_pairs(str(path), classes) for path in paths if is_side_file(path)), ())


def _count(folder: Path, names: Sequence[str]) -> int:
    if not names:
        raise DataError(
            f"{folder} has no classnames.txt, nor has the folder above it: write one there, a class name a line, "
            "so that labels can be checked."
        )
    return len(names)


def _map_to_subset(folder: Path, entry: IndexEntry, subset: Sequence[int]) -> IndexEntry:
    if not 0 <= entry.label < len(subset):
        raise DataError(
            f"{folder}: sample {entry.location} has the label {entry.label}, expected 0 to "
            f"{len(subset) - 1} for the names in classnames.txt: correct the label or the names."
        )
    return msgspec.structs.replace(entry, label=subset[entry.label])


def _shards(folder: Path, there: frozenset[str]) -> list[str]:
    listing = folder / "nshards.txt"
    if not listing.exists():
        what = "unpack archives that are none, such as"
        others = "" if "0.tar" in there or not there else f" Shards are called 0.tar and so on; {what} {min(there)}."
        raise DataError(f"{folder} has no nshards.txt: write one with the number of shards.{others}")
    try:
        count = _plain_number(plain_text(listing).encode())
    except (OSError, ValueError) as error:
        raise DataError(
            f"{listing} cannot be read as a number of shards ({error}): write the number into it."
        ) from error
    if count < 1:
        raise DataError(f"{listing} has the number {count}, expected 1 or more: write the number of shards into it.")
    lacking = count - sum(_is_shard(name, count) for name in there)
    if lacking > 0:  # names no missing shard but the first, since the number may be absurd
        first = next(number for number in range(count) if f"{number}.tar" not in there)
        raise DataError(
            f"{folder} does not have {lacking:,} of the {count:,} shards in nshards.txt, the first {first}.tar: copy "
            f"them, or correct the number.{_describe_others(there, count)}"
        )
    return [f"{number}.tar" for number in range(count)]


def _describe_further(names: frozenset[str], count: int) -> tuple[str, ...]:
    """Return a note on shards that are not read, () without any."""
    further = sorted(name for name in names if _is_further(name, count))
    if not further:
        return ()
    verb, remedy = "is" if len(further) == 1 else "are", "correct the number to read all."
    if not all(name.removesuffix(".tar").isdecimal() for name in further):
        remedy = "correct the number, and call all 0.tar and so on, to read them."
    return (f"{join_names(further)} {verb} not read, since nshards.txt says {count:,}: {remedy}",)


def _is_further(name: str, count: int) -> bool:
    """Return whether a name belongs to a tar file which is none of the first `count` shards."""
    return _is_archive(name) and not _is_shard(name, count) and not is_system(name)


def _is_archive(name: str) -> bool:
    """Return whether a name belongs to a tar file, compressed or not."""
    return re.search(r"\.(tar|tgz|tbz2?|txz)\b", name.casefold()) is not None


def _describe_others(there: frozenset[str], count: int) -> str:
    """Return a sentence about archives that are no shards by their names, "" without any."""
    others = sorted(name for name in there if _is_further(name, count))
    return f" {join_names(others)} there must be called 0.tar and so on to be read." if others else ""


def _is_shard(name: str, count: int) -> bool:
    """Return whether a name belongs to one of the first `count` shards."""
    number = name.removesuffix(".tar")
    return number.isdecimal() and str(int(number)) == number and int(number) < count


def _index(folder: Path, files: ShardFiles, shards: Sequence[str]) -> list[IndexEntry]:
    def index(name: str) -> list[IndexEntry]:
        with files.open(name) as file:
            return _shard(folder / name, file)

    with ThreadPoolExecutor() as pool:
        return [entry for entries in pool.map(index, shards) for entry in entries]


def _shard(path: Path, file: BinaryIO) -> list[IndexEntry]:
    """Return the entries of a shard; webdataset groups the members, whose data are not copied."""
    from webdataset.tariterators import group_by_keys

    _check_end(path, file)
    file.seek(0)
    try:
        return [_entry(path, file, sample) for sample in group_by_keys(_members(path, file))]
    except ValueError as error:
        member = str(error.args[0]).partition(":")[0]
        raise DataError(f"{path} has two samples with one key: {member} comes twice. Remove one.") from error
    except (tarfile.TarError, OSError) as error:
        raise DataError(f"{path} is truncated or no tar file ({error}): copy it again.") from error


def _check_end(path: Path, file: BinaryIO) -> None:
    """Raise DataError for a shard without the closing zero block, since tarfile accepts a cut between two members."""
    file.seek(0)
    head = file.read(max(map(len, COMPRESSED)))
    for start, (kind, command) in COMPRESSED.items():
        if head.startswith(start):
            raise DataError(
                f"{path} is compressed with {kind}, expected a tar file as it is: unpack it with {command} and call "
                f"the result {path.name}."
            )
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - tarfile.BLOCKSIZE))
    if file.read() != bytes(tarfile.BLOCKSIZE) or size % tarfile.BLOCKSIZE:
        raise DataError(f"{path} is truncated or no tar file (its {size:,} bytes do not end as one): copy it again.")


def _members(path: Path, file: BinaryIO) -> Iterator[Mapping[str, Any]]:
    with tarfile.open(fileobj=file, mode="r:") as tar:
        for member in tar:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise DataError(f"{path} has a member {name}, which leads out of its folder: do not trust this file.")
            if any(map(is_system, name.parts)):
                continue
            check_encoding(str(name), str(path))
            if member.islnk() or member.issym():
                raise DataError(
                    f"{path} has the link {name} to {member.linkname} in place of a file: write it again with "
                    "tar --dereference --hard-dereference."
                )
            if member.isreg():
                yield {"fname": str(name), "data": (member.offset_data, member.size), "__url__": str(path)}


def _entry(path: Path, file: BinaryIO, sample: Mapping[str, Any]) -> IndexEntry:
    key = str(sample["__key__"])
    parts = {suffix: where for suffix, where in sample.items() if not suffix.startswith("__")}
    images = [where for suffix, where in parts.items() if _kind(suffix) in IMAGES]
    if len(images) != 1:
        raise DataError(
            f"{path}: sample {key} has {len(images)} images among its members {', '.join(parts)}; expected one "
            f"({', '.join(IMAGES)}), and a sample is named up to the first dot: repair the shard."
        )
    texts = {_kind(suffix): _read_slice(file, where) for suffix, where in parts.items() if _kind(suffix) in LABELS}
    if len(texts) > 1:
        raise DataError(
            f"{path}: sample {key} has a label in .cls and labels in .npy: which of them hold? Leave one out."
        )
    (offset, size), digest = images[0], sha256(_read_slice(file, images[0])).hexdigest()
    label_at = next((parts[suffix] for kind in ("npy", "cls") for suffix in parts if _kind(suffix) == kind), None)
    try:
        labels, multi_hot = _labels(texts)
        label = -1 if "npy" in texts else _plain_number(texts["cls"])
        return IndexEntry(key, key, digest, path.name, offset, size, label, labels, multi_hot, label_at)
    except (KeyError, ValueError, EOFError, OverflowError) as error:
        raise DataError(
            f"{path}: sample {key} has no label that can be read, a whole number in .cls or numbers in .npy, among its "
            f"members {', '.join(parts)}: repair the shard."
        ) from error


def _plain_number(text: bytes) -> int:
    """Return a whole number in digits, without Python's underscores. Raises ValueError."""
    if b"_" in text:
        raise ValueError(f"it has {text.decode(errors='replace').strip()}")
    return int(utf8_bytes(text))


def _labels(texts: Mapping[str, bytes]) -> tuple[tuple[int, ...] | None, bool]:
    """Return the labels of an .npy member, None without one, and whether they are certainly multi-hot."""
    if "npy" not in texts:
        return None, False
    values = np.load(io.BytesIO(texts["npy"]), allow_pickle=False)
    if values.ndim != 1 or values.dtype.kind not in "biuf" or (values != np.floor(values.astype(np.float64))).any():
        raise ValueError
    return tuple(map(int, values)), values.dtype.kind == "b"


def _has_label(file: BinaryIO, entry: IndexEntry) -> bool:
    """Return whether a shard has the label of an entry where the index has it."""
    if entry.label_at is None:
        return False
    text = _read_slice(file, entry.label_at)
    if entry.labels is None:
        return _plain_number(text) == entry.label
    return _labels({"npy": text}) == (entry.labels, entry.multi_hot)


def _kind(suffix: str) -> str:
    return suffix.rpartition(".")[2]


def _read_slice(file: BinaryIO, where: tuple[int, int]) -> bytes:
    offset, size = where
    file.seek(offset)
    return file.read(size)
