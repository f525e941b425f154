"""Stored answers that are rows of numbers: features, logits, class weights, log-probabilities.

Rows of images are numbered as in the index of the whole split, whatever part of it a run evaluates: a run adds the rows
that it asks for, and the entry is sealed when all rows of the split are there. Rows that ended in an error are never
stored, so that the next run asks for them again.
"""

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from itertools import chain, pairwise
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.errors import StoreError
from eyechart.inference.store.entries import StoreEntry, Writer, find_blocks
from eyechart.models.types import Floats

ANSWERS_FILE = "answers.npy"
BLOCK_ROWS, READ_ROWS = 256, 64  # rows of a block after compaction, and rows that are read at once for sealing
ITEM = 4  # bytes of a number


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


class _Done(msgspec.Struct, frozen=True, omit_defaults=True):
    """Written last: the answers beside it are whole."""

    rows: int
    width: int
    sha256: str
    reduced: dict[int, int] = {}


def load(entry: StoreEntry) -> CachedArray:
    """Return all rows of a sealed entry."""
    done = entry.read_done(_Done)
    path = entry.verified_path(ANSWERS_FILE, done.sha256)
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
    indices = {row: index for index, row in enumerate(rows)}
    values, there = np.zeros((len(rows), 0), np.float32), np.zeros(len(rows), bool)
    reduced: Counter[int] = Counter()
    for block, block_values in read_blocks(held):
        if block.batch:
            reduced[block.batch] += len(block.rows)
        wanted = [(number, indices[row]) for number, row in enumerate(block.rows) if row in indices]
        if wanted:
            if not values.shape[1]:
                values = np.full((len(rows), block.width), np.nan, np.float32)
            numbers, to = map(list, zip(*wanted, strict=True))
            values[to] = block_values[numbers]
            there[to] = True
    return CachedArray(values, {}, dict(sorted(reduced.items()))), there


@dataclass(frozen=True)
class _RowLocations:
    """Each stored row once, in ascending order: its number, file, offset in bytes, and batch size as in `Block`.

    The arrays have shape (rows,). `files` has indices into `paths`. Each row has `width` numbers of float32.
    """

    paths: tuple[Path, ...]
    width: int
    rows: NDArray[np.int64]
    files: NDArray[np.int64]
    offsets: NDArray[np.int64]
    batches: NDArray[np.int64]

    def spans(self, most: int) -> Iterator[tuple[int, int]]:
        """Divide the rows into spans (start, stop) of one batch size and at most some rows."""
        changes = (1 + np.flatnonzero(np.diff(self.batches))).tolist()
        for first, last in pairwise([0, *changes, len(self.rows)]):
            for start in range(first, last, most):
                yield start, min(start + most, last)

    def read(self, spans: Iterable[tuple[int, int]]) -> Iterator[Floats]:
        """Yield the values of each span of rows, of shape (stop - start, width)."""
        with ExitStack() as stack:
            files = [stack.enter_context(_open_part(path)) for path in self.paths]
            for start, stop in spans:
                values = np.empty((stop - start, self.width), "<f4")
                for first, last in self.runs(start, stop):
                    _read_into(files[self.files[first]], self.offsets[first], values[first - start : last - start])
                yield values

    def runs(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Divide a span of rows into runs that follow one another in a file."""
        files, offsets = self.files[start:stop], self.offsets[start:stop]
        apart = (np.diff(files) != 0) | (np.diff(offsets) != ITEM * self.width)
        return pairwise([start, *(start + 1 + np.flatnonzero(apart)).tolist(), stop])


def _open_part(path: Path) -> BinaryIO:
    """Open a part for reading. Raises StoreError if it is gone."""
    try:
        return path.open("rb")
    except OSError as error:
        raise StoreError(f"The kept answers {path} cannot be read: {error.strerror or error}. Run again.") from error


def _read_into(file: BinaryIO, offset: int, values: Floats) -> None:
    """Fill an array from an offset in a part. Raises StoreError if the part ends before."""
    file.seek(offset)
    content = file.read(values.nbytes)
    if len(content) < values.nbytes:
        raise StoreError(f"The kept answers {file.name} became shorter while they were read. Run again.")
    values[:] = np.frombuffer(content, "<f4").reshape(values.shape)


def find_rows(writer: Writer) -> _RowLocations:
    """Return where the rows are; of a row that is there twice, the last index."""
    # Only the locations of rows are held in memory. A large split has more values than fit there.
    paths, width = dict[Path, int](), 0
    columns = rows, files, offsets, batches = array("q"), array("q"), array("q"), array("q")
    for part in find_blocks(writer.folder):
        block = msgspec.json.decode(part.header, type=Block)
        count, width = len(block.rows), block.width
        rows.extend(block.rows)
        files.extend([paths.setdefault(part.path, len(paths))] * count)
        offsets.extend(part.offset + ITEM * width * number for number in range(count))
        batches.extend([block.batch] * count)
    # `np.unique` returns the first index of equal rows: backwards, that is the last one, which is the newest.
    backwards = [np.frombuffer(column, np.int64)[::-1] for column in columns]
    last = np.unique(backwards[0], return_index=True)[1]
    return _RowLocations(tuple(paths), width, *(column[last] for column in backwards))


def compact(writer: Writer) -> None:
    """Rewrite an unsealed entry sorted by row, so that its bytes do not depend on the order of arrival."""
    locations = find_rows(writer)
    spans = [*locations.spans(BLOCK_ROWS)]

    def ordered() -> Iterator[tuple[bytes, bytes]]:
        for (start, stop), values in zip(spans, locations.read(spans), strict=True):
            rows = tuple(locations.rows[start:stop].tolist())
            yield msgspec.json.encode(Block(rows, locations.width, int(locations.batches[start]))), values.tobytes()

    writer.replace(ordered())


def seal(writer: Writer, rows: int) -> None:
    """Turn the parts into one file of all rows, in their order. StoreError if one is missing."""
    locations = find_rows(writer)
    if missing := np.setdiff1d(np.arange(rows), locations.rows).tolist():
        raise writer.incomplete(f"{len(missing)} of {rows} rows are missing, the first {missing[0]}")
    sizes, counts = np.unique(locations.batches[locations.batches > 0], return_counts=True)
    reduced = dict(zip(sizes.tolist(), counts.tolist(), strict=True))
    with writer.draft(ANSWERS_FILE) as path:
        digest = _write_npy(path, (rows, locations.width), locations.read(locations.spans(READ_ROWS)))
        writer.seal({ANSWERS_FILE: path}, _Done(rows, locations.width, digest, reduced))


def _write_npy(path: Path, shape: tuple[int, int], values: Iterable[Floats]) -> str:
    """Write arrays one after another as one .npy file of a shape; return its sha256."""
    digest = sha256()
    contents: Iterable[bytes | memoryview] = chain([_npy_header(shape)], (rows.data for rows in values))
    with path.open("wb") as file:  # and not a memory map: a full disk ends that with SIGBUS
        for content in contents:
            file.write(content)
            digest.update(content)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _npy_header(shape: tuple[int, int]) -> bytes:
    """Return the beginning of a .npy file of float32."""
    file = BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return file.getvalue()


def read_or_compute(entry: StoreEntry, make: Callable[[], Floats]) -> Floats:
    """Rows that are made in one go, or were before; those that hold NaN or infinity are not stored."""
    if not entry.complete:
        with entry.lock_for_writing() as writer:
            if not entry.complete:
                values = np.ascontiguousarray(make(), dtype="<f4")
                if not np.isfinite(values).all():
                    return values
                content = _npy_bytes(values)
                writer.seal({ANSWERS_FILE: content}, _Done(len(values), values.shape[1], sha256(content).hexdigest()))
    return load(entry).values


def _npy_bytes(values: Floats) -> bytes:
    """The bytes of a .npy file."""
    file = BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()
