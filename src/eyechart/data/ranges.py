"""Where species live, as boxes of latitudes and longitudes: who may have been seen at a place."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.data.tables import Table, read_table
from eyechart.data.taxonomy import SPECIES, Taxonomy, named
from eyechart.errors import DataError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
SIDES = ("south", "north", "west", "east")
LIMITS = {"south": 90, "north": 90, "west": 180, "east": 180, "latitude": 90, "longitude": 180}
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Ranges:
    """Boxes (b,): the species of each and its sides in degrees; west > east crosses the 180th meridian."""

    species: Ints
    south: Floats
    north: Floats
    west: Floats
    east: Floats

    def at(self, latitude: Floats, longitude: Floats) -> tuple[Ints, Ints]:
        """Return the places' rows and the species that live there, both ascending; nobody lives at NaN."""
        parts = [*self._blocks(latitude, longitude)] or [np.empty((2, 0), np.int64)]
        rows, species = np.concatenate(parts, axis=1)
        return rows, species

    def _blocks(self, latitude: Floats, longitude: Floats) -> Iterator[Ints]:
        width = int(self.species.max(initial=-1)) + 1
        for start in range(0, len(latitude), BLOCK):
            rows, boxes = np.nonzero(self._inside(latitude[start : start + BLOCK], longitude[start : start + BLOCK]))
            pairs = np.unique((rows + start) * width + self.species[boxes])
            yield np.stack(np.divmod(pairs, width or 1))

    def _inside(self, latitude: Floats, longitude: Floats) -> NDArray[np.bool_]:
        """Return (places, boxes)."""
        up, right = latitude[:, None], longitude[:, None]
        after, before = self.west <= right, right <= self.east
        across = np.where(self.west <= self.east, after & before, after | before)
        found: NDArray[np.bool_] = (self.south <= up) & (up <= self.north) & across & ~np.isnan(right)
        return found


def read_ranges(path: str | Path, taxonomy: Taxonomy) -> Ranges:
    """Read a table with the columns species, south, north, west, east; a species may have several boxes.

    Raises DataError naming the line: an unknown species, a side that is no number or off the globe, south of north.
    """
    table = read_table(path, (SPECIES, *SIDES))
    species = np.array([named(table, row, table[SPECIES][row], taxonomy) for row in range(len(table))], np.int64)
    sides = [np.array([degrees(table, row, side) for row in range(len(table))]) for side in SIDES]
    for row in np.flatnonzero(sides[0] > sides[1])[:1].tolist():
        raise DataError(f"{table.where(row)} has south {sides[0][row]} above north {sides[1][row]}: swap them.")
    return Ranges(species, *sides)


def degrees(table: Table, row: int, column: str) -> float:
    """Return a cell in degrees; raises DataError for one that is no number or beyond 90 or 180."""
    cell, limit = table[column][row], LIMITS[column]
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not -limit <= value <= limit:
        raise DataError(
            f"{table.where(row)} has the {column} '{cell}', expected degrees from -{limit} to {limit}: correct it."
        )
    return value
