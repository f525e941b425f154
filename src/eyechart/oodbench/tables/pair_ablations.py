"""Ablations of the division: cases that differ in one option only, such as the threshold (arXiv 2602.18094, T2)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from eyechart.oodbench.tables.existence_tables import SET, set_cells
from eyechart.oodbench.tables.measure_columns import COLUMNS, MEANING
from eyechart.oodbench.tables.pair_frames import INITIAL, OOD_SETS, page_pairs
from eyechart.oodbench.tables.pair_pages import (
    IGNORED_OPTIONS,
    PAPER,
    Pages,
    existence_cases,
    existence_page,
    source_name,
    suffix,
)
from eyechart.protocol.options import is_fraction
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page

THRESHOLD, UNKNOWN = "Threshold T", -1.0  # of a division whose file does not record it
COMMAND = 'pytest -k "oodbench and existence" --eye-set=existence.division_scope=initial'
MAIN_NOTE = (
    "Main benchmark: flagged pairs were downsampled. The published table uses all of them (the initial benchmark): add "
    "--eye-set=existence.division_scope=initial."
)
INITIAL_NOTE = "Sets with an apostrophe are from the initial benchmark: all flagged pairs, before downsampling."
Series = Sequence[CaseRun]  # cases of one model and data set that differ in the compared options only


def ablation_pages(options: Sequence[str], select: Callable[[Series], Iterable[Series]]) -> Pages:
    """Return the function that returns a page per data set with the series of two or more cases.

    The cases of a series differ in some options only; the first of these is varied. `select` returns series of them
    in the order of their rows. The names of a page also have the columns Series (its number) and Initial: whether all
    cases of the series asked about the initial benchmark, which has every flagged pair.
    """

    def pages(runs: Runs, _: str | None) -> list[Page]:
        by_split: dict[str, list[Series]] = {}
        for cases in _differing_cases(runs, options):
            split = f"{cases[0].record.benchmark}/{cases[0].record.split}"
            by_split.setdefault(split, []).extend(series for series in select(cases) if len(series) > 1)
        return [_ablation_page(split, series, options) for split, series in by_split.items() if series]

    return pages


def _differing_cases(runs: Runs, options: Sequence[str]) -> list[list[CaseRun]]:
    """Return the groups of cases that differ in some options only; the initial benchmark replaces the main one."""
    groups: dict[tuple[str, ...], dict[str, CaseRun]] = {}
    for case in sorted(existence_cases(runs), key=_is_initial):
        data = (case.record.split, case.record.data.fingerprint, str(case.record.limit))
        settings = case.prompt_settings_without((*IGNORED_OPTIONS, *options))
        groups.setdefault((*data, case.model, suffix(case), settings), {})[case.option(options[0])] = case
    return [[*cases.values()] for _, cases in sorted(groups.items(), key=lambda item: item[0])]


def _is_initial(case: CaseRun) -> bool:
    return case.option("division_scope") == "initial"


def _ablation_page(split: str, series: Sequence[Series], options: Sequence[str]) -> Page:
    """Return the page of the series of one data set; its suffix is the benchmark that they are about."""
    cases = [case for part in series for case in part]
    page = existence_page([(case,) for case in cases], f"{split}: {source_name(cases[0])}", options)
    initial = [all(map(_is_initial, part)) for part in series]
    number = [index for index, part in enumerate(series) for _ in part]
    names = page.names.assign(Series=number, Initial=[initial[index] for index in number])
    benchmarks = sorted({"initial" if whole else "main" for whole in initial})
    return replace(
        page, names=names, context={"split": split}, suffix=f", {' and '.join(benchmarks)} benchmark"
    )  # fmt: skip


def ablation_sets(page: Page, sets: Sequence[str]) -> dict[int, list[str]]:
    """Return the names of some sets for each row, those of the initial benchmark if its series is about it."""
    return {row: [name + INITIAL * initial for name in sets] for row, initial in enumerate(page.names["Initial"])}


def _main_note(page: Page) -> Iterator[str]:
    if not page.names["Initial"].all():
        yield MAIN_NOTE


def _division_threshold(case: CaseRun) -> float:
    """Return the threshold of a division, -1 if its file does not record it."""
    threshold = case.option("threshold")
    return float(threshold) if is_fraction(threshold) else UNKNOWN


def _sort_by_threshold(cases: Series) -> list[Series]:
    """Return one series, the highest threshold first."""
    return [sorted(cases, key=_division_threshold, reverse=True)]


def _threshold_cells(page: Page) -> pd.DataFrame:
    thresholds = [_division_threshold(case) for case in page.cases]
    names = ["unknown" if value == UNKNOWN else f"{value:g}" for value in thresholds]
    cells = set_cells(page, page_pairs(page), COLUMNS, ablation_sets(page, OOD_SETS))
    return cells.assign(**{THRESHOLD: cells["row"].map(dict(enumerate(names)))})


THRESHOLDS = TableDefinition(
    name="oodbench-thresholds",
    alias="oodbench-T2",
    source=PAPER,
    summary="How well a model recognises categories out of distribution under several thresholds of the division.",
    pages=ablation_pages(("threshold",), _sort_by_threshold),
    needs="compares thresholds of one model, all else equal",
    command=f"{COMMAND} --eye-set=existence.threshold=0.05,0.01,0.005",
    title="{page}, thresholds, existence (%)",
    cells=_threshold_cells,
    rows=("Model", THRESHOLD, SET),
    columns=COLUMNS,
    notes=(INITIAL_NOTE, _main_note, MEANING),
)
TABLES = (THRESHOLDS,)
