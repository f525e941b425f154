"""From things found in pictures to what is present, known and countable."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.data.detection.annotation import Bools, Counts

Ints = NDArray[np.int64]


class Tally(NamedTuple):
    """The arrays of an annotation, each (pictures, categories)."""

    counts: Counts
    known: Bools
    countable: Bools


def tally_instances(shape: tuple[int, int], things: Ints, crowds: Ints, doubtful: Ints) -> Tally:
    """Count things, each a row (picture, category).

    A crowd is at least one thing, of unknown number. Something doubtful (too hidden or broken to say that it can be
    seen) is not counted; without another thing of its category it leaves the category unknown, not absent, and beside
    others it leaves their number open.

    >>> tally = tally_instances((1, 3), np.array([[0, 0]]), np.array([[0, 1]]), np.array([[0, 0], [0, 2]]))
    >>> tally.counts.tolist(), tally.known.tolist(), tally.countable.tolist()
    ([[1, 1, 0]], [[True, True, False]], [[False, False, False]])
    """
    counts = np.zeros(shape, dtype=np.int32)
    np.add.at(counts, _cells(things), 1)
    np.add.at(counts, _cells(crowds), 1)
    crowded, unclear = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    crowded[_cells(crowds)] = True
    unclear[_cells(doubtful)] = True
    return Tally(counts, (counts > 0) | ~unclear, ~crowded & ~unclear)


def _cells(cells: Ints) -> tuple[Ints, Ints]:
    pairs = np.asarray(cells, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
