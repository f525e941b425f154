"""The union of two entries that are not sealed: each has answers that are not in the other one."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import msgspec

from eyechart.inference.store import arrays, responses
from eyechart.inference.store.entries import Writer, read_parts


@dataclass(frozen=True)
class _RowUnion:
    """The union of rows of numbers. One block is in memory at a time, and a digest of each row."""

    writer: Writer
    source: Writer

    @cached_property
    def own(self) -> dict[int, bytes]:
        """The digests of the rows of the entry that is written."""
        return dict(_row_digests(self.writer))

    def differs(self) -> bool:
        """Return whether a row that both entries have has other numbers."""
        return any(self.own.get(row, digest) != digest for row, digest in _row_digests(self.source))

    def add(self) -> bool:
        """Add the rows that are missing, and put all in order; return whether there were any."""
        there = {*self.own}
        for block, values in arrays.read_blocks(self.source):
            new = [number for number, row in enumerate(block.rows) if row not in there]
            if new:
                rows = tuple(block.rows[number] for number in new)
                arrays.append(self.writer, msgspec.structs.replace(block, rows=rows), values[new])
                there.update(rows)
        if len(there) > len(self.own):
            arrays.compact(self.writer)
        return len(there) > len(self.own)


def _row_digests(held: Writer) -> Iterator[tuple[int, bytes]]:
    """Yield the number of each row and a digest of its numbers."""
    for block, values in arrays.read_blocks(held):
        for row, numbers in zip(block.rows, values, strict=True):
            yield row, blake2b(numbers.tobytes(), digest_size=8).digest()


@dataclass(frozen=True)
class _ResponseUnion:
    """The union of responses. If both entries have a response, the smaller usage of tokens is kept."""

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

    def differs(self) -> bool:
        """Return whether a request that both entries have has another response."""
        return any(self.own[index][0] != self.others[index][0] for index in self.own.keys() & self.others.keys())

    def add(self) -> bool:
        """Add the responses that are missing, and put all in order; return whether anything changed."""
        both = dict(self.own)
        for index, other in self.others.items():
            both[index] = min(both.get(index, other), other, key=lambda stored: stored[1].counts)
        if both != self.own:
            responses.compact(self.writer, both)
        return both != self.own


def union_with(writer: Writer, folder: Path) -> _RowUnion | _ResponseUnion:
    """Return the union of an entry that is written with another one in a folder, by the kind of their blocks."""
    header = next((header for header, _ in read_parts(folder)), b"{}")
    kind = _RowUnion if "rows" in msgspec.json.decode(header, type=dict) else _ResponseUnion
    return kind(writer, Writer(folder))
