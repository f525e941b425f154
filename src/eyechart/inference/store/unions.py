"""The union of two entries that are not sealed: each has answers that are not in the other one."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import msgspec
import numpy as np

from eyechart.inference.store import arrays, responses
from eyechart.inference.store.entries import Writer, read_parts
from eyechart.models.types import Floats


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
                yield msgspec.json.encode(msgspec.structs.replace(block, rows=rows)), _to_bytes(values[new])

    def add(self) -> bool:
        """Add the rows that are missing, and put all in order; return whether there were any."""
        added = False
        for header, payload in self.missing():
            self.writer.append(header, payload)
            added = True
        if added:
            arrays.compact(self.writer)
        return added


def _to_bytes(values: Floats) -> bytes:
    """Return the bytes of rows as a block has them."""
    return np.ascontiguousarray(values, dtype="<f4").tobytes()


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
    def own(self) -> dict[str, responses.StoredResponse]:
        """The responses of the entry that is written."""
        return responses.read_stored(self.writer)

    @cached_property
    def others(self) -> dict[str, responses.StoredResponse]:
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
        both = self.others | self.own
        for index in self.own.keys() & self.others.keys():
            if self.own[index][0] == self.others[index][0]:
                both[index] = min(self.own[index], self.others[index], key=lambda stored: stored[1].counts)
        if both != self.own:
            responses.compact(self.writer, both)
        return both != self.own


def union_with(writer: Writer, folder: Path) -> _RowUnion | _ResponseUnion:
    """Return the union of an entry that is written with another one in a folder, by the kind of their blocks."""
    header = next((header for header, _ in read_parts(folder)), b"{}")
    kind = _RowUnion if "rows" in msgspec.json.decode(header, type=dict) else _ResponseUnion
    return kind(writer, Writer(folder))
