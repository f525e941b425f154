"""Aggregate annotated objects to counts, and to which counts are known and complete."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.oodbench.data.annotation import Bools, Counts

Ints = NDArray[np.int64]


class Tally(NamedTuple):
    """The arrays of an annotation, each (pictures, categories)."""

    counts: Counts
    known: Bools
    countable: Bools


def tally_instances(shape: tuple[int, int], things: Ints, crowds: Ints, doubtful: Ints) -> Tally:
    """Return the tally of objects, each a row (image, category).

    A crowd counts as one object and makes the count incomplete. A doubtful object (occluded or invalid) is not counted:
    it makes its category unknown if there is no other object, and the count incomplete otherwise.

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
