"""Ranges of species as boxes of latitude and longitude."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.data.tables import Table, read_table
from eyechart.errors import DataError
from eyechart.realbirdid.data.taxonomy import SPECIES, Taxonomy, find_taxon

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
SIDES = ("south", "north", "west", "east")
LIMITS = {"south": 90, "north": 90, "west": 180, "east": 180, "latitude": 90, "longitude": 180}
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Ranges:
    """Boxes (b,): the species and the sides in degrees; west > east crosses the 180th meridian."""

    species: Ints
    south: Floats
    north: Floats
    west: Floats
    east: Floats

    def species_at(self, latitude: Floats, longitude: Floats) -> list[Ints]:
        """Return the species whose range contains each location, ascending; none at NaN."""
        blocks = (slice(start, start + BLOCK) for start in range(0, len(latitude), BLOCK))
        return [here for block in blocks for here in self._block(latitude[block], longitude[block])]

    def _block(self, latitude: Floats, longitude: Floats) -> list[Ints]:
        order = np.argsort(self.species, kind="stable")
        species, first = np.unique(self.species[order], return_index=True)
        inside = np.logical_or.reduceat(self._inside(latitude, longitude)[:, order], first, axis=1)
        rows, columns = np.nonzero(inside)
        return np.split(species[columns], np.searchsorted(rows, np.arange(1, len(latitude))))

    def _inside(self, latitude: Floats, longitude: Floats) -> NDArray[np.bool_]:
        """Return the mask (locations, boxes) of boxes that contain a location."""
        up, right = latitude[:, None], longitude[:, None]
        after, before = self.west <= right, right <= self.east
        across = np.where(self.west <= self.east, after & before, after | before)
        inside: NDArray[np.bool_] = (self.south <= up) & (up <= self.north) & across & ~np.isnan(right)
        return inside


def read_ranges(path: str | Path, taxonomy: Taxonomy) -> Ranges:
    """Read a table with the columns species, south, north, west and east; a species may have several boxes.

    Raises DataError, which names the line, for an unknown species, an invalid coordinate, and south above north.
    """
    table = read_table(path, (SPECIES, *SIDES))
    species = np.array([find_taxon(table, row, table[SPECIES][row], taxonomy) for row in range(len(table))], np.int64)
    sides = [np.array([parse_degrees(table, row, side) for row in range(len(table))]) for side in SIDES]
    for row in np.flatnonzero(sides[0] > sides[1])[:1].tolist():
        raise DataError(f"{table.location(row)} has south {sides[0][row]} above north {sides[1][row]}: swap them.")
    return Ranges(species, *sides)


def parse_degrees(table: Table, row: int, column: str) -> float:
    """Return a cell in degrees; raises DataError for a cell that is no number or out of range."""
    cell, limit = table[column][row], LIMITS[column]
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not -limit <= value <= limit:
        raise DataError(
            f"{table.location(row)} has the {column} '{cell}', expected degrees from -{limit} to {limit}, such as "
            f"{limit / 2}: correct it."
        )
    return value
