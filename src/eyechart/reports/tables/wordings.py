"""`wordings`: how the accuracy of a model varies over several wordings of a prompt, asked about the same images."""

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Any

import pandas as pd

from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.one_option import OneOption, interval_ends, pages_of_option, read_option
from eyechart.reports.tables.render import NumberFormat
from eyechart.reports.tables.selection import Page
from eyechart.statistics.wordings import best_wording, new_wording_interval, wording_components

PROMPT = "prompt"  # the option that names the wording
COLUMNS = ("Wordings", "Mean, new wording", "SD, points", "Best wording", "Its accuracy here", "On other images")
NOTES = (
    "Mean: of all wordings; 95 % interval of the accuracy that one more such wording would have on these images.",
    "SD: of the accuracy over wordings, without the chance of these images; 0 if it varies less than by chance.",
    "Its accuracy here: of the best wording on the images on which it was chosen, which is too high on average.",
    "On other images: the accuracy of this choice, made on nine tenths of the images and read on the others.",
)


def _cells(page: Page) -> pd.DataFrame:
    """Return the cells of each model."""
    return pd.DataFrame([cell for found in read_option(page, PROMPT) for cell in _row(found)])


def _row(found: OneOption) -> Iterator[Mapping[str, Any]]:
    """Yield the cells of a model."""
    n, accuracies = len(found.outcomes), found.outcomes.mean(axis=0)
    best = best_wording(found.outcomes, found.units)
    spread = sqrt(wording_components(found.outcomes, found.units).wording)
    cells: list[dict[str, Any]] = [
        {"count": len(found.cases)},
        {"value": float(accuracies.mean()), "n": n, **interval_ends(new_wording_interval(accuracies))},
        {"value": spread},
        {"text": found.values[best.index]},
        {"value": best.observed, "n": n},
        {"value": best.value, "n": n, **interval_ends(best.ci)},
    ]
    return found.cells(COLUMNS, cells)


def _notes(page: Page) -> Iterator[str]:
    """Yield of each model the parts of the variance and the images that are left out."""
    for found in read_option(page, PROMPT):
        parts = wording_components(found.outcomes, found.units)
        total = parts.wording + parts.unit + parts.rest
        named = zip(("wordings", "images", "the rest"), (parts.wording, parts.unit, parts.rest), strict=True)
        shares = ", ".join(f"{name} {100 * part / total:.1f} %" for name, part in named) if total else "none"
        yield f"{found.name}: parts of the variance of an answer: {shares}. Wordings: {', '.join(found.values)}."
        yield from found.missing_notes()


WORDINGS = TableDefinition(
    name="wordings",
    summary="Variation of the accuracy over wordings of a prompt, a new wording, and the best one without selection.",
    pages=pages_of_option(PROMPT),
    needs="compares cases of a model that differ in their prompt alone",
    command=(
        "pytest -k 'toybox/sample and closed_world' --eye-set=closed_world.prompt=closed_world,FILE, where FILE is a "
        "prompt of your own"
    ),
    title="{page}: wordings of a prompt under {labels} (%)",
    cells=_cells,
    rows=("Model", "Protocol"),
    columns=COLUMNS,
    formats={"SD, points": NumberFormat(100, 1)},
    notes=(*NOTES, _notes),
)
