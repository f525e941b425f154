"""Ablations of the detectors and of their number: Table 9 and Figure 13 of arXiv 2602.18094."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from eyechart.errors import SpecError
from eyechart.models.spec import parse_spec, split_outside_brackets
from eyechart.oodbench.division.pairs import OOD_H
from eyechart.oodbench.tables.existence_tables import SET, set_cells, time_cells
from eyechart.oodbench.tables.measure_columns import COLUMNS, HEADS, TIMES
from eyechart.oodbench.tables.pair_ablations import (
    COMMAND,
    THRESHOLDS,
    Series,
    ablation_pages,
    ablation_sets,
)
from eyechart.oodbench.tables.pair_frames import CONFUSION, page_pairs
from eyechart.oodbench.tables.pair_pages import TIME, time_note
from eyechart.protocol.options import SET as SET_OPTION
from eyechart.reports.runs import CaseRun, model_name
from eyechart.reports.tables.render import NumberFormat
from eyechart.reports.tables.selection import Page
from eyechart.statistics.resampling import cluster_bootstrap_totals, percentile_interval
from eyechart.statistics.yes_no import confusion_measures

DETECTORS = "OOD Detectors"
OPTION = "existence.detectors"
CHOICES = ("detectors", "detector_templates")
DELTA_STYLE = NumberFormat(100, 2, signed=True)
DELTA = (
    "Δ: the value for the first detectors minus that for these, as published; both use the same resamples of images."
)


def detector_specs(case: CaseRun) -> tuple[str, ...]:
    """Return the specifications of a division's detectors."""
    return tuple(split_outside_brackets(case.option("detectors"), "+"))


def _detectors_label(case: CaseRun) -> str:
    """Return the detectors in the style of Table 9, `A & B`."""
    return " & ".join(map(model_name, detector_specs(case)))


def _group_by_count(cases: Series) -> Iterator[Series]:
    """Yield the cases with each number of detectors, in command order."""
    for count in sorted({len(detector_specs(case)) for case in cases}):
        yield _in_command_order([case for case in cases if len(detector_specs(case)) == count])


def _in_command_order(cases: Series) -> list[CaseRun]:
    """Return cases in the order of the runs, and within a run in the order of the detectors in its command."""
    runs = list(dict.fromkeys(case.folder for case in cases))
    return sorted(cases, key=lambda case: (runs.index(case.folder), _command_position(case)))


def _command_position(case: CaseRun) -> int:
    """Return the position of a case's detectors in the command; the end if the command does not name them."""
    values = [
        _normalise_specs(value)
        for text in _option_values(case.record.command)
        for value in split_outside_brackets(text)
    ]
    wanted = "+".join(detector_specs(case))
    known = wanted if wanted in values else "own"
    return values.index(known) if known in values else len(values)


def _option_values(command: str) -> list[str]:
    """Return the values of the option, as `--eye-set=existence.detectors=…` or with a space."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    settings = [after for word, after in pairwise(words) if word == SET_OPTION]
    settings += [word.partition("=")[2] for word in words if word.startswith(f"{SET_OPTION}=")]
    return [setting.partition("=")[2] for setting in settings if setting.startswith(f"{OPTION}=")]


def _normalise_specs(detectors: str) -> str:
    """Return detectors in the spelling of records."""
    try:
        return "+".join(str(parse_spec(spec)) for spec in split_outside_brackets(detectors, "+"))
    except SpecError:
        return detectors


def _longest_prefixes(cases: Series) -> list[Series]:
    """Return the longest series of detectors in which each adds to the one before, the shortest first."""
    series = [
        [case for case in cases if detector_specs(case) == detector_specs(whole)[: len(detector_specs(case))]]
        for whole in cases
    ]
    longest = max(series, key=len)
    return [sorted(longest, key=lambda case: len(detector_specs(case)))]


def _hard_cells(page: Page, pairs: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the measures of OOD-H of each row of a page, whose detectors have these names."""
    cells = set_cells(page, pairs, COLUMNS, ablation_sets(page, [OOD_H]))
    return cells.assign(**{DETECTORS: cells["row"].map(dict(enumerate(names)))})


def _detector_cells(page: Page) -> pd.DataFrame:
    """Return the measures of OOD-H for each division with its time, and the differences from the first division."""
    pairs = page_pairs(page)
    cells = _hard_cells(page, pairs, [*map(_detectors_label, page.cases)])
    times = time_cells(page, cells, DETECTORS)
    first = page.names.groupby("Series")["Pooled"].transform("min")
    differences = [
        _difference_cells([pairs[(pairs["row"] == side) & (pairs["set"] == name)] for side in (first[row], row)],
                         page.cases[first[row]].record.seed).assign(row=row, **{SET: shown})
        for row, name, shown in times[["row", "set", SET]].itertuples(index=False)
        if row != first[row]
    ]  # fmt: skip
    return pd.concat([cells, times, *differences], ignore_index=True)


def _difference_cells(sides: Sequence[pd.DataFrame], seed: int) -> pd.DataFrame:
    """Return the differences of the measures of two sets of pairs (first minus second).

    Their intervals are of resamples of the images of both.
    """
    by_pair = [side[side["answered"]].groupby(["key", "category"])[CONFUSION].sum() for side in sides]
    counts = pd.concat(by_pair, axis=1).fillna(0).astype(np.int64)
    images, rows = pd.factorize(counts.index.get_level_values("key"))[0], counts.to_numpy()
    value, samples = (
        [confusion_measures(totals[..., : len(CONFUSION)]), confusion_measures(totals[..., len(CONFUSION) :])]
        for totals in (rows.sum(axis=0), cluster_bootstrap_totals(rows, images, TIMES, seed))
    )
    intervals = {name: percentile_interval(samples[0][name] - samples[1][name]) for name in HEADS}
    cells = pd.DataFrame(
        {
            "column": head, "value": float(value[0][name] - value[1][name]), "low": intervals[name].low,
            "high": intervals[name].high, "format": DELTA_STYLE,
        }
        for name, head in HEADS.items()
    )  # fmt: skip
    return cells.assign(**{DETECTORS: "Δ"})


def _count_cells(page: Page) -> pd.DataFrame:
    names = [f"{len(detector_specs(case))}: {_detectors_label(case)}" for case in page.cases]
    return _hard_cells(page, page_pairs(page), names)


OTHER_DETECTORS = replace(
    THRESHOLDS,
    name="oodbench-detectors",
    alias="oodbench-T9",
    summary="How well a model recognises the categories that other detectors flag, with differences.",
    pages=ablation_pages(CHOICES, _group_by_count),
    needs="compares other detectors of one model, all else equal",
    command=f"{COMMAND} --eye-set=existence.detectors=A+B,B+C,C+D",
    title="{page}, other detectors, existence (%)",
    cells=_detector_cells,
    rows=("Model", DETECTORS, SET),
    columns=(*COLUMNS, TIME),
    notes=(DELTA, *THRESHOLDS.notes, time_note),
)
DETECTOR_COUNTS = replace(
    THRESHOLDS,
    name="oodbench-detector-counts",
    alias="oodbench-F13",
    summary="How well a model recognises the categories that one, two or more detectors flag.",
    pages=ablation_pages(CHOICES, _longest_prefixes),
    needs="compares numbers of detectors of one model, all else equal",
    command=f"{COMMAND} --eye-set=existence.detectors=A,A+B,A+B+C,A+B+C+D",
    title="{page}, numbers of detectors, existence (%)",
    cells=_count_cells,
    rows=("Model", DETECTORS, SET),
)
TABLES = (OTHER_DETECTORS, DETECTOR_COUNTS)
