"""Stored answers that are rows of numbers: features, logits, class weights, log-probabilities.

Rows of images are numbered as in the index of the whole split, whatever part of it a run evaluates: a run adds the rows
that it asks for, and the entry is sealed when all rows of the split are there. Rows that ended in an error are never
stored, so that the next run asks for them again.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from io import BytesIO
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.inference.store import StoreEntry, Writer
from eyechart.models.types import Floats

FILE = "answers.npy"
BLOCK_ROWS = 256  # rows of a block after tidying


@dataclass(frozen=True)
class CachedArray:
    """One row per sample, of shape (n, d), and the errors by row.

    `reduced` counts the stored rows that were answered in smaller batches after memory ran out, by the batch size.
    """

    values: Floats
    errors: Mapping[int, str]
    reduced: Mapping[int, int] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of numbers that are made of these rows must know."""
        return tuple(
            f"{count} stored rows were answered in batches of {size} after memory ran out; they may differ from those "
            "of full batches in the last digits."
            for size, count in self.reduced.items()
        )


def all_failed(kept: CachedArray) -> bool:
    """Whether every image ended in an error, so that not even the length of an answer is known."""
    return len(kept.errors) == len(kept.values)


class Block(msgspec.Struct, frozen=True, omit_defaults=True):
    """The header of a block: its rows, each of `width` numbers; `batch` is the batch size after memory ran out."""

    rows: tuple[int, ...]
    width: int
    batch: int = 0


class Done(msgspec.Struct, frozen=True, omit_defaults=True):
    """Written last: the answers beside it are whole."""

    rows: int
    width: int
    sha256: str
    reduced: dict[int, int] = {}


def load(entry: StoreEntry) -> CachedArray:
    """Return all rows of a sealed entry."""
    done = entry.read_done(Done)
    path = entry.verified_path(FILE, done.sha256)
    return CachedArray(np.load(path, mmap_mode="r", allow_pickle=False), {}, done.reduced)


def append(writer: Writer, block: Block, values: Floats) -> None:
    """Keep the rows of one block."""
    writer.append(msgspec.json.encode(block), np.ascontiguousarray(values, dtype="<f4").tobytes())


def read_blocks(held: StoreEntry | Writer) -> Iterator[tuple[Block, Floats]]:
    """The blocks that are there."""
    for header, payload in held.blocks():
        block = msgspec.json.decode(header, type=Block)
        yield block, np.frombuffer(payload, "<f4").reshape(len(block.rows), block.width)


def stored_rows(held: StoreEntry | Writer) -> set[int]:
    """Return the numbers of the rows that are there."""
    return {row for block, _ in read_blocks(held) for row in block.rows}


def gather(held: StoreEntry | Writer, rows: Sequence[int]) -> tuple[CachedArray, NDArray[np.bool_]]:
    """Return the given rows as far as they are there, NaN for the others, and which are."""
    places = {row: place for place, row in enumerate(rows)}
    values, there = np.zeros((len(rows), 0), np.float32), np.zeros(len(rows), bool)
    reduced: Counter[int] = Counter()
    for block, block_values in read_blocks(held):
        if block.batch:
            reduced[block.batch] += len(block.rows)
        wanted = [(number, places[row]) for number, row in enumerate(block.rows) if row in places]
        if wanted:
            if not values.shape[1]:
                values = np.full((len(rows), block.width), np.nan, np.float32)
            numbers, to = map(list, zip(*wanted, strict=True))
            values[to] = block_values[numbers]
            there[to] = True
    return CachedArray(values, {}, dict(sorted(reduced.items()))), there


def compact(writer: Writer) -> None:
    """Put the rows of an entry that is not sealed in order, so that its bytes do not tell in which steps it grew."""
    sizes = {row: block.batch for block, _ in read_blocks(writer) for row in block.rows}
    rows = sorted(sizes)
    stored, _ = gather(writer, rows)

    def ordered() -> Iterator[tuple[bytes, bytes]]:
        for batch, group in groupby(enumerate(rows), key=lambda numbered_row: sizes[numbered_row[1]]):
            some = [*group]
            for start in range(0, len(some), BLOCK_ROWS):
                places, numbers = zip(*some[start : start + BLOCK_ROWS], strict=True)
                block = Block(numbers, stored.values.shape[1], batch)
                yield msgspec.json.encode(block), stored.values[list(places)].astype("<f4").tobytes()

    writer.replace(ordered())


def seal(writer: Writer, rows: int) -> None:
    """Turn the parts into one file of all rows, in their order. StoreError if one is missing."""
    there, width = np.zeros(rows, bool), 0
    reduced: Counter[int] = Counter()
    for block, _ in read_blocks(writer):
        there[list(block.rows)], width = True, block.width
        reduced.update({block.batch: len(block.rows)} if block.batch else {})
    if missing := np.flatnonzero(~there).tolist():
        raise writer.incomplete(f"{len(missing)} of {rows} rows are missing, the first {missing[0]}")
    with writer.draft(FILE) as path:
        with path.open("wb") as file:  # and not a memory map: a full disk ends that with SIGBUS
            header = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
            np.lib.format.write_array_header_1_0(file, header)
            begin = file.tell()
            for block, block_values in read_blocks(writer):
                for row, values in zip(block.rows, block_values, strict=True):
                    file.seek(begin + row * width * values.itemsize)
                    file.write(values.tobytes())
            file.flush()
            os.fsync(file.fileno())
        done = Done(rows, width, file_sha256(path), dict(sorted(reduced.items())))
        writer.seal({FILE: path}, done)


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def read_or_compute(entry: StoreEntry, make: Callable[[], Floats]) -> Floats:
    """Rows that are made in one go, or were before; those that hold NaN or infinity are not stored."""
    if not entry.complete:
        with entry.lock_for_writing() as writer:
            if not entry.complete:
                values = np.ascontiguousarray(make(), dtype="<f4")
                if not np.isfinite(values).all():
                    return values
                content = npy_bytes(values)
                writer.seal({FILE: content}, Done(len(values), values.shape[1], sha256(content).hexdigest()))
    return load(entry).values


def npy_bytes(values: Floats) -> bytes:
    """The bytes of a .npy file."""
    file = BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()
