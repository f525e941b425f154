"""A table and a figure of your own: the accuracy of a classifier on each colour."""

from typing import TYPE_CHECKING

from eyechart.reports.figures.charts import FigureDefinition, draw_bars, label_rows
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page, protocol_pages
from eyechart.results.frames import share

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLOURS = {"0": "red", "1": "green", "2": "blue"}


def colour_cells(page: Page) -> "pd.DataFrame":
    """Return the accuracy on the images of each colour."""
    samples = page.samples(["label", "original.correct"])
    samples["column"] = samples["label"].map(COLOURS)
    return share(samples, "original.correct", ["row", "column"])


ACCURACY_BY_COLOUR = TableDefinition(
    name="accuracy-by-colour",
    summary="Accuracy of classifiers on swatches of each colour.",
    pages=protocol_pages("supervised"),
    needs="shows the accuracy of classifiers by colour",
    command="pytest test_colours.py",
    title="{page}: accuracy by colour (%)",
    cells=colour_cells,
    rows=("Model", "Protocol"),
    columns=tuple(COLOURS.values()),
    notes=("Brackets: 95 % intervals, Wilson.",),
)


def draw(ax: "Axes", page: Page, cells: "pd.DataFrame") -> None:
    """Draw a bar for each colour and model."""
    draw_bars(ax, cells, list(COLOURS.values()), colours={name: f"tab:{name}" for name in COLOURS.values()})
    label_rows(ax, list(page.names["Model"]))
    ax.set_xlim(0, 120)


BARS_BY_COLOUR = FigureDefinition(
    summary="Bars of the accuracy on swatches of each colour.",
    table=ACCURACY_BY_COLOUR,
    draw=draw,
    height=lambda page: 1 + 0.6 * len(page.cases),
)
