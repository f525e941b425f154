"""Read and check the table of observations with its taxonomy and ranges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.data.names import fold_name
from eyechart.data.tables import LIST_SEPARATOR, Table, check_unique, find_table, read_table
from eyechart.errors import DataError
from eyechart.messages.suggestions import did_you_mean
from eyechart.realbirdid.data.observations import DATES, REASONS, Observations
from eyechart.realbirdid.data.ranges import Ranges, parse_degrees, read_ranges
from eyechart.realbirdid.data.taxonomy import Taxonomy, find_taxon, read_taxonomy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
IMAGE, OBSERVATION = "image", "observation_id"
COLUMNS = (IMAGE, OBSERVATION, "species", "genus", "answerable", "reason", "latitude", "longitude", "candidates")
_DAY = len("YYYY-MM-DD")
ANSWERABLE = {"1": True, "true": True, "0": False, "false": False}


def read_birds(folder: Path) -> Table:
    """Read the table of birds of a folder; raises DataError for a repeated image."""
    table = read_table(_require_table(folder, "birds"), COLUMNS)
    check_unique(table, IMAGE, str)
    return table


def parse_reason(subject: str, reason: str) -> int:
    """Return the index of a reason in REASONS, -1 for an empty cell.

    Raises DataError, which names the `subject`, for an unknown reason.
    """
    if reason and fold_name(reason) not in REASONS:
        near = did_you_mean(fold_name(reason), REASONS)
        raise DataError(f"{subject} has the reason '{reason}', expected {', '.join(REASONS)} or none{near}")
    return REASONS.index(fold_name(reason)) if reason else -1


def parse_observations(folder: Path, table: Table) -> Observations:
    """Return the observations of the rows of a table, with the tables taxonomy and optionally ranges of a folder.

    Candidates come from the table, else they are the species whose range contains the location. Raises DataError, with
    file and line, for contradictions; missing locations and lists without the true species are allowed and counted.
    """
    taxonomy = read_taxonomy(_require_table(folder, "taxonomy"))
    reader = _RowParser(table, taxonomy)
    known = [reader.known(row) for row in range(len(table))]
    species, genus, reason = np.ascontiguousarray(np.array(known, np.int64).reshape(-1, 3).T)
    locations = np.array([reader.location(row) for row in range(len(table))], np.float64).reshape(-1, 2)
    latitude, longitude = np.ascontiguousarray(locations.T)
    lists = reader.lists()
    if where := find_table(folder, "ranges"):
        _fill_candidates(lists, latitude, longitude, read_ranges(where, taxonomy))
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    candidates = np.concatenate([np.empty(0, np.int64), *lists])
    ids = tuple(identifier or image for identifier, image in zip(table[OBSERVATION], table[IMAGE], strict=True))
    dates = {name: parse_days(table, name) for name in DATES if any(table.columns.get(name, ()))}
    return Observations(taxonomy, ids, species, genus, reason, latitude, longitude, offsets, candidates, dates)


def parse_days(table: Table, column: str, rows: Sequence[int] | None = None) -> tuple[str, ...]:
    """Return the day of each cell of a column, "" for an empty one; a time after the day is dropped.

    Raises DataError, which names the line, for a cell that does not begin with a day, in all rows or only in `rows`.
    """
    days = tuple(cell.strip()[:_DAY] for cell in table[column])
    for row in range(len(days)) if rows is None else rows:
        try:
            if day := days[row]:
                date.fromisoformat(day)
        except ValueError:
            raise DataError(
                f"{table.location(row)} has '{table[column][row]}' as {column}, expected a day such as 2024-05-31, "
                "with or without a time, or nothing."
            ) from None
    return days


def _require_table(folder: Path, stem: str) -> Path:
    path = find_table(folder, stem)
    if path is None:
        raise DataError(f"{folder} has no {stem}.csv and no {stem}.parquet: put one there.")
    return path


def _fill_candidates(lists: list[Ints], latitude: Floats, longitude: Floats, ranges: Ranges) -> None:
    """Fill empty candidate lists with the species whose range contains the location."""
    bare = np.flatnonzero(~np.isnan(latitude) & [not len(own) for own in lists])
    for row, here in zip(bare.tolist(), ranges.species_at(latitude[bare], longitude[bare]), strict=True):
        lists[row] = here


@dataclass(frozen=True)
class _RowParser:
    """Parses the cells of a row; raises DataError for invalid ones."""

    table: Table
    taxonomy: Taxonomy

    @cached_property
    def exact(self) -> Mapping[str, int]:
        """The index of each species by its exact name."""
        return {name: index for index, name in enumerate(self.taxonomy.names[0])}

    def known(self, row: int) -> tuple[int, int, int]:
        """Return the indices of species, genus and reason."""
        name, genus, reason = (self.table[column][row] for column in ("species", "genus", "reason"))
        if self._answerable(row):
            return self._answer(row, name, genus, reason)
        if name:
            self._refuse(
                row,
                f"is unanswerable and has the species {name}: leave the species empty and give the genus alone, or "
                "make it answerable",
            )
        if not genus:
            self._refuse(row, "is unanswerable and has no genus: give the genus, which can be identified")
        return -1, find_taxon(self.table, row, genus, self.taxonomy, 1), self._reason(row, reason)

    def _answer(self, row: int, name: str, genus: str, reason: str) -> tuple[int, int, int]:
        if not name:
            self._refuse(row, "is answerable and has no species: give it, or make the image unanswerable")
        if reason:
            self._refuse(row, f"is answerable and has the reason '{reason}': leave it empty, or make it unanswerable")
        species = find_taxon(self.table, row, name, self.taxonomy)
        above = int(self.taxonomy.parents[0][species])
        if genus and self.taxonomy.index_by_name[1].get(fold_name(genus)) != above:
            self._refuse(
                row,
                f"has {name} in the genus {genus}, and {self.taxonomy.source} in {self.taxonomy.names[1][above]}: "
                "correct one of them",
            )
        return species, above, -1

    def _answerable(self, row: int) -> bool:
        cell = self.table["answerable"][row]
        if fold_name(cell) not in ANSWERABLE:
            self._refuse(row, f"has '{cell}' as answerable: expected 0, 1, true or false")
        return ANSWERABLE[fold_name(cell)]

    def _reason(self, row: int, reason: str) -> int:
        return parse_reason(self._subject(row), reason)

    def _subject(self, row: int) -> str:
        return f"{self.table.location(row)}: {self.table[IMAGE][row]}"

    def location(self, row: int) -> tuple[float, float]:
        """Return latitude and longitude, NaN if both are empty."""
        cells = [self.table[side][row] for side in ("latitude", "longitude")]
        if not any(cells):
            return np.nan, np.nan
        if not all(cells):
            there, lost = ("latitude", "longitude") if cells[0] else ("longitude", "latitude")
            self._refuse(row, f"has a {there} and no {lost}: give both, or neither")
        return parse_degrees(self.table, row, "latitude"), parse_degrees(self.table, row, "longitude")

    def lists(self) -> list[Ints]:
        """Return the candidate species of every row, unique and ascending."""
        read: dict[str, Ints] = {"": np.empty(0, np.int64)}
        for row, cell in enumerate(self.table["candidates"]):
            if cell not in read:
                read[cell] = self._list(row, cell.split(LIST_SEPARATOR))
        return [read[cell] for cell in self.table["candidates"]]

    def _list(self, row: int, names: Sequence[str]) -> Ints:
        try:
            indices = [*map(self.exact.__getitem__, names)]
        except KeyError:
            indices = self._parse_names(row, names)
        there = np.zeros(len(self.taxonomy), np.bool_)
        there[indices] = True
        return np.flatnonzero(there)

    def _parse_names(self, row: int, names: Sequence[str]) -> list[int]:
        """Return the indices of names that differ in spelling from the taxonomy; a list may end with a separator."""
        stripped = [name for name in map(str.strip, names) if name]
        for name in stripped:
            if {",", "|"} & {*name} and fold_name(name) not in self.taxonomy.index_by_name[0]:
                self._refuse(row, f"has the candidate '{name}': join several species by '{LIST_SEPARATOR}'")
        return [find_taxon(self.table, row, name, self.taxonomy, what="candidate species") for name in stripped]

    def _refuse(self, row: int, what: str) -> None:
        raise DataError(f"{self._subject(row)} {what}.")
