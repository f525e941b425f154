"""The entries of a store: what each holds, whether its files are whole, and the deletion of unused entries."""

import re
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import filelock
import msgspec

from eyechart.errors import StoreError
from eyechart.inference.requests.row_requests import TEXT_SCORE_KINDS
from eyechart.inference.requests.text_requests import TEXT_KIND
from eyechart.inference.store import arrays
from eyechart.inference.store.entries import DONE

DIGEST = re.compile(r"[0-9a-f]{64}")
KEY = "key.json"
OPEN_KINDS = (TEXT_KIND, *TEXT_SCORE_KINDS)


class _SealedFile(msgspec.Struct):
    """The sha256 of the file of answers, which is written last."""

    sha256: str


@dataclass(frozen=True)
class StoredEntry:
    """The folder of an entry, named by the digest of its key."""

    folder: Path

    @property
    def digest(self) -> str:
        """The digest of the key."""
        return self.folder.name

    @property
    def complete(self) -> bool:
        """Whether the entry has all its answers."""
        return (self.folder / DONE).is_file()

    @property
    def state(self) -> str:
        """How much of the entry is there: "complete", "partial", or "open" for texts, to which every run may add."""
        return "complete" if self.complete else "open" if self.key.get("question") in OPEN_KINDS else "partial"

    @cached_property
    def size(self) -> int:
        """The bytes of its files."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    @cached_property
    def key(self) -> dict[str, Any]:
        """The key as it was written; empty if it cannot be read."""
        try:
            key: dict[str, Any] = msgspec.json.decode((self.folder / KEY).read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}
        return key

    @property
    def description(self) -> str:
        """The kind of the answers and the model."""
        model = self.key.get("model", {})
        return f"{self.key.get('question', '?')}  {model.get('backend', '?')}[{model.get('name', '?')}]"

    def damage(self) -> str:
        """Return what is wrong with the files of the entry, "" if nothing is.

        An entry that is not complete has only its key checked: the next run reads its whole blocks and asks for the
        others.
        """
        if not self.key:
            return f"{KEY} cannot be read"
        if sha256(msgspec.json.encode(self.key, order="sorted")).hexdigest() != self.digest:
            return f"{KEY} belongs to another entry"
        if not self.complete:
            return ""
        try:
            sealed = msgspec.json.decode((self.folder / DONE).read_bytes(), type=_SealedFile)
        except (OSError, msgspec.DecodeError) as error:
            return f"{DONE} cannot be read ({error})"
        path = self.folder / arrays.ANSWERS_FILE
        if not path.is_file():
            return "its answers are missing"
        with path.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        return "" if digest == sealed.sha256 else f"{path.name} has the sha256 {digest[:12]}…"

    def delete(self) -> None:
        """Delete the entry. Raises StoreError if a run holds it."""
        lock = filelock.FileLock(self.folder / "lock")
        try:
            with lock.acquire(timeout=0):
                shutil.rmtree(self.folder)
        except filelock.Timeout as error:
            raise StoreError(f"Another run holds {self.folder}. Delete it when the run is done.") from error


def list_entries(root: Path) -> Iterator[StoredEntry]:
    """Yield the entries of a store by digest. Raises StoreError if the folder is not there."""
    if not root.is_dir():
        raise StoreError(f"There is no store at {root}. Name its folder with --store=DIR.")
    for folder in sorted(root.glob("??/*")):
        if DIGEST.fullmatch(folder.name) and folder.name.startswith(folder.parent.name) and folder.is_dir():
            yield StoredEntry(folder)


def unused_entries(root: Path, used: Collection[str]) -> Iterator[StoredEntry]:
    """Yield the entries whose digests are not among the used ones."""
    return (entry for entry in list_entries(root) if entry.digest not in used)
