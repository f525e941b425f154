"""Comparison of a model's degradation with reference models: section B.2.2 and Figure 10 of arXiv 2602.18094."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from eyechart.errors import ReportError
from eyechart.messages.suggestions import did_you_mean
from eyechart.oodbench.statistics.degradation import Equivalence, degradation_band, tost
from eyechart.oodbench.tables.degradation_tables import (
    DELTA,
    DELTA_STYLE,
    FALL,
    MEASURE,
    NUM,
    PERMUTATION,
    PairCounts,
    SetOfRow,
    cell,
    comparable_rows,
    comparable_sets,
    compute_degradation,
    count_answers,
    name_rows,
    pooled_degradation_pages,
)
from eyechart.oodbench.tables.existence_tables import COMMAND
from eyechart.oodbench.tables.measure_columns import HEADS, MEANING, TIMES
from eyechart.oodbench.tables.pair_pages import pair_settings
from eyechart.reports.runs import Runs
from eyechart.reports.tables.render import MISSING, PERCENT
from eyechart.reports.tables.selection import Page
from eyechart.statistics.array_types import Ints

BAND_LOW, BAND_HIGH, LIES = "Band low", "Band high", "Δ lies"
DIFFERENCE, MARGIN, EQUIVALENT = "δ", "η", "Equivalent"
BAND = "Band: from the lowest lower to the highest upper end of the reference models' intervals of Δ."
ALIKE = (
    f"δ: the model's Δ less the mean Δ of the reference models, in % points, over pairs that all have answered; "
    f"brackets: 90 % intervals of {TIMES:,} resamples, which draw the same images for all. η: the standard "
    "deviation of the reference models' resampled Δ, pooled. Equivalent: the interval lies inside ±η (two one-sided "
    "tests at 5 %)."
)


def _reference_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return the pages of degradations on which models have reference models.

    The column Role of the names is "reference" for the models of `--reference` and "compared" for others; "" if no
    model is named, then all others with the same pairs and settings are references. Raises ReportError for a name that
    no model has.
    """
    pages = pooled_degradation_pages(runs, labels)
    known = {case.record.model.title: case.model for page in pages for case in page.cases}
    known |= {model: model for model in known.values()}
    if unknown := next((name for name in runs.references if name not in known), None):
        raise ReportError(
            f"--reference={unknown} is no model that these runs asked{did_you_mean(unknown, [*known])} "
            f"There are: {', '.join(known)}."
        )
    chosen = {known[name] for name in runs.references}
    roles = [
        [("reference" if case.model in chosen else "compared") * bool(chosen) for case in page.cases] for page in pages
    ]
    marked = [replace(page, names=page.names.assign(Role=role)) for page, role in zip(pages, roles, strict=True)]
    return [page for page in marked if _references(page)]


def _references(page: Page) -> dict[SetOfRow, list[int]]:
    """Return the rows of the reference models of each row and OOD set that has some."""
    rows, role = comparable_rows(page), page.names["Role"]
    asked = [(case.model, pair_settings(case)) for case in page.cases]

    def are_comparable(row: int, other: int) -> bool:
        (model, settings), (other_model, other_settings) = asked[row], asked[other]
        return model != other_model and settings == other_settings and role[other] != "compared"

    alike = {
        (row, name): [other for other, same in rows if same == name and are_comparable(row, other)]
        for row, name in rows
        if role[row] != "reference"
    }
    return {key: others for key, others in alike.items() if others}


def _reference_notes(page: Page) -> Iterator[str]:
    """Yield one note per model that lists its reference models."""
    by_row = {row: others for (row, _), others in _references(page).items()}
    names = page.names["Model"]
    for row, others in by_row.items():
        yield f"Reference of {names[row]}{page.names['Suffix'][row]}: {', '.join(names[other] for other in others)}."


def _band_cells(page: Page) -> pd.DataFrame:
    """Return each degradation, the ends of the references' band, and where the degradation lies."""
    sets = comparable_sets(page)
    degradations = {key: compute_degradation(page, key[0], pairs) for key, pairs in sets.items()}
    cells: list[dict[str, Any]] = []
    for (row, name), others in _references(page).items():
        n = count_answers(sets[row, name])
        for measure, result in degradations[row, name].items():
            at = {"row": row, "set": name, NUM: n, MEASURE: HEADS[measure]}
            low, high = degradation_band([degradations[other, name][measure].ci for other in others])
            cells += [
                {**at, **cell(DELTA, result.delta, result.ci)},
                {**at, **cell(BAND_LOW, low)},
                {**at, **cell(BAND_HIGH, high)},
                {**at, "column": LIES, "text": _describe_position(result.delta, low, high)},
            ]
    return name_rows(page, cells)


def _describe_position(delta: float, low: float, high: float) -> str:
    if np.isnan([low, delta]).any():
        return MISSING
    return "below" if delta < low else "above" if delta > high else "inside"


SIGNATURE = replace(
    PERMUTATION,
    name="oodbench-signature",
    alias="",
    summary="Whether each model falls as far as reference models do.",
    pages=_reference_pages,
    needs="compares models with reference models that were asked the same pairs in the same way",
    command=f"{COMMAND} --eye-model=A --eye-model=B",
    title="OODBench: behavioural signature, {page}",
    cells=_band_cells,
    columns=(DELTA, BAND_LOW, BAND_HIGH, LIES),
    notes=(FALL, BAND, _reference_notes, MEANING),
    formats=dict.fromkeys((DELTA, BAND_LOW, BAND_HIGH), DELTA_STYLE),
)


def equivalences(page: Page) -> dict[SetOfRow, tuple[int, dict[str, Equivalence]]]:
    """Return the number of shared answers and the test of equivalence of each measure, by row and OOD set."""
    sets, results = comparable_sets(page), {}
    for (row, name), others in _references(page).items():
        sides = zip(*(sets[at, name] for at in (row, *others)), strict=True)
        (before, first), (after, second) = map(_shared_counts, sides)
        strata, images = (first.data, second.data), (first.images, second.images)
        n = int(before[0].sum() + after[0].sum())
        results[row, name] = n, tost(before, after, TIMES, page.cases[row].record.seed, strata, images)
    return results


def _shared_counts(pairs: Sequence[PairCounts]) -> tuple[Ints, PairCounts]:
    """Return the confusion tables (models, m, 4) of the pairs that all models answered, and those of the first."""
    kept = np.all([part.answered for part in pairs], axis=0)
    return np.stack([part.confusion[kept] for part in pairs]), pairs[0].select(kept)


def _equivalence_cells(page: Page) -> pd.DataFrame:
    """Return the difference to the reference models, the margin, and the decision."""
    cells: list[dict[str, Any]] = []
    for (row, name), (n, results) in equivalences(page).items():
        for measure, result in results.items():
            at = {"row": row, "set": name, NUM: n, MEASURE: HEADS[measure]}
            decision = MISSING if np.isnan(result.delta) else "yes" if result.equivalent else "no"
            cells += [
                {**at, **cell(DIFFERENCE, result.delta, result.ci)},
                {**at, **cell(MARGIN, result.eta)},
                {**at, "column": EQUIVALENT, "text": decision},
            ]
    return name_rows(page, cells)


EQUIVALENCE = replace(
    SIGNATURE,
    name="oodbench-equivalence",
    alias="oodbench-F10",
    summary="The test whether each model falls as far as the mean of reference models.",
    title="OODBench: equivalence of falls, {page}",
    cells=_equivalence_cells,
    columns=(DIFFERENCE, MARGIN, EQUIVALENT),
    notes=(ALIKE, _reference_notes, MEANING),
    formats={DIFFERENCE: DELTA_STYLE, MARGIN: PERCENT},
)
TABLES = (SIGNATURE, EQUIVALENCE)
