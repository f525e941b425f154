"""Cache the indexes of data sets, so that images are hashed once and not in every run."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache as memoize
from hashlib import sha256
from pathlib import Path

import filelock
import msgspec
from msgspec import structs
from msgspec.structs import fields

from eyechart.data.dataset.columns import Columns
from eyechart.data.index.file_index import IndexEntry
from eyechart.errors import DataError
from eyechart.files.atomic import read_checked_lines, write_checked
from eyechart.files.path_encoding import check_locale

FORMAT = 4
ENTRIES = 4096  # on each line of a cache file, one list a field: all at once would take as much memory as the index


class FileFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What distinguishes a file from a changed one: its path without links, its size, and two times in ns.

    Tools that copy, pack or synchronise files set the time of modification, so that a corrected file of the same size
    may have the old one. The time of change is set by the system alone.
    """

    path: str
    size: int
    modified: int
    changed: int = 0


def read_facts(paths: Iterable[Path]) -> list[FileFacts]:
    """Return the facts of files. Raises DataError for one that is missing or cannot be read."""
    resolve_folder = memoize(os.path.realpath)  # which costs more than all else here, and is the same for many files
    return [file_facts(path, resolve_folder(path.parent)) for path in paths]


def real_path(path: Path, folder: str) -> str:
    """Return the path without links of a file or folder in a folder whose path has none."""
    return os.path.realpath(path) if path.is_symlink() else f"{folder}{os.sep}{path.name}"


def file_facts(file: Path, folder: str) -> FileFacts:
    """Return the facts of a file in a folder whose path has no links.

    Raises DataError for a broken link.
    """
    try:
        stat = file.stat()
        path = real_path(file, folder)
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read ({error.strerror}): copy it again, or remove it.") from error
    return FileFacts(path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def hash_facts(facts: Sequence[FileFacts]) -> str:
    """Return the sha256 of the facts of some files."""
    check_locale(*(file.path for file in facts))
    return sha256(msgspec.json.encode(facts)).hexdigest()


def load_or_build(
    cache: Path | None,
    files: Sequence[FileFacts] | Sequence[str],
    build: Callable[[], Sequence[IndexEntry]],
    *,
    reader: str,
    is_current: Callable[[Sequence[IndexEntry]], bool] = lambda _: True,
) -> Columns[IndexEntry]:
    """Return the index of some files from the cache, or call `build` and cache its result.

    The key covers the facts of every file or their hashes, the name of the reader and the format. A corrupt entry is
    rebuilt, and so is one that `is_current` denies, which looks at the files. If several processes need an index, one
    builds it and the others wait. A cache folder that is not writable is ignored.
    """
    if cache is None:
        return Columns.of(IndexEntry, build())
    path = cache / f"{sha256(msgspec.json.encode((FORMAT, reader, files))).hexdigest()}.json"
    if (entries := _read_entries(path)) is not None and is_current(entries):
        return entries
    with hold_lock(path):
        entries = _read_entries(path)
        if entries is None or not is_current(entries):
            entries = Columns.of(IndexEntry, build())
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_checked(path, b"".join(_encode_lines(entries)))
        return entries


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the right to write a cache file; nothing is held if its folder is not writable."""
    lock = filelock.FileLock(path.with_suffix(".lock"))
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _encode_lines(entries: Columns[IndexEntry]) -> Iterator[bytes]:
    for start in range(0, len(entries), ENTRIES):
        part = entries[start : start + ENTRIES]
        line = {"count": len(part), **{name: part.different_values(name) for name in part.arrays}}
        yield msgspec.json.encode(line) + b"\n"


def _read_entries(path: Path) -> Columns[IndexEntry] | None:
    """Return the entries of a cache file, None if its checksum does not match."""
    lists = [(field.name, list[field.type]) for field in fields(IndexEntry)]  # type: ignore[name-defined]
    decoder = msgspec.json.Decoder(msgspec.defstruct("Line", [("count", int), *lists]))
    try:
        parts = (
            Columns.of_values(IndexEntry, structs.asdict(line), line.count)  # type: ignore[attr-defined]
            for line in map(decoder.decode, read_checked_lines(path))
        )
        return Columns.join(IndexEntry, parts)
    except (OSError, ValueError):
        return None
