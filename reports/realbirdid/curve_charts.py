"""Figures 5, 9, 10, 17 and 18 of RealBirdID: curves over all thresholds, with the area under each curve."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..pages import Page
from ..runs import Runs
from ..table_definitions import TableDefinition
from .bar_charts import format_percent
from .chart_styles import CaseStyle, add_caption, add_legend, case_styles, legend_height, make_subfigures
from .curves import GRIDS, TABLES, Grid, Panel, curve_points, read_points, select_panels
from .pages import metric_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

WIDE, HIGH, ENTRY = 4.4, 2.9, 0.14  # inches of a panel, and of a line beside it
OFTEN = 0.12  # a marker each so much of a panel
ASIDE: Any = {"fontsize": 6, "loc": "upper left", "bbox_to_anchor": (1, 1), "handlelength": 1.5, "frameon": False}


def draw_figure(table: TableDefinition, runs: Runs, labels: str | None) -> "Figure":
    """Return the figure of a table: a block of panels for each page."""
    pages = table.get_pages(runs, labels)
    grids = [select_panels(page, GRIDS[table.alias]) for page in pages]
    width = WIDE * max(len(row) for grid in grids for row in grid)
    figure, parts = make_subfigures(
        [block_height(page, grid, width) for page, grid in zip(pages, grids, strict=True)], width
    )
    for part, page, grid in zip(parts, pages, grids, strict=True):
        styles = case_styles(runs, page.cases)
        draw_grid(part, page, grid, styles)
        add_caption(part, page, [labels for row in grid for _, labels in row], width)
        add_legend(part, list(zip(page.names["Model"], styles, strict=True)), width)
    return figure


def block_height(page: Page, grid: Grid, width: float) -> float:
    """Return the height of a block in inches."""
    row_height = max(HIGH, ENTRY * len(page.cases) + 0.9)
    return row_height * len(grid) + legend_height([*page.names["Model"]], width) + 0.5


def draw_grid(part: "SubFigure", page: Page, grid: Grid, styles: Sequence[CaseStyle]) -> None:
    """Draw the panels of one block."""
    points, across = read_points(page), max(map(len, grid))
    for row, panels in enumerate(grid):
        for column, panel in enumerate(panels):
            ax = part.add_subplot(len(grid), across, across * row + column + 1)
            draw_panel(ax, page, panel, points, styles)


def draw_panel(ax: "Axes", page: Page, panel: Panel, points: pd.DataFrame, styles: Sequence[CaseStyle]) -> None:
    """Draw one curve per model, with the area under it in the legend."""
    curve, labels = panel
    areas = metric_cells(page, {curve.head: (curve.area, *curve.images)}, labels)
    for row, part in curve_points(points, curve, labels).groupby("row"):
        value, low, high = areas.loc[row, ["value", "low", "high"]].astype(float)
        label = "" if np.isnan(value) else format_percent(value, low, high)
        ax.plot(100 * part["x"], 100 * part["y"], label=label, markevery=OFTEN, **styles[row].line_options)
    if curve.name.startswith("abstention"):
        ax.plot([0, 100], [0, 100], color="black", linestyle=":", linewidth=0.7)
    ax.set_title(f"{curve.head} ({labels})", fontsize=9)
    ax.set_xlabel(curve.x, fontsize=8)
    ax.set_ylabel(curve.y, fontsize=8)
    ax.set_xlim(-2, 102)
    ax.set_ylim(-2, 102)
    ax.tick_params(labelsize=7)
    ax.legend(**ASIDE, title=f"{curve.area_name} (%)", title_fontsize=6)


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {
    table.alias: partial(draw_figure, table) for table in TABLES
}
