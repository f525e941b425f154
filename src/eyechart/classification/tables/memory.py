"""`memory`: whether a model has learnt the published draw of the options of multiple choice."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from eyechart.classification.protocols.helpers.text_options import REDRAW
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.one_option import OneOption, pages_of_option, read_option
from eyechart.reports.tables.render import P_VALUE
from eyechart.reports.tables.selection import Page
from eyechart.statistics.memory_test import memory_test

PUBLISHED = REDRAW.default
COLUMNS = ("Redraws", "Published draw", "Redraws, mean", "Δ", "p", "Learnt", "Detectable")
NOTES = (
    "Δ: accuracy under the published draw minus the mean under the redraws, over the same images; 95 % interval.",
    'p: of "the published draw is as any other", one-sided, by exchanging the draws within each image.',
    "Learnt: Δ as a share of what is answered wrong under redraws: what memory must have answered to make it.",
    "Detectable: the smallest such share that is found at 0.05 with a probability of 80 %; less may be missed.",
)


def _cells(page: Page) -> pd.DataFrame:
    """Return the cells of each model."""
    return pd.DataFrame([cell for found in read_option(page, REDRAW.name, PUBLISHED) for cell in _row(found)])


def _row(found: OneOption) -> Iterator[Mapping[str, Any]]:
    """Yield the cells of a model."""
    column = found.values.index(PUBLISHED)
    result = memory_test(found.outcomes[:, column], np.delete(found.outcomes, column, axis=1), found.units)
    n = len(found.outcomes)
    cells: list[dict[str, Any]] = [
        {"count": len(found.values) - 1},
        {"value": result.published, "n": n},
        {"value": result.redrawn, "n": n},
        {"value": result.effect, "low": result.ci.low, "high": result.ci.high},
        {"value": result.p},
        {"value": result.learnt},
        {"value": result.detectable},
    ]
    return found.cells(COLUMNS, cells)


def _notes(page: Page) -> Iterator[str]:
    """Yield how many images are left out."""
    for found in read_option(page, REDRAW.name, PUBLISHED):
        yield from found.missing_notes()


MEMORY = TableDefinition(
    name="memory",
    summary="Multiple choice under the published draw of options and under redraws: whether the draw was learnt.",
    pages=pages_of_option(REDRAW.name, PUBLISHED),
    needs="compares the published draw of mcq with redraws of it",
    command="pytest -k 'toybox/sample and mcq' --eye-set=mcq.redraw=0,1,2,3,4",
    title="{page}: memory of the published options under {labels} (%)",
    cells=_cells,
    rows=("Model", "Protocol"),
    columns=COLUMNS,
    formats={"p": P_VALUE},
    notes=(*NOTES, _notes),
)
