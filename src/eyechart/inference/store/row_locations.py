"""Where the rows of an entry are in its parts, so that they are read in their order without all in memory."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import StoreError
from eyechart.models.types import Floats

ITEM = 4  # bytes of a number


@dataclass(frozen=True)
class RowLocations:
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
            files = [stack.enter_context(open_part(path)) for path in self.paths]
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


def open_part(path: Path) -> BinaryIO:
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
