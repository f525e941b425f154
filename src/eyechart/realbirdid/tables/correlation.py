"""Correlations of classification and abstention over models: section 6.1 of arXiv 2603.27033."""

import numpy as np
import pandas as pd

from eyechart.realbirdid.tables.bird_pages import COMMANDS, NEEDS, PAPER, SETS, SPECIES, metric_cells, select_pages
from eyechart.realbirdid.tables.summary_tables import GAIN, TRADEOFF
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import CORRELATION
from eyechart.reports.tables.selection import Page
from eyechart.results.records import ANSWERABLE, WHOLE
from eyechart.statistics.intervals import fisher_interval

ALL_MODELS = "All models"
MEASURES = {"IG": ("ig", ANSWERABLE), "Acc": ("acc", ANSWERABLE, "species"), "UA/A": ("ua_a", WHOLE)}
COLUMNS = {"IG and UA/A": "IG", "A Species Acc and UA/A": "Acc"}  # and the measure of classification
FEWEST = 3  # models that make a correlation informative
MEANING = (
    "Pearson's correlation over models with both numbers. Brackets: 95 % intervals by Fisher's transformation, of four "
    "models or more. The paper prints 0.60 for encoders; its Tables 2 and 3 give −0.24 and −0.20."
)


def _correlation_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return the pages on which enough models have both numbers."""
    return [page for page in select_pages(runs, SPECIES, labels) if not _correlation_cells(page).empty]


def _correlation_cells(page: Page) -> pd.DataFrame:
    """Return the correlations over the models of each family, and over all models."""
    numbers = metric_cells(page, MEASURES).pivot_table(index="row", columns="column", values="value")
    families = {name: group.index for name, group in page.names.groupby("Family", sort=False)}
    groups = families | {ALL_MODELS: page.names.index} if len(families) > 1 else families
    cells = [
        {"row": 0, "Models": name, "Place": index, "column": column, **correlate(numbers, rows, measure)}
        for index, (name, rows) in enumerate(groups.items())
        for column, measure in COLUMNS.items()
        if {measure, "UA/A"} <= {*numbers.columns}
    ]
    frame = pd.DataFrame(cells, columns=["row", "Models", "Place", "column", "value", "n", "low", "high"])
    return frame[frame["n"] >= FEWEST]


def correlate(numbers: pd.DataFrame, rows: pd.Index, measure: str) -> dict[str, float]:
    """Return Pearson's correlation of a measure with UA/A over some models, with its interval, as a cell."""
    both = numbers.reindex(rows)[[measure, "UA/A"]].dropna()
    varied = len(both) >= FEWEST and (both.nunique() > 1).all()
    value = float(np.clip(np.corrcoef(both.to_numpy().T)[0, 1], -1, 1)) if varied else np.nan
    low, high = fisher_interval(value, len(both))
    return {"value": value, "n": len(both), "low": low, "high": high}


CORRELATIONS = TableDefinition(
    name="realbirdid-correlation",
    source=f"{PAPER}, section 6.1",
    summary="Whether models that classify better also abstain better: correlations of IG and accuracy with UA/A.",
    pages=_correlation_pages,
    needs=f"{NEEDS[SPECIES]}, of at least {FEWEST} models",
    command=COMMANDS[SPECIES],
    title="{page}: correlation of classification and abstention over models",
    cells=_correlation_cells,
    rows=("Models",),
    order=("Place",),
    columns=tuple(COLUMNS),
    formats=dict.fromkeys(COLUMNS, CORRELATION),
    notes=(MEANING, GAIN, TRADEOFF, SETS),
)
TABLES = (CORRELATIONS,)
