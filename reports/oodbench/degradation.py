"""Degradation of models from ID to OOD, with permutation tests: section B.2 and Figure 9 of arXiv 2602.18094."""

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
from .measures import HEADS, TIMES, interval_or_none
from .model_cases import (
    ModelCases,
    all_entries,
    data_sets_label,
    existence_cases,
    group_by_pairs,
    model_labels,
    pool_data_sets,
    table_notes,
)
from .pages import SHOWN_OPTIONS
from .pair_frames import OOD_SETS

DELTA_STYLE, P_STYLE = NumberFormat(100, 2, signed=True), NumberFormat(1, 4)
FALL = f"Δ: ID minus OOD, in % points; brackets: 95 % intervals of {TIMES:,} resamples of images, within each data set."
SHUFFLED = (
    f"p: share of {TIMES:,} permutations of whole images between ID and OOD, within data sets, with at least this Δ "
    "(an image in both sets exchanges its pairs of both); brackets: 95 % Monte Carlo intervals, Clopper and Pearson."
)
SPREAD = "Shuffled Δ: the mean of the permutations and, in brackets, their central 95 %."


@dataclass(frozen=True)
class SetDegradation:
    """The degradation of a model from ID to one OOD set."""

    block: ModelCases
    name: str

    @cached_property
    def measures(self) -> Mapping[str, Degradation]:
        """The degradation of every measure."""
        in_tables, ood_tables = (self.block.counts(name)[:, :4] for name in (ID, self.name))
        strata = (self.block.strata(ID), self.block.strata(self.name))
        clusters = (self.block.images(ID), self.block.images(self.name))
        return degradation(in_tables, ood_tables, TIMES, self.block.seed, strata, clusters)

    @property
    def set_label(self) -> str:
        """The set, with a suffix for chain-of-thought prompts."""
        return self.name + self.block.suffix

    @property
    def n(self) -> int:
        """The number of answers to both sets."""
        return sum(int(self.block.counts(name)[:, :4].sum()) for name in (ID, self.name))

    def delta(self, measure: str) -> NumberCell:
        """Return the degradation of a measure with its interval."""
        result = self.measures[measure]
        return NumberCell(result.delta, ci=interval_or_none(result.ci), style=DELTA_STYLE)

    def p_value(self, measure: str) -> NumberCell:
        """Return the p-value of a measure's degradation with its Monte Carlo interval."""
        result = self.measures[measure]
        return NumberCell(result.p, ci=interval_or_none(result.p_ci), style=P_STYLE)


AnyDegradation = TypeVar("AnyDegradation", bound=SetDegradation)


def answer_count(fall: SetDegradation) -> int:
    """Return the number of answers to both sets."""
    return fall.n


def degradations(tables: Iterable[Sequence[ModelCases]]) -> list[list[SetDegradation]]:
    """Return the degradations of every model, grouped by pairs."""
    groups = [[SetDegradation(block, name) for block in blocks for name in ood_sets(block)] for blocks in tables]
    return [of for of in groups if of]


def ood_sets(block: ModelCases) -> Iterator[str]:
    """Yield the OOD sets that can be compared with ID."""
    sets = {*block.sets()}
    yield from (name for name in OOD_SETS if {ID, name} <= sets)


def pooled_degradations(pool: Runs, name: str) -> list[list[SetDegradation]]:
    """Return the degradations with all data sets pooled."""
    groups = degradations(group_by_pairs(pool_data_sets(existence_cases(pool, name))))
    if not groups:
        raise nothing_to_show(
            pool, name, "shows how far models fall from ID to OOD", 'pytest -k "oodbench and existence"'
        )
    return groups


def degradation_tables(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """Return tables of the degradation of every measure: all data sets pooled, then each data set."""
    groups = pooled_degradations(pool, "oodbench-degradation")
    pooled_keys = {of[0].block.pairs_key for of in groups}
    alone = degradations(
        blocks
        for blocks in group_by_pairs(existence_cases(pool, "oodbench-degradation"))
        if blocks[0].pairs_key not in pooled_keys
    )
    return build_tables([*groups, *alone], wide_table)


def build_tables(
    groups: Sequence[Sequence[AnyDegradation]], make: Callable[[Sequence[AnyDegradation]], Table]
) -> list[Table]:
    """Return one table per group, all with different titles."""
    return with_unique_titles(
        list(map(make, groups)), [all_entries([fall.block for fall in of]) for of in groups], SHOWN_OPTIONS
    )


def wide_table(falls: Sequence[SetDegradation]) -> Table:
    """Return a table with one row per degradation."""
    names = model_labels([fall.block for fall in falls])
    heads = [head for measure in HEADS.values() for head in (f"{measure} Δ", f"{measure} p")]
    rows: list[Row] = [
        (names[id(f.block)], f.set_label, f.n, *(cell for m in HEADS for cell in (f.delta(m), f.p_value(m))))
        for f in falls
    ]
    return degradation_table(falls, "fall from ID to OOD", ("Model", "Data Type", "Num", *heads), rows, FALL, SHUFFLED)


def degradation_table(
    falls: Sequence[SetDegradation], what: str, columns: Sequence[str], rows: Sequence[Row], *notes: str
) -> Table:
    """Return a table of degradations on the same pairs."""
    block = falls[0].block
    return Table(
        f"OODBench: {what}, {data_sets_label(block)}",
        tuple(columns),
        tuple(rows),
        (*notes, *table_notes([fall.block for fall in falls])),
        {"data": data_sets_label(block), "pairs": block.pairs_key[0][1][:12]},
    )


def f9(pool: Runs, labels: str | None) -> list[Table]:  # noqa: ARG001
    """Return Figure 9 as a table: the degradation of each measure, and that under permutations."""
    columns = ("Model", "Data Type", "Num", "Measure", "Δ", "Shuffled Δ", "p")
    notes = (FALL, SHUFFLED, SPREAD)
    return build_tables(
        pooled_degradations(pool, "oodbench-F9"),
        lambda of: degradation_table(
            of, "permutation test of the fall", columns, list(long_rows(of, permutation_cells)), *notes
        ),
    )


def permutation_cells(fall: SetDegradation, measure: str) -> Iterator[Cell]:
    """Yield the cells of one measure in Figure 9."""
    null = drop_nan(fall.measures[measure].null_samples)
    yield fall.delta(measure)
    yield NumberCell(
        float(null.mean()) if null.size else None, ci=interval_or_none(percentile_interval(null)), style=DELTA_STYLE
    )
    yield fall.p_value(measure)


def drop_nan(draws: Floats) -> Floats:
    """Return the values that are not NaN."""
    finite: Floats = draws[~np.isnan(draws)]
    return finite


def long_rows(
    falls: Sequence[AnyDegradation],
    cells: Callable[[AnyDegradation, str], Iterator[Cell]],
    size: Callable[[AnyDegradation], int] = answer_count,
) -> Iterator[Row]:
    """Yield one row per degradation and measure."""
    names = model_labels([fall.block for fall in falls])
    for fall in falls:
        for measure, head in HEADS.items():
            yield names[id(fall.block)], fall.set_label, size(fall), head, *cells(fall, measure)


TABLES: Mapping[str, Callable[[Runs, str | None], list[Table]]] = {
    "oodbench-degradation": degradation_tables,
    "oodbench-F9": f9,
}
