"""How far models fall from ID to OOD, and whether that is chance: section B.2 and Figure 9 of arXiv 2602.18094."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from eyechart.metrics.degradation import Degradation, degradation
from eyechart.metrics.resampling import percentile_interval
from eyechart.oodbench.division import ID

from ..answers import Floats
from ..render import Cell, NumberCell, NumberFormat, Row, Table
from ..runs import Runs
from .cases import nothing_to_show, with_unique_titles
from .existence import data_sets_label
from .measures import HEADS, TIMES, interval_or_none
from .model_cases import (
    OOD_SETS,
    SUFFIX_OPTIONS,
    ModelCases,
    all_entries,
    existence_cases,
    group_by_pairs,
    model_labels,
    pool_data_sets,
    table_notes,
)

DELTA_STYLE, P_STYLE = NumberFormat(100, 2, signed=True), NumberFormat(1, 4)
FALL = f"Δ: ID less OOD, in % points; brackets: 95 % intervals of {TIMES:,} resamples of images, within each data set."
SHUFFLED = (
    f"p: how often {TIMES:,} shuffles of whole images between ID and OOD, within each data set, fall as much (an image "
    "in both sets exchanges its pairs of either); brackets: 95 % intervals, Clopper and Pearson, of what more shuffles "
    "would make of it."
)
SPREAD = "Shuffled Δ: the mean of the shuffles and, in brackets, the middle 95 % of them."


@dataclass(frozen=True)
class SetDegradation:
    """A model's fall from ID to one set out of distribution."""

    block: ModelCases
    name: str

    @cached_property
    def measures(self) -> Mapping[str, Degradation]:
        """Every measure's fall."""
        one, other = (self.block.counts(name)[:, :4] for name in (ID, self.name))
        strata = (self.block.strata(ID), self.block.strata(self.name))
        clusters = (self.block.images(ID), self.block.images(self.name))
        return degradation(one, other, TIMES, self.block.seed, strata, clusters)

    @property
    def set_label(self) -> str:
        """The set, marked where the model was to reason first."""
        return self.name + self.block.suffix

    @property
    def n(self) -> int:
        """How many answers there are to both sets."""
        return sum(int(self.block.counts(name)[:, :4].sum()) for name in (ID, self.name))

    def delta(self, measure: str) -> NumberCell:
        """How far a measure falls."""
        found = self.measures[measure]
        return NumberCell(found.delta, ci=interval_or_none(found.ci), style=DELTA_STYLE)

    def p_value(self, measure: str) -> NumberCell:
        """How likely it is to fall as far by chance."""
        found = self.measures[measure]
        return NumberCell(found.p, ci=interval_or_none(found.p_ci), style=P_STYLE)


AnyDegradation = TypeVar("AnyDegradation", bound=SetDegradation)


def answer_count(fall: SetDegradation) -> int:
    """How many answers a fall is between."""
    return fall.n


def degradations(tables: Iterable[Sequence[ModelCases]]) -> list[list[SetDegradation]]:
    """Every model's falls, those from the same pairs together."""
    found = [[SetDegradation(block, name) for block in blocks for name in ood_sets(block)] for blocks in tables]
    return [of for of in found if of]


def ood_sets(block: ModelCases) -> Iterator[str]:
    """The sets that a model can have fallen to."""
    sets = {*block.sets()}
    yield from (name for name in OOD_SETS if {ID, name} <= sets)


def pooled_degradations(pool: Runs, name: str) -> list[list[SetDegradation]]:
    """All data sets pooled."""
    found = degradations(group_by_pairs(pool_data_sets(existence_cases(pool, name))))
    if not found:
        raise nothing_to_show(
            pool, name, "shows how far models fall from ID to OOD", 'pytest -k "oodbench and existence"'
        )
    return found


def degradation_tables(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """How far every measure falls: all data sets pooled, then each alone."""
    found = pooled_degradations(pool, "oodbench-degradation")
    seen = {of[0].block.pairs_key for of in found}
    alone = degradations(
        blocks
        for blocks in group_by_pairs(existence_cases(pool, "oodbench-degradation"))
        if blocks[0].pairs_key not in seen
    )
    return build_tables([*found, *alone], wide_table)


def build_tables(
    found: Sequence[Sequence[AnyDegradation]], make: Callable[[Sequence[AnyDegradation]], Table]
) -> list[Table]:
    """A table of each, no two with the same title."""
    return with_unique_titles(
        list(map(make, found)), [all_entries([fall.block for fall in of]) for of in found], SUFFIX_OPTIONS
    )


def wide_table(found: Sequence[SetDegradation]) -> Table:
    """A row a fall."""
    names = model_labels([fall.block for fall in found])
    heads = [head for measure in HEADS.values() for head in (f"{measure} Δ", f"{measure} p")]
    rows: list[Row] = [
        (names[id(f.block)], f.set_label, f.n, *(cell for m in HEADS for cell in (f.delta(m), f.p_value(m))))
        for f in found
    ]
    return degradation_table(found, "fall from ID to OOD", ("Model", "Data Type", "Num", *heads), rows, FALL, SHUFFLED)


def degradation_table(
    found: Sequence[SetDegradation], what: str, columns: Sequence[str], rows: Sequence[Row], *said: str
) -> Table:
    """A table of falls from the same pairs."""
    block = found[0].block
    return Table(
        f"OODBench: {what}, {data_sets_label(block)}",
        tuple(columns),
        tuple(rows),
        (*said, *table_notes([fall.block for fall in found])),
        {"data": data_sets_label(block), "pairs": block.pairs_key[0][1][:12]},
    )


def f9(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """Figure 9 as a table: how far the measures fall if pairs are shuffled, and how far they do fall."""
    columns = ("Model", "Data Type", "Num", "Measure", "Δ", "Shuffled Δ", "p")
    said = (FALL, SHUFFLED, SPREAD)
    return build_tables(
        pooled_degradations(pool, "oodbench-F9"),
        lambda of: degradation_table(
            of, "permutation test of the fall", columns, list(long_rows(of, permutation_cells)), *said
        ),
    )


def permutation_cells(fall: SetDegradation, measure: str) -> Iterator[Cell]:
    """The cells of one measure in Figure 9."""
    null = drop_nan(fall.measures[measure].null_samples)
    yield fall.delta(measure)
    yield NumberCell(
        float(null.mean()) if null.size else None, ci=interval_or_none(percentile_interval(null)), style=DELTA_STYLE
    )
    yield fall.p_value(measure)


def drop_nan(draws: Floats) -> Floats:
    """The draws that have a value."""
    found: Floats = draws[~np.isnan(draws)]
    return found


def long_rows(
    found: Sequence[AnyDegradation],
    cells: Callable[[AnyDegradation, str], Iterator[Cell]],
    size: Callable[[AnyDegradation], int] = answer_count,
) -> Iterator[Row]:
    """A row a fall and measure."""
    names = model_labels([fall.block for fall in found])
    for fall in found:
        for measure, head in HEADS.items():
            yield names[id(fall.block)], fall.set_label, size(fall), head, *cells(fall, measure)


TABLES: Mapping[str, Callable[[Runs, str | None], list[Table]]] = {
    "oodbench-degradation": degradation_tables,
    "oodbench-F9": f9,
}
