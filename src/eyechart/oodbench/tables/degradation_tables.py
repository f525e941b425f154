"""Degradation of models from ID to OOD, with permutation tests: section B.2 and Figure 9 of arXiv 2602.18094."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from eyechart.oodbench.division.pairs import ID
from eyechart.oodbench.statistics.degradation import Degradation, degradation
from eyechart.oodbench.tables.existence_tables import COMMAND, SET
from eyechart.oodbench.tables.measure_columns import HEADS, MEANING, TIMES
from eyechart.oodbench.tables.pair_frames import CONFUSION, OOD_SETS, page_pairs, pairs_sha256, read_pairs
from eyechart.oodbench.tables.pair_pages import (
    PAPER,
    SHOWN_OPTIONS,
    Pooled,
    data_page,
    existence_cases,
    group_by_pairs,
    pool_models,
)
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import NumberFormat
from eyechart.reports.tables.selection import Page, with_suffixes
from eyechart.statistics.array_types import Bools, Floats, Ints
from eyechart.statistics.resampling import percentile_interval

NUM, MEASURE, DELTA, SHUFFLED_DELTA, P = "Num", "Measure", "Δ", "Shuffled Δ", "p"
DELTA_STYLE, P_STYLE = NumberFormat(100, 2, signed=True), NumberFormat(1, 4)
FALL = f"Δ: ID minus OOD, in % points; brackets: 95 % intervals of {TIMES:,} resamples of images, within each data set."
SHUFFLED = (
    f"p: share of {TIMES:,} permutations of whole images between ID and OOD, within data sets, with at least this Δ "
    "(an image in both sets exchanges its pairs of both); brackets: 95 % Monte Carlo intervals, Clopper and Pearson."
)
SPREAD = "Shuffled Δ: the mean of the permutations and, in brackets, their central 95 %."
SetOfRow = tuple[int, str]  # a row of a page and an OOD set


def pooled_degradation_pages(runs: Runs, _: str | None) -> list[Page]:
    """Return a page for all models with the same pairs in ID and OOD, all data sets of a model pooled."""
    return with_suffixes(_comparable_pages(group_by_pairs(pool_models(existence_cases(runs)))), SHOWN_OPTIONS)


def _degradation_pages(runs: Runs, _: str | None) -> list[Page]:
    """Return the pages of pooled data sets, then a page for each data set that is not among them."""
    cases = existence_cases(runs)
    pooled = _comparable_pages(group_by_pairs(pool_models(cases)))
    known = {_pairs_key(page.cases[: (page.names["Pooled"] == 0).sum()]) for page in pooled}
    alone = [rows for rows in group_by_pairs((case,) for case in cases) if _pairs_key(rows[0]) not in known]
    return with_suffixes([*pooled, *_comparable_pages(alone)], SHOWN_OPTIONS)


def _pairs_key(cases: Pooled) -> tuple[tuple[str, str], ...]:
    return tuple((case.record.split, case.compute(pairs_sha256)) for case in cases)


def _comparable_pages(groups: list[list[Pooled]]) -> list[Page]:
    return [page for page in map(data_page, groups) if comparable_rows(page)]


class PairCounts(NamedTuple):
    """The confusion tables (m, 4), data sets (m,) and images (m,) of pairs, and whether they are answered (m,)."""

    confusion: Ints
    data: Ints
    images: Ints
    answered: Bools

    def select(self, mask: Bools) -> "PairCounts":
        """Return some of the pairs."""
        return PairCounts(self.confusion[mask], self.data[mask], self.images[mask], self.answered[mask])


def comparable_rows(page: Page) -> list[SetOfRow]:
    """Return the rows and OOD sets with pairs in both ID and the OOD set."""
    sets: dict[int, set[str]] = {}
    for row, case in zip(page.names["Pooled"], page.cases, strict=True):
        pairs = case.compute(read_pairs)
        sets.setdefault(row, set()).update(pairs.loc[pairs["main"], "subset"])
    return [(row, name) for row, names in sets.items() for name in OOD_SETS if {ID, name} <= names]


def comparable_sets(page: Page) -> dict[SetOfRow, tuple[PairCounts, PairCounts]]:
    """Return the pairs in ID and those in the OOD set, by row and OOD set."""
    groups = {
        (row, name): PairCounts(
            pairs[CONFUSION].to_numpy(np.int64), pairs["data"].to_numpy(np.int64), pairs["image"].to_numpy(np.int64),
            pairs["answered"].to_numpy(bool),
        )
        for (row, name), pairs in page_pairs(page).groupby(["row", "set"], observed=True)
    }  # fmt: skip
    return {(row, name): (groups[row, ID], groups[row, name]) for row, name in comparable_rows(page)}


def count_answers(sets: Iterable[PairCounts]) -> int:
    """Return the number of answers to the pairs of some sets, of pairs with both answers."""
    return sum(int(pairs.confusion[pairs.answered].sum()) for pairs in sets)


def compute_degradation(page: Page, row: int, sets: Iterable[PairCounts]) -> Mapping[str, Degradation]:
    """Return the degradation of every measure from ID to an OOD set, of pairs with both answers."""
    before, after = (pairs.select(pairs.answered) for pairs in sets)
    strata, images = (before.data, after.data), (before.images, after.images)
    return degradation(before.confusion, after.confusion, TIMES, page.cases[row].record.seed, strata, images)


def name_rows(page: Page, cells: list[dict[str, Any]]) -> pd.DataFrame:
    """Return cells with `row` and `set` as a frame with the column Data Type."""
    frame = pd.DataFrame(cells)
    return frame.assign(**{SET: frame["set"] + page.names["Suffix"].loc[frame["row"]].to_numpy()})


def cell(column: str, value: float, ci: tuple[float, float] = (np.nan, np.nan)) -> dict[str, Any]:
    """Return the fields of a cell with an interval."""
    return {"column": column, "value": value, "low": ci[0], "high": ci[1]}


def _degradation_cells(page: Page) -> pd.DataFrame:
    """Return the degradation of every measure and its p-value, by row and OOD set."""
    cells: list[dict[str, Any]] = []
    for (row, name), sets in comparable_sets(page).items():
        at = {"row": row, "set": name}
        cells.append({**at, "column": NUM, "count": count_answers(sets)})
        for measure, result in compute_degradation(page, row, sets).items():
            cells.append({**at, **cell(f"{HEADS[measure]} Δ", result.delta, result.ci)})
            cells.append({**at, **cell(f"{HEADS[measure]} p", result.p, result.p_ci)})
    return name_rows(page, cells)


DEGRADATION = TableDefinition(
    name="oodbench-degradation",
    source=PAPER,
    summary="How far each measure falls from pairs in distribution to those out of it, with permutation tests.",
    pages=_degradation_pages,
    needs="shows how far models fall from ID to OOD",
    command=COMMAND,
    title="OODBench: fall from ID to OOD, {page}",
    cells=_degradation_cells,
    rows=("Model", SET),
    columns=(NUM, *(f"{head} {column}" for head in HEADS.values() for column in (DELTA, P))),
    notes=(FALL, SHUFFLED, MEANING),
    formats={
        f"{head} {column}": style for head in HEADS.values() for column, style in ((DELTA, DELTA_STYLE), (P, P_STYLE))
    },
)


def _permutation_cells(page: Page) -> pd.DataFrame:
    """Return the degradation of every measure, that under permutations, and the p-value."""
    cells: list[dict[str, Any]] = []
    for (row, name), sets in comparable_sets(page).items():
        n = count_answers(sets)
        for measure, result in compute_degradation(page, row, sets).items():
            at = {"row": row, "set": name, NUM: n, MEASURE: HEADS[measure]}
            null = drop_nan(result.null_samples)
            mean = float(null.mean()) if null.size else np.nan
            cells += [
                {**at, **cell(DELTA, result.delta, result.ci)},
                {**at, **cell(SHUFFLED_DELTA, mean, percentile_interval(null))},
                {**at, **cell(P, result.p, result.p_ci)},
            ]
    return name_rows(page, cells)


def drop_nan(draws: Floats) -> Floats:
    """Return the values that are not NaN."""
    finite: Floats = draws[~np.isnan(draws)]
    return finite


PERMUTATION = replace(
    DEGRADATION,
    name="oodbench-permutation",
    alias="oodbench-F9",
    summary="How far each measure falls, and how far it falls under permutations of images between ID and OOD.",
    pages=pooled_degradation_pages,
    title="OODBench: permutation test of the fall, {page}",
    cells=_permutation_cells,
    rows=("Model", SET, NUM, MEASURE),
    columns=(DELTA, SHUFFLED_DELTA, P),
    notes=(FALL, SHUFFLED, SPREAD, MEANING),
    formats={DELTA: DELTA_STYLE, SHUFFLED_DELTA: DELTA_STYLE, P: P_STYLE},
)
TABLES = (DEGRADATION, PERMUTATION)
