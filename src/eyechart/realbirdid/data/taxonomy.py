"""Read a taxonomy: a table with one row per species and one column per level (genus, family, …)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.data.names import fold_name, spaced
from eyechart.data.tables import Table, check_unique, read_table
from eyechart.errors import DataError
from eyechart.messages.suggestions import did_you_mean

Ints = NDArray[np.int64]
SPECIES, GENUS = "species", "genus"
_REQUIRED = (SPECIES, GENUS)
LEVELS = (
    *(SPECIES, GENUS, "subtribe", "tribe", "supertribe", "subfamily", "family", "superfamily", "infraorder"),
    *("suborder", "order", "superorder", "infraclass", "subclass", "class", "subphylum", "phylum", "kingdom"),
)
COMMON_NAME = "common_name"
_SIMILARITY_CUTOFF = 0.85  # `difflib` similarity from which a column name counts as misspelled


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A taxonomic tree by levels, the finest first, without the root.

    `names[k]` are the names at level k, `common` the common names of the species ("" if none), and `parents[k]` the
    indices of level k's parents at level k + 1. `source` is the file.
    """

    levels: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    common: tuple[str, ...]
    parents: tuple[Ints, ...]
    source: str = "The taxonomy"

    def __len__(self) -> int:
        return len(self.names[0])

    @cached_property
    def ancestors(self) -> tuple[Ints, ...]:
        """The index of every species' ancestor at each level; at level 0 its own index."""
        ancestors = [np.arange(len(self), dtype=np.int64)]
        for above in self.parents:
            ancestors.append(above[ancestors[-1]])
        return tuple(ancestors)

    @cached_property
    def index_by_name(self) -> tuple[Mapping[str, int], ...]:
        """The index of each name at every level, by stripped and casefolded name."""
        return tuple({fold_name(name): index for index, name in enumerate(names)} for names in self.names)

    def index_of(self, level: int, name: str) -> int:
        """Return the index of a name at a level, ignoring case; raises DataError for an unknown name."""
        index = self.index_by_name[level].get(fold_name(name))
        if index is None:
            raise DataError(
                f"{self.source} has no {self.levels[level]} '{name}'{did_you_mean(name, self.names[level])} Add it, or "
                "correct the name."
            )
        return index

    @cached_property
    def sha256(self) -> str:
        """The sha256 of the levels, the names and the tree."""
        lines = [self.levels, *self.names, self.common]
        whole = sha256("".join("\t".join(line) + "\n" for line in lines).encode())
        for above in self.parents:
            whole.update(above.astype("<i8").tobytes())
        return whole.hexdigest()


def read_taxonomy(path: str | Path) -> Taxonomy:
    """Read a table with the columns species, genus, any others of LEVELS, and common_name; other columns are ignored.

    Species keep the order of the table, other names that of their first species. Raises DataError, which names the
    lines, for a repeated species, a name with two parents, without a parent, with two spellings or on two levels, a
    cycle, and a column name that is similar to one of these.
    """
    table = _with_spaces(read_table(path, _REQUIRED, optional=(*LEVELS, COMMON_NAME)))
    _check_columns(table)
    levels = tuple(level for level in LEVELS if level in table.columns)
    _check_orphans(table, levels)
    _check_two_genera(table)
    _check_cycle(table, levels)
    names_and_codes = [_names_and_codes(table, level) for level in levels]
    parents = tuple(
        _parents(table, pair, *both) for pair, both in zip(pairwise(levels), pairwise(names_and_codes), strict=True)
    )
    _check_levels(table, levels)
    common = tuple(table.columns.get(COMMON_NAME, [""] * len(table)))
    return Taxonomy(levels, tuple(names for names, _ in names_and_codes), common, parents, str(path))


def find_taxon(table: Table, row: int, name: str, taxonomy: Taxonomy, level: int = 0, *, what: str = "") -> int:
    """Return the index of a name that a row of another table has; raises DataError naming the row where it has none."""
    index = taxonomy.index_by_name[level].get(fold_name(name))
    if index is None:
        raise DataError(
            f"{table.location(row)} has the {what or taxonomy.levels[level]} '{name}', which is not in "
            f"{taxonomy.source}{did_you_mean(name, taxonomy.names[level])} Add it to the taxonomy, or correct the name."
        )
    return index


def common_names(taxonomy: Taxonomy) -> tuple[str, ...]:
    """Return the common names of the species as class names; raises DataError for missing and repeated names."""
    first: dict[str, int] = {}
    for index, name in enumerate(taxonomy.common):
        species = taxonomy.names[0][index]
        if not name:
            raise DataError(f"{taxonomy.source}: {species} has no common name: add it, or use the scientific names.")
        other = first.setdefault(fold_name(name), index)
        if other != index:
            raise DataError(
                f"{taxonomy.source}: {taxonomy.names[0][other]} and {species} have one common name, '{name}': rename "
                "one, or use the scientific names."
            )
    return taxonomy.common


def _with_spaces(table: Table) -> Table:
    """Return a table whose names have spaces instead of underscores, as prompts have them."""
    named = {name: [*map(spaced, table[name])] for name in (*LEVELS, COMMON_NAME) if name in table.columns}
    return replace(table, columns={**table.columns, **named})


def _check_columns(table: Table) -> None:
    """Raise DataError for a column name similar to a level, since the tree would silently be without this level."""
    known = (*LEVELS, COMMON_NAME)
    for column in table.columns:
        near = [] if column in known else get_close_matches(column, known, n=1, cutoff=_SIMILARITY_CUTOFF)
        if near and near[0] not in table.columns:
            raise DataError(
                f"{table.path} has the column '{column}', which is not read; did you mean {near[0]}? Rename it, to "
                "that or to something less like it."
            )


def _check_orphans(table: Table, levels: Sequence[str]) -> None:
    for below, level in zip(("", *levels), levels, strict=False):
        for row, name in enumerate(table[level]):
            if not name:
                what = f"{table[below][row]} has no {level}, an orphan" if below else "there is no species"
                raise DataError(f"{table.location(row)}: {what}: fill the column '{level}' in every row, or remove it.")


def _check_two_genera(table: Table) -> None:
    first: dict[str, int] = {}
    for row, (species, genus) in enumerate(zip(table[SPECIES], table[GENUS], strict=True)):
        other = first.setdefault(fold_name(species), row)
        if fold_name(table[GENUS][other]) != fold_name(genus):
            raise DataError(
                f"{table.location(row)} has {species} in the genus {genus}, and {table.row_label(other)} in "
                f"{table[GENUS][other]}: a species has one genus; remove one of the rows."
            )
    check_unique(table, SPECIES)


def _check_cycle(table: Table, levels: Sequence[str]) -> None:
    """Raise DataError for a name that is its own ancestor."""
    graph: dict[str, set[str]] = {}
    for below, above in pairwise(levels):
        for child, parent in zip(table[below], table[above], strict=True):
            graph.setdefault(fold_name(child), set()).add(fold_name(parent))
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        names = [*reversed(error.args[1])]
        row = next(row for row in range(len(table)) for level in levels if fold_name(table[level][row]) == names[0])
        raise DataError(
            f"{table.location(row)} begins a cycle: {' in '.join(names)}; a name cannot be its own ancestor: rename "
            "one of the two."
        ) from error


def _check_levels(table: Table, levels: Sequence[str]) -> None:
    first_by_name: dict[str, tuple[str, int]] = {}
    for level in levels:
        for row, name in enumerate(table[level]):
            other, line = first_by_name.setdefault(fold_name(name), (level, row))
            if other != level:
                raise DataError(
                    f"{table.location(row)} has '{name}' as {level}, and {table.row_label(line)} as {other}: rename "
                    "one of them, since names identify the nodes of the tree."
                )


def _names_and_codes(table: Table, level: str) -> tuple[tuple[str, ...], Ints]:
    """Return the names of a level in the order of their first rows, and the index of every row's name."""
    indices: dict[str, int] = {}
    codes = np.array([indices.setdefault(fold_name(name), len(indices)) for name in table[level]], np.int64)
    first = np.unique(codes, return_index=True)[1].tolist()
    names = tuple(table[level][row] for row in first)
    for row, name in enumerate(table[level]):
        if name != names[codes[row]]:
            raise DataError(
                f"{table.location(row)} has the {level} '{name}', and {table.row_label(first[codes[row]])} "
                f"'{names[codes[row]]}': spell one name in one way."
            )
    return names, codes


def _parents(
    table: Table, levels: tuple[str, str], below: tuple[tuple[str, ...], Ints], above: tuple[tuple[str, ...], Ints]
) -> Ints:
    first = np.unique(below[1], return_index=True)[1]
    parents: Ints = above[1][first]
    for row in np.flatnonzero(parents[below[1]] != above[1])[:1].tolist():
        other = int(first[below[1][row]])
        raise DataError(
            f"{table.location(row)} has the {levels[0]} {table[levels[0]][row]} in the {levels[1]} "
            f"{table[levels[1]][row]}, and {table.row_label(other)} in {table[levels[1]][other]}: give it "
            f"one {levels[1]}."
        )
    return parents
