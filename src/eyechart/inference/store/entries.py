"""The store: the answers of models, each stored once.

Each entry is a folder, named by the sha256 of everything that can change an answer (`Key`). Blocks of answers are
appended to part files as they arrive. An incomplete last block, which a killed run leaves, is skipped and requested
again. After the last block, the parts become one file whose bytes do not depend on how often the run was stopped. The
content of blocks is encoded by `arrays.py` (rows of numbers) and `responses.py` (texts).
"""

import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import file_digest, sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import filelock
import msgspec

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import MissingAnswersError, StoreError
from eyechart.files.atomic import draft_path, replace_file, write_atomic
from eyechart.inference.requests.row_requests import BaseRequest
from eyechart.models.types import Identity, Model

FORMAT = 1
MAGIC = b"EYE1"
HEAD = struct.Struct("<4sII")
TAIL = struct.Struct("<I")
SCAN = 1 << 16  # bytes that are searched at once for the next block
DECODER = 1  # in keys; greater where the same bytes would become other pixels
DONE, FIRST = "done.json", "00000.part"
T = TypeVar("T")


KEY_FORMAT = 1  # greater where the same key would mean other answers: prompts or pixels are made in another way


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that determines answers: request, model, data and decoding. Equal keys have equal answers."""

    kind: str = msgspec.field(name="question")
    model: Identity
    owner: str = ""
    format: int = KEY_FORMAT
    data: str = ""
    decoder: Mapping[str, Any] = {}
    prompts: str = ""
    decoding: Mapping[str, Any] = {}
    batch_size: int = 0

    @property
    def digest(self) -> str:
        """The sha256 of the key's sorted JSON."""
        return sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


def request_key(request: BaseRequest, model: Model, dataset: Dataset | None = None) -> Key:
    """Return the key of a model's answers to a request about the images of a data set.

    Requests about the whole split have the same key whatever part of it is selected. Raises ValueError for a request
    about images without a data set.
    """
    fields = request.key_fields
    if not request.about_images:
        data, decoder = "", {}
    elif dataset is None:
        raise ValueError(f"{type(request).__name__} is about images. Expected a data set.")
    else:
        data, decoder = dataset.index_fingerprint, _decoder_settings(dataset)
    return Key(
        kind=fields.kind,
        model=model.identity.in_key,
        owner=model.owner,
        data=data,
        decoder=decoder,
        prompts=fields.prompts,
        decoding=fields.decoding,
        batch_size=model.batch_size if request.batched else 0,
    )


def _decoder_settings(dataset: Dataset) -> dict[str, Any]:
    """Return how bytes become images, as far as it can change an answer."""
    return {"version": DECODER, "pillow": version("pillow"), "upright": dataset.upright}


def copy_nothing(_: str) -> None:
    """Add no entry: there is no other store."""


class Store:
    """A folder of stored answers. `on_wait` is called with a message when another run holds an entry.

    With `answer_command`, the command that makes missing answers, nothing is written. `copy_entry` is called with the
    digest of an entry that is not sealed here, and may add it.
    """

    def __init__(
        self,
        root: Path,
        on_wait: Callable[[str], None] = lambda _: None,
        answer_command: str = "",
        copy_entry: Callable[[str], None] = copy_nothing,
    ) -> None:
        self.root = root
        self.copy_entry = copy_entry
        self.on_wait = on_wait
        self.answer_command = answer_command

    def entry(self, key: Key) -> "StoreEntry":
        """The folder of one answer set; nothing is created before something is written."""
        self.check_format()
        entry = StoreEntry(self.root / key.digest[:2] / key.digest, key, self.on_wait, self.answer_command)
        if not entry.complete:
            self.copy_entry(key.digest)
        return entry

    def check_format(self) -> None:
        """Refuse a store that another version of the format wrote."""
        path = self.root / "format"
        stored_format = path.read_bytes().decode("ascii", "replace").strip() if path.is_file() else str(FORMAT)
        if stored_format != str(FORMAT):
            raise StoreError(
                f"The store {self.root} has format {stored_format!r}; this eyechart reads format {FORMAT}. "
                "Choose another folder with --eye-store, or use the eyechart that wrote it."
            )


class StoreEntry:
    """One answer set of a store."""

    def __init__(self, folder: Path, key: Key, on_wait: Callable[[str], None], answer_command: str = "") -> None:
        self.folder = folder
        self.key = key
        self.on_wait = on_wait
        self.answer_command = answer_command

    @property
    def complete(self) -> bool:
        """Whether every row is answered and kept."""
        return (self.folder / DONE).is_file()

    def read_done(self, kind: type[T]) -> T:
        """What was written last, which says that all else is there."""
        path = self.folder / DONE
        try:
            done = msgspec.json.decode(path.read_bytes(), type=kind)
        except (OSError, msgspec.DecodeError) as error:
            raise self.damaged(path, str(error)) from error
        remove_parts(self.folder)
        return done

    def verified_path(self, name: str, wanted: str) -> Path:
        """The path of a whole file; bytes that are not those that were written are refused."""
        path = self.folder / name
        try:
            with path.open("rb") as file:
                digest = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise self.damaged(path, str(error)) from error
        if digest != wanted:
            raise self.damaged(path, f"its sha256 is {digest[:12]}…, not {wanted[:12]}…")
        return path

    def damaged(self, path: Path, why: str) -> StoreError:
        """Say that the kept answers cannot be trusted, and the remedy."""
        return StoreError(
            f"The kept answers {path} are damaged ({why}). Delete the folder {self.folder} and run again."
        )

    def blocks(self) -> Iterator[tuple[bytes, bytes]]:
        """The whole blocks that runs left; a part that another run takes away meanwhile is a StoreError."""
        return read_parts(self.folder)

    @property
    def is_compact(self) -> bool:
        """Whether there is nothing beside the first part, neither others nor drafts of it."""
        return {path.name for path in self.folder.glob("*.part*")} <= {FIRST}

    @contextmanager
    def lock_for_writing(self, *, wait: bool = True) -> Iterator["Writer"]:
        """Hold the entry alone; another run that wants it waits for that, or with StoreError does not.

        Raises MissingAnswersError with the command that makes the answers in a session that only scores stored ones.
        """
        if self.answer_command:
            raise MissingAnswersError(
                f"{self.key.model.name}: answers are missing from the store {self.folder.parent.parent}, in the entry "
                f"{self.folder.name[:12]}. Make them with: {self.answer_command}"
            )
        with _explain_write_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self.folder.parent.parent / "format", f"{FORMAT}\n".encode("ascii"))
            write_atomic(self.folder / "key.json", msgspec.json.format(msgspec.json.encode(self.key, order="sorted")))
            lock = filelock.FileLock(self.folder / "lock")
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout as error:
                if not wait:
                    raise StoreError(f"Another run holds {self.folder}. Run again when it is done.") from error
                self.on_wait(
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
    """Appends blocks to an entry that is held alone: a header and what it heads, both bytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.part: BinaryIO | None = None

    def blocks(self) -> Iterator[tuple[bytes, bytes]]:
        """The whole blocks that earlier runs and this one left."""
        return read_parts(self.folder)

    def append(self, header: bytes, payload: bytes) -> None:
        """Keep one block; it survives whatever happens next."""
        with _explain_write_errors(self.folder):
            file = self.open_part()
            file.write(_frame_block(header, payload))
            file.flush()
        self.check_part()

    def open_part(self) -> BinaryIO:
        """This run's own part, after those of earlier runs."""
        while self.part is None:
            numbers = [int(path.stem) for path in self.folder.glob("*.part")]  # one may be missing
            number = max(numbers, default=-1) + 1
            with suppress(FileExistsError):  # a run that the lock did not keep out was first
                self.part = (self.folder / f"{number:05d}.part").open("xb")
        return self.part

    def check_part(self) -> None:
        """Raise StoreError if another run deleted the part that this one writes: what is in it would be lost."""
        if self.part is not None and os.fstat(self.part.fileno()).st_nlink == 0:
            raise self.conflict(f"the part {self.part.name} was deleted while this run was writing it")

    def conflict(self, why: str) -> StoreError:
        """Return the error for two runs that write one entry at once."""
        return StoreError(
            f"Another run wrote to {self.folder} at the same time: {why}. The lock file there does not exclude other "
            "runs, as on network file systems without locks. Nothing was replaced. Run the same command again, one "
            "run at a time, or choose a local folder with --eye-store."
        )

    def incomplete(self, why: str) -> StoreError:
        """Return the error for an entry that cannot be sealed, since some of its answers are not in the store."""
        return StoreError(
            f"The answers in {self.folder} are incomplete ({why}): another run may have deleted them. Nothing was "
            "replaced. Run the same command again, one run at a time; it asks for the missing ones."
        )

    def replace(self, ordered: Iterable[tuple[bytes, bytes]]) -> None:
        """Put one part with these blocks instead of all parts; further runs may add theirs."""
        # The new first part has everything. It takes its name in one step, and only then the others are deleted: a run
        # that is killed between leaves some blocks twice, never none.
        first, *others = [self.folder / FIRST, *self.folder.glob("*.part")]
        self.check_part()
        self.close()
        with _explain_write_errors(self.folder):
            self.drop_drafts(FIRST)
            with replace_file(first) as file:
                file.writelines(_frame_block(header, payload) for header, payload in ordered)
            for path in {*others} - {first}:
                path.unlink()

    @contextmanager
    def draft(self, name: str) -> Iterator[Path]:
        """Yield the path of a file to be written, which `seal` then moves to its name; it is deleted otherwise."""
        path = draft_path(self.folder / name)
        with _explain_write_errors(self.folder):
            self.drop_drafts(name)
            try:
                yield path
            finally:
                path.unlink(missing_ok=True)

    def seal(self, files: Mapping[str, bytes | Path], done: object) -> None:
        """Put whole files, or drafts of them, instead of the parts; `done` is written last.

        Raises StoreError if another run deleted this run's part, or sealed the entry with other answers.
        """
        self.check_part()
        content = msgspec.json.encode(done)
        with _explain_write_errors(self.folder):
            # 1. A lock may not work on a network file system: another run's answers are not replaced by others.
            sealed = self.folder / DONE
            if sealed.is_file() and sealed.read_bytes() != content:
                raise self.conflict(f"{sealed} is there already, with other answers than this run's")
            # 2. Each file takes its name when it is whole, and DONE comes last: readers trust nothing without it.
            for name, data in files.items():
                if isinstance(data, Path):
                    data.replace(self.folder / name)
                else:
                    self.drop_drafts(name)
                    write_atomic(self.folder / name, data)
            self.drop_drafts(DONE)
            write_atomic(sealed, content)
        # 3. The parts are deleted only now. A run that is killed before leaves them, and the next reader deletes them.
        self.close()
        remove_parts(self.folder)

    def drop_drafts(self, *names: str) -> None:
        """Take away what a run that was killed had half written for these files."""
        for name in names:
            for draft in self.folder.glob(f"{name}.*"):
                draft.unlink()

    def close(self) -> None:
        """Close this run's part; `append` has already reported what could not be flushed."""
        if self.part is not None:
            with suppress(OSError):
                self.part.close()
            self.part = None


def _frame_block(header: bytes, payload: bytes) -> bytes:
    """A block as it is written."""
    body = header + payload
    return HEAD.pack(MAGIC, len(header), len(payload)) + body + TAIL.pack(zlib.crc32(body))


def part_facts(folder: Path) -> tuple[tuple[str, int, int, int], ...]:
    """Return what distinguishes the parts of an entry from changed ones: path, inode, size and time of each."""
    paths = sorted(folder.glob("*.part"))
    try:
        return tuple((str(path), (stat := path.stat()).st_ino, stat.st_size, stat.st_mtime_ns) for path in paths)
    except OSError as error:
        raise _unreadable(error) from error


class _FoundBlock(NamedTuple):
    """A block of a part, and the offset of its payload in the file."""

    path: Path
    offset: int
    header: bytes
    payload: bytes


def find_blocks(folder: Path) -> Iterator[_FoundBlock]:
    """Read the whole blocks of every part, each with its offset."""
    for path in sorted(folder.glob("*.part")):
        try:
            with path.open("rb") as file:
                for header, payload in scan_blocks(file):
                    yield _FoundBlock(path, file.tell() - TAIL.size - len(payload), header, payload)
        except OSError as error:
            raise _unreadable(error) from error


def _unreadable(error: OSError) -> StoreError:
    return StoreError(f"The kept answers {error.filename} cannot be read: {error.strerror or error}. Run again.")


def read_parts(folder: Path) -> Iterator[tuple[bytes, bytes]]:
    """Read the whole blocks of every part."""
    return ((block.header, block.payload) for block in find_blocks(folder))


def scan_blocks(file: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Read the whole blocks of a part; after a damaged one, go on at the next whose checksum fits."""
    size, offset = file.seek(0, os.SEEK_END), 0
    file.seek(0)
    while offset >= 0:
        # A block is whole if its sizes fit into the file and its checksum is right.
        magic, header, payload = HEAD.unpack(file.read(HEAD.size).ljust(HEAD.size, b"\0"))
        end = offset + HEAD.size + header + payload + TAIL.size
        if magic == MAGIC and end <= size:
            body = file.read(header + payload)
            if TAIL.unpack(file.read(TAIL.size))[0] == zlib.crc32(body):
                yield body[:header], body[header:]
                offset = end
                continue
        # It is damaged, or it is the incomplete end that a killed run left. Its sizes cannot be trusted, so that the
        # search goes on behind its first byte.
        offset = _next_magic(file, offset + (magic == MAGIC))
        file.seek(max(offset, 0))


def _next_magic(file: BinaryIO, start: int) -> int:
    """Return where the next block may begin, -1 if nowhere."""
    file.seek(start)
    if file.read(len(MAGIC)) == MAGIC:
        return start
    while True:
        file.seek(start)
        data = file.read(SCAN)
        if (offset := data.find(MAGIC)) >= 0:
            return start + offset
        if len(data) < len(MAGIC):
            return -1
        start += len(data) - len(MAGIC) + 1  # the magic may begin in the last bytes that were read


def remove_parts(folder: Path) -> None:
    """Take the parts away that a whole file has replaced; a run may be killed before it comes to that."""
    for path in folder.glob("*.part"):
        with suppress(OSError):  # another run was first, or the store may only be read
            path.unlink()


@contextmanager
def _explain_write_errors(folder: Path) -> Iterator[None]:
    """Turn what the disk says into a sentence with a remedy."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"The store cannot be written at {folder}: {error.strerror or error}. Answers kept so far stay; "
            "free some space or choose a writable folder with --eye-store, and run the same command again."
        ) from error
