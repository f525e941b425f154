"""The store: what a model answered, kept once.

One folder an answer set, named by the sha256 of everything that can change an answer (`Key`). Blocks of answers are
appended to parts as they come; a torn tail, as a killed run leaves it, is skipped and asked again. When the last block
is there, the parts become one `answers.npy` whose bytes do not tell how often the run was stopped.
"""

import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import file_digest, sha256
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import filelock
import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart import __version__
from eyechart.errors import StoreError
from eyechart.models.interfaces import Floats, Identity

FORMAT = 1
MAGIC = b"EYE1"
HEAD = struct.Struct("<4sII")
TAIL = struct.Struct("<I")


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of whom about what; two keys are equal only if the answers must be."""

    question: str
    model: Identity
    eyechart: str = __version__
    data: str = ""
    decoder: Mapping[str, Any] = {}
    prompts: str = ""
    decoding: Mapping[str, Any] = {}
    limit: int | None = None
    seed: int = 0

    @property
    def digest(self) -> str:
        """The sha256 of the key's sorted JSON."""
        return sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


@dataclass(frozen=True)
class Answers:
    """One row a sample: features, logits or class weights of shape (n, d), and what went wrong by row."""

    values: Floats
    errors: Mapping[int, str]
    path: Path
    sha256: str


class Block(msgspec.Struct, frozen=True):
    """The header of a block: rows start to stop, each of `width` numbers; the rows in `errors` hold NaN."""

    start: int
    stop: int
    width: int
    errors: dict[int, str] = {}


class Done(msgspec.Struct, frozen=True):
    """Written last: the answers beside it are whole."""

    rows: int
    width: int
    sha256: str
    errors: dict[int, str] = {}


class Store:
    """A folder of kept answers. `waiting` is told, in a sentence, when another run holds an entry."""

    def __init__(self, root: Path, waiting: Callable[[str], None] = lambda _: None) -> None:
        self.root = root
        self.waiting = waiting

    def entry(self, key: Key) -> "Entry":
        """The place of one answer set; nothing is created before something is written."""
        self.check_format()
        return Entry(self.root / key.digest[:2] / key.digest, key, self.waiting)

    def check_format(self) -> None:
        """Refuse a store that another version of the format wrote."""
        path = self.root / "format"
        found = path.read_text(encoding="ascii").strip() if path.is_file() else str(FORMAT)
        if found != str(FORMAT):
            raise StoreError(
                f"The store {self.root} has format {found!r}; this eyechart reads format {FORMAT}. "
                "Choose another folder with --eye-store, or use the eyechart that wrote it."
            )


class Entry:
    """One answer set of a store."""

    def __init__(self, folder: Path, key: Key, waiting: Callable[[str], None]) -> None:
        self.folder = folder
        self.key = key
        self.waiting = waiting

    @property
    def complete(self) -> bool:
        """Whether every row is answered and kept."""
        return (self.folder / "done.json").is_file()

    def load(self) -> Answers:
        """Read complete answers; bytes that are not those that were written are refused."""
        path = self.folder / "answers.npy"
        try:
            done = msgspec.json.decode((self.folder / "done.json").read_bytes(), type=Done)
            with path.open("rb") as file:
                found = file_digest(file, "sha256").hexdigest()
        except (OSError, msgspec.DecodeError) as error:
            raise self.broken(path, str(error)) from error
        if found != done.sha256:
            raise self.broken(path, f"its sha256 is {found[:12]}…, not {done.sha256[:12]}…")
        return Answers(np.load(path, mmap_mode="r", allow_pickle=False), done.errors, path, found)

    def broken(self, path: Path, why: str) -> StoreError:
        """Say that the kept answers cannot be trusted, and the remedy."""
        return StoreError(
            f"The kept answers {path} are damaged ({why}). Delete the folder {self.folder} and run again."
        )

    @contextmanager
    def writing(self) -> Iterator["Writer"]:
        """Hold the entry alone; another run that wants it waits, then finds it complete."""
        with writable(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            stamp(self.folder.parent.parent / "format", f"{FORMAT}\n".encode("ascii"))
            stamp(self.folder / "key.json", msgspec.json.format(msgspec.json.encode(self.key, order="sorted")))
            lock = filelock.FileLock(self.folder / "lock")
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout:
                self.waiting(
                    f"another run is answering {self.key.model.name}; waiting for it ({self.folder.name[:12]}…)"
                )
                lock.acquire()
        writer = Writer(self.folder)
        try:
            yield writer
        finally:
            writer.close()
            lock.release()


class Writer:
    """Appends blocks of answers to an entry that is held alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.part: BinaryIO | None = None

    def kept(self) -> Iterator[tuple[Block, Floats]]:
        """The whole blocks that earlier runs left."""
        for path in sorted(self.folder.glob("*.part")):
            yield from blocks(path.read_bytes())

    def append(self, block: Block, values: Floats) -> None:
        """Keep one block; it survives whatever happens next."""
        header = msgspec.json.encode(block)
        payload = np.ascontiguousarray(values, dtype="<f4").tobytes()
        body = header + payload
        with writable(self.folder):
            file = self.open_part()
            file.write(HEAD.pack(MAGIC, len(header), len(payload)) + body + TAIL.pack(zlib.crc32(body)))
            file.flush()

    def open_part(self) -> BinaryIO:
        """This run's own part, after those of earlier runs."""
        if self.part is None:
            number = len(list(self.folder.glob("*.part")))
            self.part = (self.folder / f"{number:05d}.part").open("ab")
        return self.part

    def finish(self, rows: int) -> None:
        """Turn the parts into one file; the order of the rows is the data set's."""
        values: Floats | None = None
        errors: dict[int, str] = {}
        for block, found in self.kept():
            values = np.full((rows, block.width), np.nan, np.float32) if values is None else values
            values = widened(values, block.width)
            values[block.start : block.stop, : block.width] = found
            errors.update(block.errors)
        answers = values if values is not None else np.zeros((rows, 0), np.float32)
        content = npy(answers)
        done = Done(rows, answers.shape[1], sha256(content).hexdigest(), dict(sorted(errors.items())))
        with writable(self.folder):
            stamp(self.folder / "answers.npy", content)
            stamp(self.folder / "done.json", msgspec.json.encode(done))
        self.close()
        for path in self.folder.glob("*.part"):
            path.unlink()

    def close(self) -> None:
        """Close this run's part; whatever could not be flushed has already been told by `append`."""
        if self.part is not None:
            with suppress(OSError):
                self.part.close()
            self.part = None


def widened(values: Floats, width: int) -> Floats:
    """Give rows room for `width` numbers: a block of errors alone does not know how many there are."""
    missing = width - values.shape[1]
    return values if missing <= 0 else np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)


def npy(values: Floats) -> bytes:
    """The bytes of a .npy file."""
    file = BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()


def blocks(data: bytes) -> Iterator[tuple[Block, Floats]]:
    """Read the whole blocks of a part, up to the first torn one."""
    place = 0
    while place + HEAD.size <= len(data):
        magic, header, payload = HEAD.unpack_from(data, place)
        body = data[place + HEAD.size : place + HEAD.size + header + payload]
        end = place + HEAD.size + header + payload
        if magic != MAGIC or end + TAIL.size > len(data) or TAIL.unpack_from(data, end)[0] != zlib.crc32(body):
            return
        block = msgspec.json.decode(body[:header], type=Block)
        yield block, np.frombuffer(body[header:], "<f4").reshape(block.stop - block.start, block.width)
        place = end + TAIL.size


def missing_rows(kept: Sequence[Block], rows: int) -> NDArray[np.int64]:
    """The rows that no kept block answers."""
    answered = np.zeros(rows, bool)
    for block in kept:
        answered[block.start : block.stop] = True
    return np.flatnonzero(~answered)


def stamp(path: Path, content: bytes) -> None:
    """Write a small file so that nobody ever sees half of it; the same content is not written twice."""
    if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Turn what the disk says into a sentence with a remedy."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"The store cannot be written at {folder}: {error.strerror or error}. Answers kept so far stay; "
            "free some space or choose a writable folder with --eye-store, and run the same command again."
        ) from error
