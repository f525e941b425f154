"""`blind`: what a model answers without the image, beside chance and beside its answers with images."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from eyechart.data.dataset.blanks import BLANK
from eyechart.reports.runs import CaseRun
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.one_option import OneOption, interval_ends, pages_of_option, read_option
from eyechart.reports.tables.render import NumberFormat
from eyechart.reports.tables.selection import Page
from eyechart.results.evidence import Floats
from eyechart.statistics.clusters import clustered_t_interval
from eyechart.statistics.image_bits import above_chance, image_bits

IMAGES, NOISE = "images", "noise"  # the value of a case without a blank, and the start of all noises
LOG_SCORE, OPTIONS, TARGET, KIND = "log_score", "options", "target", "kind"
COLUMNS = ("With images", "Blind", "Chance", "Above chance", "Bits per image")
NOTES = (
    "Blind: the same prompts about the blank instead of every image. Several noises are one row, their mean.",
    "Chance: 1 / options, or the share of the commonest label if every class may be named.",
    "Above chance: Blind minus Chance over the same images, in points, with its 95 % interval.",
    "Bits per image: mean of log2 P(label | image) - log2 P(label | blank), if the model has probabilities.",
)


def _cells(page: Page) -> pd.DataFrame:
    """Return the cells of each model and kind of blank."""
    return pd.DataFrame([cell for found in read_option(page, BLANK, IMAGES) for cell in _rows(found, page.labels)])


def _rows(found: OneOption, labels: str) -> Iterator[Mapping[str, Any]]:
    """Yield the cells of a model: a row for each kind of blank."""
    seen, n = found.values.index(IMAGES), len(found.outcomes)
    chance = _chance(found.cases[seen])[found.samples]
    kinds: dict[str, list[int]] = {}
    for column, name in enumerate(found.values):
        if column != seen:
            kinds.setdefault(NOISE if name.startswith(NOISE) else name, []).append(column)
    for kind, columns in kinds.items():
        blind = above_chance(found.outcomes[:, columns].mean(axis=1), chance, found.units)
        name = f"{kind} ({len(columns)})" if kind == NOISE else kind
        cells: list[dict[str, Any]] = [
            {"value": float(found.outcomes[:, seen].mean()), "n": n},
            {"value": blind.accuracy, "n": n},
            {"value": blind.chance},
            {"value": blind.value, "low": blind.ci.low, "high": blind.ci.high},
        ]
        scores = [_log_scores(found.cases[column], labels) for column in (seen, *columns)]
        known = [values[found.samples] for values in scores if values is not None]
        if len(known) == len(scores):
            bits = image_bits(known[0], np.stack(known[1:]))
            counted = ~np.isnan(bits)
            ends = interval_ends(clustered_t_interval(bits, found.units))
            cells.append({"value": float(bits[counted].mean()), "n": int(counted.sum()), **ends})
        yield from found.cells(COLUMNS[: len(cells)], cells, Blank=name)


def _chance(case: CaseRun) -> Floats:
    """Return the chance of a right answer to each sample (samples,): by its options, else by the commonest target.

    If the table has a column of kinds, each kind has a commonest target of its own.
    """
    frame = case.samples()
    options = frame[OPTIONS].fillna("").astype(str) if OPTIONS in frame else pd.Series("", frame.index)
    targets = frame[TARGET].fillna("")
    kinds = frame[KIND] if KIND in frame else pd.Series("", frame.index)
    chance: Floats = 1 / (options.str.count(";").to_numpy(np.float64) + 1)
    for kind in kinds[options == ""].unique():
        rows = ((kinds == kind) & (options == "")).to_numpy()
        known = targets[rows & (targets != "")]
        commonest = known.value_counts(sort=True).index[0] if len(known) else ""
        chance[rows] = (targets == commonest)[rows]
    return chance


def _log_scores(case: CaseRun, labels: str) -> Floats | None:
    """Return the log score of each sample; None for a case without probabilities."""
    found = (metric for metric in case.evidence.metrics if (metric.name, metric.labels) == (LOG_SCORE, labels))
    return next((case.evidence.log_scores(metric) for metric in found), None)


def _notes(page: Page) -> Iterator[str]:
    """Yield how many images are left out."""
    for found in read_option(page, BLANK, IMAGES):
        yield from found.missing_notes()


BLIND = TableDefinition(
    name="blind",
    summary="Answers without the image beside chance and beside answers with it, and the bits that an image adds.",
    pages=pages_of_option(BLANK, IMAGES),
    needs="compares cases with images and cases with a blank instead",
    command="pytest -k 'toybox/sample and mcq' --eye-blank=grey, with a run of the same cases without --eye-blank",
    title="{page}: without looking, under {labels} (%)",
    cells=_cells,
    rows=("Model", "Protocol", "Blank"),
    columns=COLUMNS,
    formats={"Above chance": NumberFormat(100, 1, signed=True), "Bits per image": NumberFormat(1, 2, signed=True)},
    notes=(*NOTES, _notes),
)
