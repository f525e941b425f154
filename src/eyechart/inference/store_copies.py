"""Copies of stores: the union of several stores, and sealed entries on remote file systems.

A merge gives the same store whatever the order of its sources, and another merge of the same changes nothing. Remote
copies have sealed entries alone, whose files never change.
"""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from eyechart.atomic import draft_path, write_atomic
from eyechart.errors import StoreError
from eyechart.extras import install_command
from eyechart.inference.store import DONE, Key, Store, Writer, read_parts, remove_parts
from eyechart.inference.store_entries import KEY, StoredEntry, list_entries
from eyechart.models.description import FOLDER as MODELS

LOCK = "lock"


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


def merge_store(into: Path, source: Path) -> Copied:
    """Add the answers of a store to another one.

    Raises StoreError if the source is no store, or if it has a damaged entry. An entry that both stores sealed with
    other answers is left as it is, and named in the result.
    """
    copied = Copied()
    for entry in list_entries(source):
        if damage := entry.damage():
            raise StoreError(f"{entry.folder}: {damage}. Delete this folder, and merge again.")
        merge_entry(into, entry, copied)
    merge_models(into, source)
    return copied


def merge_entry(into: Path, entry: StoredEntry, copied: Copied) -> None:
    """Add the answers of one entry to a store."""
    target = Store(into).entry(msgspec.convert(entry.key, Key))
    if target.folder.name != entry.digest:
        raise StoreError(f"{entry.folder}: another version of eyechart wrote {KEY}. Merge with that version.")
    with target.lock_for_writing() as writer:
        there = StoredEntry(target.folder)
        if there.complete:
            same = not entry.complete or (there.folder / DONE).read_bytes() == (entry.folder / DONE).read_bytes()
            copied.count("present")
            copied.conflicts += () if same else (f"{there.folder} and {entry.folder} have other answers",)
        elif entry.complete:
            copied.count("completed" if any(target.folder.glob("*.part")) else "added")
            copy_files(entry.folder, target.folder)
        else:
            copied.count("completed" if union_blocks(writer, entry.folder) else "present")


def copy_files(source: Path, folder: Path) -> None:
    """Copy the files of a sealed entry; the one that says that all are there comes last."""
    names = sorted(path.name for path in source.iterdir() if path.name not in (LOCK, DONE, KEY) and path.is_file())
    for name in [name for name in names if not name.endswith(".part")] + [DONE]:
        draft = draft_path(folder / name)
        shutil.copy2(source / name, draft)
        draft.replace(folder / name)
    remove_parts(folder)


def union_blocks(writer: Writer, source: Path) -> bool:
    """Add the blocks of an entry that is not sealed, in an order that does not depend on who had which block.

    Return whether there were new ones.
    """
    own, others = {*writer.blocks()}, {*read_parts(source)}
    if own | others:
        writer.replace(sorted(own | others))
    return not others <= own


def merge_models(into: Path, source: Path) -> None:
    """Copy the descriptions of models that answered; of two that differ in the device, the same one is kept always."""
    for path in sorted((source / MODELS).glob("*.json")):
        target = into / MODELS / path.name
        contents = [path.read_bytes(), *([target.read_bytes()] if target.is_file() else [])]
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, min(contents))


def push_store(store: Path, url: str) -> Copied:
    """Copy the sealed entries of a store to a URL that fsspec knows; entries that are there are left as they are."""
    files, root = open_url(url)
    copied = Copied()
    for entry in list_entries(store):
        if entry.complete and not entry.damage():
            folder = f"{root}/{entry.digest[:2]}/{entry.digest}"
            if files.exists(f"{folder}/{DONE}"):
                copied.count("present")
                continue
            names = sorted({path.name for path in entry.folder.iterdir()} - {LOCK, DONE})
            for name in [*names, DONE]:
                upload(files, entry.folder / name, f"{folder}/{name}")
            copied.count("added")
    for path in sorted((store / MODELS).glob("*.json")):
        upload(files, path, f"{root}/{MODELS}/{path.name}")
    return copied


def pull_store(url: str, store: Path) -> Copied:
    """Add the sealed entries at a URL that fsspec knows to a store, after a check of their digests."""
    files, root = open_url(url)
    copied = Copied()
    for folder in remote_entries(files, root):
        digest = folder.rpartition("/")[2]
        if StoredEntry(store / digest[:2] / digest).complete:
            copied.count("present")
            continue
        with TemporaryDirectory() as place:
            local = StoredEntry(Path(place) / digest)
            local.folder.mkdir()
            for path in files.ls(folder, detail=False):
                files.get_file(path, str(local.folder / path.rpartition("/")[2]))
            if damage := local.damage():
                raise StoreError(
                    f"{url}: the entry {digest[:12]} is damaged ({damage}). Delete it there, and push it again."
                )
            merge_entry(store, local, copied)
    pull_models(files, root, store)
    return copied


def pull_models(files: Any, root: str, store: Path) -> None:
    """Add the descriptions of models at a URL to a store."""
    with TemporaryDirectory() as place, suppress(FileNotFoundError):
        (Path(place) / MODELS).mkdir()
        for path in files.ls(f"{root}/{MODELS}", detail=False):
            files.get_file(path, str(Path(place) / MODELS / path.rpartition("/")[2]))
        merge_models(store, Path(place))


def remote_entries(files: Any, root: str) -> Iterator[str]:
    """Yield the folders of whole entries at the root of a remote store. Raises StoreError if there is none."""
    done = sorted(files.glob(f"{root}/??/*/{DONE}"))
    if not done:
        raise StoreError(f"There are no sealed entries at {root}. Copy some there with: eyechart store push STORE URL")
    yield from (path.rpartition("/")[0] for path in done)


def upload(files: Any, path: Path, target: str) -> None:
    """Copy a local file to a remote file system."""
    files.makedirs(target.rpartition("/")[0], exist_ok=True)
    files.put_file(str(path), target)


def open_url(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path on it. Raises StoreError for an unknown or missing protocol."""
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as error:
        raise StoreError(f"{url} needs the package fsspec. Install it with: {install_command('remote')}") from error
    try:
        files, root = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise StoreError(
            f"{url} cannot be opened ({error}). Expected a URL that fsspec knows, such as s3://…."
        ) from error
    return files, str(root).rstrip("/")
