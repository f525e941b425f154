"""Kept answers that are rows of numbers: features, logits, class weights, log-probabilities."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.models.interfaces import Floats
from eyechart.store import Entry, Writer

FILE = "answers.npy"


@dataclass(frozen=True)
class Answers:
    """One row a sample, of shape (n, d), and what went wrong by row."""

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


def load(entry: Entry) -> Answers:
    """Read the rows of a complete entry."""
    done = entry.done(Done)
    path = entry.checked(FILE, done.sha256)
    return Answers(np.load(path, mmap_mode="r", allow_pickle=False), done.errors, path, done.sha256)


def append(writer: Writer, block: Block, values: Floats) -> None:
    """Keep the rows of one block."""
    writer.append(msgspec.json.encode(block), np.ascontiguousarray(values, dtype="<f4").tobytes())


def kept(writer: Writer) -> Iterator[tuple[Block, Floats]]:
    """The blocks that are there."""
    for header, payload in writer.blocks():
        block = msgspec.json.decode(header, type=Block)
        yield block, np.frombuffer(payload, "<f4").reshape(block.stop - block.start, block.width)


def finish(writer: Writer, rows: int) -> None:
    """Turn the parts into one file; the order of the rows is the data set's. StoreError if one is missing."""
    values: Floats | None = None
    errors: dict[int, str] = {}
    there: list[Block] = []
    for block, found in kept(writer):
        there.append(block)
        values = np.full((rows, block.width), np.nan, np.float32) if values is None else values
        values = widened(values, block.width)
        values[block.start : block.stop, : block.width] = found
        errors.update(block.errors)
    if len(missing := missing_rows(there, rows)):
        raise writer.incomplete(f"{len(missing)} of {rows} rows are missing, the first {missing[0]}")
    answers = values if values is not None else np.zeros((rows, 0), np.float32)
    content = npy(answers)
    done = Done(rows, answers.shape[1], sha256(content).hexdigest(), dict(sorted(errors.items())))
    writer.seal({FILE: content}, done)


def computed(entry: Entry, make: Callable[[], Floats]) -> Floats:
    """Rows that are made in one go, or were before."""
    if not entry.complete:
        with entry.writing() as writer:
            if not entry.complete:
                made = make()
                append(writer, Block(0, len(made), made.shape[1]), made)
                finish(writer, len(made))
    return load(entry).values


def widened(values: Floats, width: int) -> Floats:
    """Give rows room for `width` numbers: a block of errors alone does not know how many there are."""
    missing = width - values.shape[1]
    return values if missing <= 0 else np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)


def npy(values: Floats) -> bytes:
    """The bytes of a .npy file."""
    file = BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()


def missing_rows(kept: Sequence[Block], rows: int) -> NDArray[np.int64]:
    """The rows that no kept block answers."""
    answered = np.zeros(rows, bool)
    for block in kept:
        answered[block.start : block.stop] = True
    return np.flatnonzero(~answered)
