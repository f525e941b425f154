"""Copies of stores: the union of several stores, and copies on remote file systems.

A merge gives the same store whatever the order of its sources, and another merge of the same changes nothing. Files of
remote copies never change. An entry that is sealed has the same files there. Another one, such as the texts of a model,
has part files, each named by its sha256: a push adds one part with the answers that no other part has.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b, file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np

from eyechart.errors import StoreError
from eyechart.files.atomic import write_atomic
from eyechart.files.urls import explain_errors, needs_connection, open_url
from eyechart.inference.store import arrays, responses
from eyechart.inference.store.contents import KEY, StoredEntry, list_entries
from eyechart.inference.store.entries import DONE, FIRST, Key, Store, Writer, read_parts, remove_parts
from eyechart.models.description.identity import FOLDER as MODELS

PART = ".part"
TIME = ".time"  # ends the name of a remote file with the time of a model's last answer
_OnWait = Callable[[str], None]  # is called when another run holds an entry


@dataclass(frozen=True)
class _RowUnion:
    """The union of rows of numbers. One block is in memory at a time, and a digest of each row.

    Rows of one entry are of one kind, so that nothing is added if a row that both entries have differs.
    """

    writer: Writer
    source: Writer

    @cached_property
    def own(self) -> dict[int, bytes]:
        """The digests of the rows of the entry that is written."""
        return dict(_row_digests(self.writer))

    @cached_property
    def conflicts(self) -> int:
        """The number of rows that both entries have, with other numbers."""
        return sum(self.own.get(row, digest) != digest for row, digest in _row_digests(self.source))

    def missing(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield blocks of the rows that are to be added."""
        there = {*self.own}
        for block, values in () if self.conflicts else arrays.read_blocks(self.source):
            new = [number for number, row in enumerate(block.rows) if row not in there]
            if new:
                rows = tuple(block.rows[number] for number in new)
                there.update(rows)
                header = msgspec.json.encode(msgspec.structs.replace(block, rows=rows))
                yield header, np.ascontiguousarray(values[new], dtype="<f4").tobytes()

    def add(self) -> bool:
        """Add the rows that are missing, and put all in order; return whether there were any."""
        added = False
        for header, payload in self.missing():
            self.writer.append(header, payload)
            added = True
        if added:
            arrays.compact(self.writer)
        return added


def _row_digests(held: Writer) -> Iterator[tuple[int, bytes]]:
    """Yield the number of each row and a digest of its numbers."""
    for block, values in arrays.read_blocks(held):
        for row, numbers in zip(block.rows, values, strict=True):
            yield row, blake2b(numbers.tobytes(), digest_size=8).digest()


@dataclass(frozen=True)
class _ResponseUnion:
    """The union of responses. Each stands alone: of two responses to one request, that of the written entry is kept.

    Of equal responses, the smaller usage of tokens is kept.
    """

    writer: Writer
    source: Writer

    @cached_property
    def own(self) -> Mapping[str, responses.StoredResponse]:
        """The responses of the entry that is written."""
        return responses.read_stored(self.writer)

    @cached_property
    def others(self) -> Mapping[str, responses.StoredResponse]:
        """The responses of the entry that is read."""
        return responses.read_stored(self.source)

    @cached_property
    def conflicts(self) -> int:
        """The number of requests to which both entries have a response, and not the same."""
        return sum(self.own[index][0] != self.others[index][0] for index in self.own.keys() & self.others.keys())

    def missing(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield blocks of the responses that are to be added."""
        return responses.encode_blocks({index: self.others[index] for index in self.others.keys() - self.own.keys()})

    def add(self) -> bool:
        """Add the responses that are missing, and put all in order; return whether anything changed."""
        both = {**self.others, **self.own}
        for index in self.own.keys() & self.others.keys():
            if self.own[index][0] == self.others[index][0]:
                both[index] = min(self.own[index], self.others[index], key=lambda stored: stored[1].counts)
        if both != self.own:
            responses.compact(self.writer, both)
        return both != self.own


def _union_with(writer: Writer, folder: Path) -> _RowUnion | _ResponseUnion:
    """Return the union of an entry that is written with another one in a folder, by the kind of their blocks."""
    header = next((header for header, _ in read_parts(folder)), b"{}")
    kind = _RowUnion if "rows" in msgspec.json.decode(header, type=dict) else _ResponseUnion
    return kind(writer, Writer(folder))


@dataclass
class Copied:
    """The numbers of entries that were added, completed, and there already, and what could not be copied."""

    added: int = 0
    completed: int = 0
    present: int = 0
    conflicts: tuple[str, ...] = ()

    def count(self, outcome: str) -> None:
        """Count an entry by its outcome."""
        setattr(self, outcome, getattr(self, outcome) + 1)

    def conflict(self, first: object, second: object, answers: int = 0) -> None:
        """Name two entries of one key that have other answers, and the number of these if it is known."""
        number = f" to {answers:,} of the same requests" if answers else ""
        self.conflicts += (f"{first} and {second} have other answers{number}",)


def merge_store(into: Path, source: Path) -> Copied:
    """Add the answers of a store to another one.

    Raises StoreError if the source is no store, or if it has a damaged entry. Answers of an entry that both stores have
    with other answers are left as they are, and the entry is named in the result.
    """
    copied = Copied()
    for entry in list_entries(source):
        _merge_entry(into, entry, copied, "merge")
    _merge_models(into, source)
    return copied


def _merge_entry(
    into: Path, entry: StoredEntry, copied: Copied, command: str, on_wait: _OnWait = lambda _: None
) -> None:
    """Add the answers of one entry to a store."""
    _refuse_damage(entry, command)
    target = Store(into, on_wait).entry(read_key(entry))
    with target.lock_for_writing() as writer:
        if target.complete:
            copied.count("present")
            if entry.complete and read_done(entry.folder) != read_done(target.folder):
                copied.conflict(target.folder, entry.folder)
        elif entry.complete:
            copied.count("completed" if any(target.folder.glob("*.part")) else "added")
            _copy_files(writer, entry.folder)
        else:
            union, begun = _union_with(writer, entry.folder), any(target.folder.glob("*.part"))
            if union.conflicts:
                copied.conflict(target.folder, entry.folder, union.conflicts)
            changed = union.add()
            copied.count(("completed" if begun else "added") if changed else "present")


def _refuse_damage(entry: StoredEntry, command: str) -> None:
    """Raise StoreError if the files of an entry are not those that were written."""
    if damage := entry.damage():
        raise StoreError(f"{entry.folder}: {damage}. Delete this folder, and {command} again.")


def read_key(entry: StoredEntry) -> Key:
    """Return the key of an entry. Raises StoreError if this version of eyechart would write another one."""
    try:
        key = msgspec.convert(entry.key, Key)
    except msgspec.ValidationError:
        key = None
    if key is None or key.digest != entry.digest:
        raise StoreError(f"{entry.folder}: another version of eyechart wrote {KEY}. Merge with that version.")
    return key


def read_done(folder: Path) -> bytes:
    """Return the file that says that all answers are there, with their sha256."""
    return (folder / DONE).read_bytes()


def _copy_files(writer: Writer, source: Path) -> None:
    """Copy the files of a sealed entry; the one that says that all are there comes last."""
    for name in (arrays.ANSWERS_FILE, DONE):
        with writer.draft(name) as draft:
            shutil.copyfile(source / name, draft)
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            draft.replace(writer.folder / name)
    remove_parts(writer.folder)


def _merge_models(into: Path, source: Path) -> None:
    """Copy the descriptions of models that answered; of two that differ in the device, the same one is kept always.

    The later of the two times of a last answer is kept.
    """
    for path in sorted((source / MODELS).glob("*.json")):
        target = into / MODELS / path.name
        both = [path, *([target] if target.is_file() else [])]
        last = max(file.stat().st_mtime_ns for file in both)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, min(file.read_bytes() for file in both))
        os.utime(target, ns=(last, last))


def push_store(store: Path, url: str) -> Copied:
    """Copy the answers of a store to a URL that fsspec knows; those that are there are left as they are.

    Raises StoreError if the store has a damaged entry. Entries with other answers are named in the result.
    """
    files, root = open_url(url, StoreError)
    copied = Copied()
    for entry in list_entries(store):
        _refuse_damage(entry, "push")
        push = _push_sealed if entry.complete else _push_missing
        push(entry, files, f"{root}/{entry.digest[:2]}/{entry.digest}", copied)
    for path in sorted((store / MODELS).glob("*.json")):
        upload(files, path, f"{root}/{MODELS}/{path.name}")
        location, last = f"{root}/{MODELS}/{path.stem}{TIME}", path.stat().st_mtime_ns
        files.pipe_file(location, str(max(last, _read_time(files, location))).encode())
    return copied


def _read_time(files: Any, location: str) -> int:
    """Return when a model of a remote store answered last, in ns; 0 if that is not known."""
    try:
        return int(files.cat_file(location))
    except (FileNotFoundError, ValueError):
        return 0


def _push_sealed(entry: StoredEntry, files: Any, folder: str, copied: Copied) -> None:
    """Copy a sealed entry to a folder on a remote file system; the file that says that all are there comes last."""
    done = f"{folder}/{DONE}"
    if files.exists(done):
        copied.count("present")
        if files.cat_file(done) != read_done(entry.folder):
            copied.conflict(folder, entry.folder)
        return
    for name in (KEY, arrays.ANSWERS_FILE, DONE):
        upload(files, entry.folder / name, f"{folder}/{name}")
    copied.count("added")


def _push_missing(entry: StoredEntry, files: Any, folder: str, copied: Copied) -> None:
    """Copy the answers of an entry that is not sealed, as far as a remote folder lacks them, as one more part."""
    if files.exists(f"{folder}/{DONE}"):
        copied.count("present")
        return
    with TemporaryDirectory(prefix="push-", dir=entry.folder.parent) as location:  # the default folder may be in memory
        there, more = Writer(Path(location) / "there"), Writer(Path(location) / "more")
        for writer in (there, more):
            writer.folder.mkdir()
        begun = _download_parts(files, folder, there.folder)
        union = _union_with(there, entry.folder)
        if union.conflicts:
            copied.conflict(folder, entry.folder, union.conflicts)
        more.replace(union.missing())
        part = more.folder / FIRST
        if not part.stat().st_size:
            copied.count("present")
            return
        upload(files, entry.folder / KEY, f"{folder}/{KEY}")
        draft = f"{folder}/{_digest(part)}"
        upload(files, part, draft)
        files.mv(draft, f"{draft}{PART}")  # an upload that was cut off is no part
        copied.count("completed" if begun else "added")


def _digest(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _download_parts(files: Any, folder: str, into: Path) -> int:
    """Copy the parts of a remote entry, and return their number. Raises StoreError if one is damaged."""
    paths = _remote_parts(files, folder)
    for number, path in enumerate(paths):
        part = into / f"{number:05d}{PART}"
        files.get_file(path, str(part))
        if (digest := _digest(part)) != path.rpartition("/")[2].removesuffix(PART):
            raise StoreError(
                f"{files.unstrip_protocol(path)} is damaged: its sha256 is {digest[:12]}…, not that of its name. "
                "Delete it there, and push its answers again."
            )
    return len(paths)


def _remote_parts(files: Any, folder: str) -> list[str]:
    """Return the paths of the parts of a remote entry, none if it is not there."""
    try:
        return sorted(path for path in files.ls(folder, detail=False) if path.endswith(PART))
    except FileNotFoundError:
        return []


def pull_store(url: str, store: Path) -> Copied:
    """Add the answers at a URL that fsspec knows to a store, after a check of their digests."""
    files, root = open_url(url, StoreError)
    copied = Copied()
    for folder in _remote_entries(files, root):
        _pull_entry(files, folder, store, copied)
    _pull_models(files, root, store)
    return copied


def _pull_entry(files: Any, folder: str, store: Path, copied: Copied, on_wait: _OnWait = lambda _: None) -> None:
    """Add the entry in a remote folder to a store. Raises StoreError if it is damaged."""
    digest = folder.rpartition("/")[2]
    there, sealed = StoredEntry(store / digest[:2] / digest), files.exists(f"{folder}/{DONE}")
    if there.complete:
        copied.count("present")
        if sealed and files.cat_file(f"{folder}/{DONE}") != read_done(there.folder):
            copied.conflict(there.folder, folder)
        return
    store.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="pull-", dir=store) as location:  # the default folder may be in memory
        local = StoredEntry(Path(location) / digest)
        local.folder.mkdir()
        if not (sealed or _download_parts(files, folder, local.folder)):
            return  # an upload that was cut off
        for name in (KEY, arrays.ANSWERS_FILE, DONE) if sealed else (KEY,):
            files.get_file(f"{folder}/{name}", str(local.folder / name))
        if damage := local.damage():
            raise StoreError(
                f"{files.unstrip_protocol(folder)}: the entry {digest[:12]} is damaged ({damage}). Delete it there, "
                "and push it again."
            )
        _merge_entry(store, local, copied, "pull", on_wait)


@dataclass
class RemoteStore:
    """The answers at a URL, which a session copies into its store if they are not there.

    `seen` has the digests of the entries that were looked for: each is looked for once. Raises StoreError for a URL
    that fsspec does not know, and for one that needs a connection if `offline`.
    """

    url: str
    store: Path
    offline: bool = False
    on_wait: _OnWait = lambda _: None
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        open_url(self.url, StoreError)
        if self.offline and needs_connection(self.url):
            raise StoreError(
                f"{self.url} is on another machine, and offline mode opens no connection. Copy the store once with: "
                "eyechart store pull URL STORE"
            )

    def copy_entry(self, digest: str) -> None:
        """Add the answers of an entry at the URL to the store. Raises StoreError if the URL cannot be read."""
        if digest in self.seen:
            return
        self.seen.add(digest)
        files, root = open_url(self.url, StoreError)
        folder = f"{root}/{digest[:2]}/{digest}"
        with self.explain_errors():
            try:
                files.cat_file(f"{folder}/{KEY}")  # of a server that is gone, `exists` only says no
            except FileNotFoundError:
                return
            _pull_entry(files, folder, self.store, Copied(), self.on_wait)

    def copy_models(self) -> None:
        """Copy the descriptions of models into the store. Raises StoreError if the URL cannot be read."""
        files, root = open_url(self.url, StoreError)
        with self.explain_errors():
            _pull_models(files, root, self.store)

    def explain_errors(self) -> AbstractContextManager[None]:
        """Raise StoreError with a sentence for any error of the file system."""
        remedy = "All answers so far are stored; run the same command again, or leave out --eye-remote."
        return explain_errors(StoreError, f"The store at {self.url} cannot be read", f". {remedy}")


def _pull_models(files: Any, root: str, store: Path) -> None:
    """Add the descriptions of models at a URL to a store."""
    with TemporaryDirectory() as location, suppress(FileNotFoundError):
        (Path(location) / MODELS).mkdir()
        for path in files.ls(f"{root}/{MODELS}", detail=False):
            if path.endswith(".json"):
                local = Path(location) / MODELS / path.rpartition("/")[2]
                files.get_file(path, str(local))
                last = _read_time(files, path.removesuffix(".json") + TIME)
                os.utime(local, ns=(last, last))  # else the model of a copy would be the one that answered last
        _merge_models(store, Path(location))


def _remote_entries(files: Any, root: str) -> Iterator[str]:
    """Yield the folders of entries at the root of a remote store. Raises StoreError if there is none."""
    paths = [path for name in (DONE, f"*{PART}") for path in files.glob(f"{root}/??/*/{name}")]
    if not paths:
        raise StoreError(f"There are no answers at {root}. Copy some there with: eyechart store push STORE URL")
    yield from sorted({path.rpartition("/")[0] for path in paths})


def upload(files: Any, path: Path, target: str) -> None:
    """Copy a local file to a remote file system."""
    files.makedirs(target.rpartition("/")[0], exist_ok=True)
    files.put_file(str(path), target)
