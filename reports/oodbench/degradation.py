"""How far models fall from ID to OOD, and whether that is chance: section B.2 and Figure 9 of arXiv 2602.18094."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from eyechart.metrics.degradation import Degradation, degradation
from eyechart.metrics.resampling import percentile
from eyechart.oodbench.divisions import ID

from ..answers import Floats
from ..render import Cell, NumberCell, NumberFormat, Row, Table
from ..runs import Runs
from .blocks import MARKED, OUT, Block, asked, called, entries_of, notes, pooled, tabled
from .cases import distinct, nothing
from .existence import joined
from .measures import HEADS, TIMES, ends

CHANGED, CHANCE = NumberFormat(100, 2, signed=True), NumberFormat(1, 4)
FALL = f"Δ: ID less OOD, in % points; brackets: 95 % intervals of {TIMES:,} resamples of images, within each data set."
SHUFFLED = (
    f"p: how often {TIMES:,} shuffles of whole images between ID and OOD, within each data set, fall as much (an image "
    "in both sets exchanges its pairs of either); brackets: 95 % intervals, Clopper and Pearson, of what more shuffles "
    "would make of it."
)
SPREAD = "Shuffled Δ: the mean of the shuffles and, in brackets, the middle 95 % of them."


@dataclass(frozen=True)
class Fall:
    """A model's fall from ID to one set out of distribution."""

    block: Block
    name: str

    @cached_property
    def found(self) -> Mapping[str, Degradation]:
        """Every measure's fall."""
        one, other = (self.block.counts(name)[:, :4] for name in (ID, self.name))
        strata = (self.block.strata(ID), self.block.strata(self.name))
        clusters = (self.block.images(ID), self.block.images(self.name))
        return degradation(one, other, TIMES, self.block.seed, strata, clusters)

    @property
    def kind(self) -> str:
        """The set, marked where the model was to reason first."""
        return self.name + self.block.mark

    @property
    def n(self) -> int:
        """How many answers there are to both sets."""
        return sum(int(self.block.counts(name)[:, :4].sum()) for name in (ID, self.name))

    def delta(self, measure: str) -> NumberCell:
        """How far a measure falls."""
        found = self.found[measure]
        return NumberCell(found.delta, ci=ends(found.ci), style=CHANGED)

    def chance(self, measure: str) -> NumberCell:
        """How likely it is to fall as far by chance."""
        found = self.found[measure]
        return NumberCell(found.p, ci=ends(found.p_ci), style=CHANCE)


AnyFall = TypeVar("AnyFall", bound=Fall)


def of_both(fall: Fall) -> int:
    """How many answers a fall is between."""
    return fall.n


def falls(tables: Iterable[Sequence[Block]]) -> list[list[Fall]]:
    """Every model's falls, those from the same pairs together."""
    found = [[Fall(block, name) for block in blocks for name in fallen(block)] for blocks in tables]
    return [of for of in found if of]


def fallen(block: Block) -> Iterator[str]:
    """The sets that a model can have fallen to."""
    sets = {*block.sets()}
    yield from (name for name in OUT if {ID, name} <= sets)


def together(pool: Runs, name: str) -> list[list[Fall]]:
    """All data sets pooled."""
    found = falls(tabled(pooled(asked(pool, name))))
    if not found:
        raise nothing(pool, name, "shows how far models fall from ID to OOD", 'pytest -k "oodbench and existence"')
    return found


def degraded(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """How far every measure falls: all data sets pooled, then each alone."""
    found = together(pool, "oodbench-degradation")
    seen = {of[0].block.about for of in found}
    alone = falls(blocks for blocks in tabled(asked(pool, "oodbench-degradation")) if blocks[0].about not in seen)
    return told([*found, *alone], wide_table)


def told(found: Sequence[Sequence[AnyFall]], make: Callable[[Sequence[AnyFall]], Table]) -> list[Table]:
    """A table of each, no two with the same title."""
    return distinct(list(map(make, found)), [entries_of([fall.block for fall in of]) for of in found], MARKED)


def wide_table(found: Sequence[Fall]) -> Table:
    """A row a fall."""
    names = called([fall.block for fall in found])
    heads = [head for measure in HEADS.values() for head in (f"{measure} Δ", f"{measure} p")]
    rows: list[Row] = [
        (names[id(f.block)], f.kind, f.n, *(cell for m in HEADS for cell in (f.delta(m), f.chance(m)))) for f in found
    ]
    return titled(found, "fall from ID to OOD", ("Model", "Data Type", "Num", *heads), rows, FALL, SHUFFLED)


def titled(found: Sequence[Fall], what: str, columns: Sequence[str], rows: Sequence[Row], *said: str) -> Table:
    """A table of falls from the same pairs."""
    block = found[0].block
    return Table(
        f"OODBench: {what}, {joined(block)}",
        tuple(columns),
        tuple(rows),
        (*said, *notes([fall.block for fall in found])),
        {"data": joined(block), "pairs": block.about[0][1][:12]},
    )


def f9(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """Figure 9 as a table: how far the measures fall if pairs are shuffled, and how far they do fall."""
    columns = ("Model", "Data Type", "Num", "Measure", "Δ", "Shuffled Δ", "p")
    said = (FALL, SHUFFLED, SPREAD)
    return told(
        together(pool, "oodbench-F9"),
        lambda of: titled(of, "permutation test of the fall", columns, list(long_rows(of, permuted)), *said),
    )


def permuted(fall: Fall, measure: str) -> Iterator[Cell]:
    """The cells of one measure in Figure 9."""
    null = known(fall.found[measure].null)
    yield fall.delta(measure)
    yield NumberCell(float(null.mean()) if null.size else None, ci=ends(percentile(null)), style=CHANGED)
    yield fall.chance(measure)


def known(draws: Floats) -> Floats:
    """The draws that have a value."""
    found: Floats = draws[~np.isnan(draws)]
    return found


def long_rows(
    found: Sequence[AnyFall], cells: Callable[[AnyFall, str], Iterator[Cell]], size: Callable[[AnyFall], int] = of_both
) -> Iterator[Row]:
    """A row a fall and measure."""
    names = called([fall.block for fall in found])
    for fall in found:
        for measure, head in HEADS.items():
            yield names[id(fall.block)], fall.kind, size(fall), head, *cells(fall, measure)


TABLES: Mapping[str, Callable[[Runs, str | None], list[Table]]] = {
    "oodbench-degradation": degraded,
    "oodbench-F9": f9,
}
