"""Measures of progression (existence, counting, logic): Tables 3 and 14 to 17 of arXiv 2602.18094."""

from dataclasses import replace

import numpy as np
import pandas as pd

from eyechart.oodbench.tables.pair_pages import (
    BOOTSTRAP,
    OODBENCH,
    PAPER,
    PROGRESSION,
    SOURCES,
    TIME,
    progression_pages,
    set_label,
    set_order,
    set_time,
    settings_pages,
    time_note,
)
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page
from eyechart.results.frames import select_metrics
from eyechart.results.metric_definitions import define
from eyechart.statistics.degenerate_intervals import share_interval
from eyechart.statistics.resampling import cluster_bootstrap_totals

SET = "Data Type"
METRICS = {"E-Acc": "e_acc", "C-Acc": "c_acc", "L-Acc": "l_acc"}
COUNTS = [f"{head} {kind}" for kind in ("right", "n") for head in METRICS]
TIMES = 2000
MEANING = (
    "E: is the first category there? C: how many of the second are there? L: are there more of the first than second?",
    "An answer to L counts only where that to C is right, too.",
    BOOTSTRAP.format("images"),
)
COMMAND = 'pytest -k "oodbench and progression"'


def _recorded_cells(page: Page) -> pd.DataFrame:
    """Return the three measures of each case and set as they are in the records."""
    columns = {head: {"labels": OODBENCH, "metric": name} for head, name in METRICS.items()}
    cells = select_metrics(page.metrics, columns)
    return cells.sort_values("subset", key=lambda names: names.map(set_order), kind="stable")


def _pooled_cells(page: Page) -> pd.DataFrame:
    """Return the three measures of each model and set; those of a single data set are as in its record."""
    pooled = page.names["Pooled"].duplicated(keep=False)
    recorded = _recorded_cells(page)
    parts = [recorded[~recorded["row"].map(pooled)]]
    if pooled.any():
        counts = _count_by_image(page)
        counts = counts[counts.index.get_level_values("data").map(pooled)]
        groups = counts.groupby(["row", "subset"], sort=False)
        parts += [_share_cells(part).assign(row=row, subset=name) for (row, name), part in groups]
    cells = pd.concat(parts, ignore_index=True).sort_values(
        "subset", key=lambda names: names.map(set_order), kind="stable"
    )
    return cells.assign(**{SET: cells["subset"].map(set_label)})


def _count_by_image(page: Page) -> pd.DataFrame:
    """Return how many answers to each question are right, and how many there are, by image.

    The index has `row` (the first row of the model), `subset`, `data` (the row of the case) and `image`, the columns
    are COUNTS.
    """
    samples = page.samples(["key", "subset", "question", "correct"])
    questions = {head: samples["question"] == define(name).question for head, name in METRICS.items()}
    right = {f"{head} right": rows & (samples["correct"] == 1) for head, rows in questions.items()}
    count = {f"{head} n": rows & samples["correct"].notna() for head, rows in questions.items()}
    keys = {
        "image": samples.groupby(["row", "key"], sort=False).ngroup(), "data": samples["row"],
        "row": page.names["Pooled"].loc[samples["row"]].to_numpy(), "subset": samples["subset"],
    }  # fmt: skip
    return pd.DataFrame({**keys, **right, **count}).groupby(["row", "subset", "data", "image"])[COUNTS].sum()


def _share_cells(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the three measures of a set of a model; images are drawn within each data set, with all their samples."""
    first = counts.index.get_level_values("row")[0]
    totals = counts.sum().to_numpy()
    draws = np.add.reduce(
        [
            cluster_bootstrap_totals(part.to_numpy(np.int64), part.index.get_level_values("image"), TIMES, data - first)
            for data, part in counts.groupby("data")
        ]
    )
    rows = []
    for index, (head, right, n) in enumerate(zip(METRICS, totals[:3], totals[3:], strict=True)):
        with np.errstate(invalid="ignore"):
            shares = draws[:, index] / draws[:, index + len(METRICS)]
        low, high = share_interval(shares, right / n, len(counts)) if n else (np.nan, np.nan)
        rows.append({"column": head, "value": right / n if n else np.nan, "n": n, "low": low, "high": high})
    return pd.DataFrame(rows)


POOLED = TableDefinition(
    name="oodbench-progression",
    alias="oodbench-T3",
    source=PAPER,
    summary="How far models come from recognising to counting and comparing, all data sets pooled.",
    pages=progression_pages,
    needs="shows how far models come from recognising to comparing",
    command=COMMAND,
    title="OODBench: progression (%), {page} pooled",
    cells=_pooled_cells,
    rows=("Model", "Data", SET),
    columns=tuple(METRICS),
    notes=(
        *MEANING,
        "Samples of all data sets are pooled, so that each counts by its size; images are drawn within data sets.",
    ),
)


def _source_cells(page: Page) -> pd.DataFrame:
    cells = _recorded_cells(page)
    rows = cells[["row", "subset"]].drop_duplicates()
    times = [set_time(page.cases[row], name) for row, name in rows.itertuples(index=False)]
    cells = pd.concat([cells, rows.assign(column=TIME, text=times)], ignore_index=True)
    return cells.assign(**{SET: cells["subset"].map(set_label)})


def _source_table(number: int, source: str) -> TableDefinition:
    """Return the table of one data set."""
    return replace(
        POOLED,
        name=f"oodbench-progression-{source.casefold()}",
        alias=f"oodbench-T{number}",
        summary=f"How far models come from recognising to counting and comparing on {source}, and the time.",
        pages=settings_pages(PROGRESSION, source),
        needs=f"{POOLED.needs} on {source}",
        command=f"{COMMAND} --eye-data=ROOT, where ROOT holds {source}",
        title=f"{{page}}: {source}, progression (%)",
        cells=_source_cells,
        rows=("Model", SET),
        columns=(*METRICS, TIME),
        notes=(*MEANING, time_note),
    )


TABLES = (POOLED, *(_source_table(number, source) for number, source in enumerate(SOURCES.values(), 14)))
