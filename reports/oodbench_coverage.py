"""Which of OODBench's pairs are out of distribution for the models themselves: Figure 6 of arXiv 2602.18094."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eyechart.data.divisions import HARD, SIMPLE
from eyechart.errors import ReportError
from eyechart.metrics.overlap import coverage
from eyechart.metrics.yes_no import MISSING

from .answers import Bools, portion
from .categories import WILSON
from .oodbench_cases import EXISTENCE, about, alike, nothing
from .oodbench_pairs import Pairs, read_pairs
from .render import Number, Row, Table
from .runs import Entry, Group, Pool

SETS = {"OOD": (SIMPLE, HARD), SIMPLE: (SIMPLE,), HARD: (HARD,)}


@dataclass(frozen=True)
class Covered:
    """The pairs of one set that each model answers wrongly (models, pairs); `lost`: without all models' answers."""

    kind: str
    entries: tuple[Entry, ...]
    wrong: Bools
    lost: int

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return int(self.wrong.shape[1])

    @cached_property
    def shares(self) -> list[tuple[Number, Number, Number]]:
        """Of each model: its own pairs, those that no model before it has, and those that it or one before it has."""
        covered = coverage(self.wrong).covered
        added = np.diff(covered, prepend=0)
        counts = zip(self.wrong.sum(axis=1).tolist(), added.tolist(), covered.tolist(), strict=True)
        return [(portion(own, self.n), portion(more, self.n), portion(every, self.n)) for own, more, every in counts]


def covered(pool: Pool) -> list[tuple[Group, list[Covered]]]:
    """Each division's sets, asked in one way, with the models in the order of their own shares."""
    found = [(group, of_group(group)) for group in alike(pool, EXISTENCE)]
    if not any(each for _, each in found):
        what = "compares OODBench's pairs with those that models answer wrongly"
        raise nothing(pool, "oodbench-F6", what, 'pytest -k "oodbench and existence" --eye-model=A --eye-model=B')
    return [(group, each) for group, each in found if each]


def of_group(group: Group) -> list[Covered]:
    """The sets of one division that have pairs."""
    pairs = [read_pairs(entry.record, entry.folder) for entry in group.entries]
    first = same(group, pairs)
    wrong = np.array([each.tables[:, 1:3].any(axis=1) for each in pairs])
    known = wrong | np.array([(each.answers != MISSING).all(axis=1) for each in pairs])
    order = np.argsort(-(wrong & np.isin(first.sets, SETS["OOD"])).sum(axis=1), kind="stable")
    entries = tuple(group.entries[place] for place in order)
    found = []
    for kind, sets in SETS.items():
        chosen = np.isin(first.sets, sets)
        kept = chosen & known.all(axis=0)
        found.append(Covered(kind, entries, wrong[order][:, kept], int(chosen.sum() - kept.sum())))
    return [each for each in found if each.n]


def same(group: Group, pairs: Sequence[Pairs]) -> Pairs:
    """The pairs that all models of a division were asked about."""
    for entry, each in zip(group.entries, pairs, strict=True):
        if each.numbers.tolist() != pairs[0].numbers.tolist():
            raise ReportError(
                f"{entry.folder}: the answers to {entry.record.case} are not about the same pairs as those of "
                f"{group.entries[0].model}, though the division is. Run both again."
            )
    return pairs[0]


def f6(pool: Pool, _: str | None) -> list[Table]:
    """Figure 6 as a table: the share of pairs that models answer wrongly, model by model."""
    return [coverage_table(group, found) for group, found in covered(pool)]


def coverage_table(group: Group, found: Sequence[Covered]) -> Table:
    """One division."""
    rows: list[Row] = [
        (each.kind, entry.model, *numbers)
        for each in found
        for entry, numbers in zip(each.entries, each.shares, strict=True)
    ]
    said = [
        "A pair is in a model's own OOD set if one of its two answers is wrong. Additional: in none of those above.",
        WILSON,
    ]
    if lost := found[0].lost:
        said.append(f"{lost:,} pairs are left out: not every model has answered them.")
    return Table(
        f"{group.title}: overlap of OODBench's pairs with models' own OOD sets (%)",
        ("Data Type", "Model", "Own", "Additional", "Covered"),
        tuple(rows),
        (*said, *about(group.entries)),
        {"split": group.title, "asked": group.entries[0].wording},
    )
