"""The effect of range lists: Figures 6 and 19 of arXiv 2603.27033."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from eyechart.realbirdid.tables.bird_pages import (
    COMMANDS,
    ELIGIBLE,
    FAMILIES,
    NEEDS_LISTS,
    PAPER,
    RANGE,
    SETS,
    SPECIES,
    metric_cells,
    select_pages,
)
from eyechart.realbirdid.tables.summary_tables import MEASURES
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import PERCENT, NumberFormat
from eyechart.reports.tables.selection import Page
from eyechart.statistics.intervals import t_interval

EVERY = "All models"
SIDES = ("without", "with", "Δ")
CHANGED = NumberFormat(100, 2, signed=True)
MEANING = (
    "Without: every species of the taxonomy; with: of each image the species of its list alone. Both are about the "
    "same images, those with a location and candidates."
)
GAIN = (
    "IG: the area under accuracy by information gain, on the tree of species, genera and the root (tree=all: of all "
    "levels of the taxonomy). UA/A: the area under unanswerable by answerable abstained on."
)
PAIRED = (
    "Δ: with less without, in % points. Brackets: 95 % intervals, bootstrap over observations, each with all its "
    "images; those of Δ paired."
)
OVER = "Mean and SD over models; brackets: Student's 95 % interval of the mean. Rose: models whose number rose."


def _effect_pages(runs: Runs, _: str | None) -> list[Page]:
    """Return the pages of models with range lists that have IG or UA/A."""
    pages = select_pages(runs, SPECIES, None, RANGE)
    return [page for page in pages if effects(page)["value"].notna().any()]


def effects(page: Page) -> pd.DataFrame:
    """Return IG and UA/A (`measure`) without and with range lists, and the change (`side`).

    The change comes from the record, which is paired, or else is the difference.
    """
    changes = {measure: (f"{name}_change", subset) for measure, (name, subset) in MEASURES.items()}
    before, after, change = (
        metric_cells(page, columns, labels=labels)
        for columns, labels in ((MEASURES, ELIGIBLE), (MEASURES, RANGE), (changes, RANGE))
    )
    difference = after["value"] - before["value"]
    recorded = change["n"].notna()
    change["value"] = change["value"].where(recorded, difference)
    change["n"] = change["n"].where(recorded, after["n"].where(difference.notna()))
    parts = [part.assign(side=side) for side, part in zip(SIDES, (before, after, change), strict=True)]
    every = pd.concat(parts, ignore_index=True).rename(columns={"column": "measure"})
    return every.assign(column=every["measure"] + " " + every["side"])


EFFECTS = TableDefinition(
    name="realbirdid-range-lists",
    alias="realbirdid-F19",
    source=PAPER,
    summary="What lists of the species of a region change, for every model.",
    pages=_effect_pages,
    needs=NEEDS_LISTS,
    command=COMMANDS[SPECIES],
    title="{page}: effect of range lists (%)",
    cells=effects,
    rows=("Family", "Model"),
    columns=tuple(f"{measure} {side}" for measure in MEASURES for side in SIDES),
    formats={f"{measure} Δ": CHANGED for measure in MEASURES},
    sections="Family",
    notes=(MEANING, GAIN, PAIRED, SETS),
)


def complete_effects(page: Page) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield family, measure, and the effects of the models that have the numbers of all sides."""
    numbers = effects(page).join(page.names, on="row")
    numbers = numbers[numbers.groupby(["row", "measure"])["value"].transform("count") == len(SIDES)]
    present = [family for family in FAMILIES if family in {*page.names["Family"]}]
    for family in (*present, *[EVERY] * (len(present) > 1)):
        chosen = numbers if family == EVERY else numbers[numbers["Family"] == family]
        yield from ((family, measure, part) for measure, part in chosen.groupby("measure"))


def describe_family(family: str, measure: str, numbers: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the cells of a family and measure."""
    row = {"row": 0, "Models": family, "Metric": measure}
    sides = dict([*numbers.groupby("side")])
    yield row | {"column": "Number", "count": len(sides["with"])}
    yield row | {"column": "n", "count": sides["with"]["n"].iloc[0]}
    for side, head in zip(SIDES, ("SD", "SD with", "SD of Δ"), strict=True):
        values = sides[side]["value"]
        yield row | {"column": side, **_mean_over_models(values, least=-1.0 if side == "Δ" else 0.0)}
        yield row | {"column": head, "value": values.std()}
    yield row | {"column": "Rose", "count": (sides["Δ"]["value"] > 0).sum()}


def _mean_over_models(values: pd.Series, *, least: float) -> dict[str, float]:
    """Return the mean with Student's interval within [least, 1]; no interval for one model."""
    low, high = np.clip(t_interval(values), least, 1.0)
    return {"value": values.mean(), "low": low, "high": high}


OVER_MODELS = replace(
    EFFECTS,
    name="realbirdid-range-lists-over-models",
    alias="realbirdid-F6",
    summary="What lists of the species of a region change, on average over the models of a family.",
    title="{page}: effect of range lists over models (%)",
    pages=lambda runs, labels: [page for page in _effect_pages(runs, labels) if any(complete_effects(page))],
    cells=lambda page: pd.DataFrame([cell for rows in complete_effects(page) for cell in describe_family(*rows)]),
    rows=("Models", "Metric"),
    columns=("Number", "n", "without", "SD", "with", "SD with", "Δ", "SD of Δ", "Rose"),
    formats={"Δ": CHANGED, "SD of Δ": PERCENT},
    sections="",
    notes=(MEANING, GAIN, "Δ: with less without.", OVER, SETS),
)
TABLES = (OVER_MODELS, EFFECTS)
