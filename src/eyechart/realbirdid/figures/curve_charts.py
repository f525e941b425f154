"""Figures 5, 9, 10, 17 and 18 of RealBirdID: curves over all thresholds, with the area under each curve."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from eyechart.realbirdid.figures.chart_styles import (
    CaseStyle,
    add_legend,
    caption,
    case_styles,
    format_percent,
    legend_height,
)
from eyechart.realbirdid.tables.bird_pages import metric_cells
from eyechart.realbirdid.tables.curves import GRIDS, TABLES, Grid, Panel, curve_points, read_points, select_panels
from eyechart.reports.figures.charts import BlockFigure
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

WIDE, HIGH, ENTRY = 4.4, 2.9, 0.14  # inches of a panel, and of a line beside it
OFTEN = 0.12  # a marker each so much of a panel
ASIDE: Any = {"fontsize": 6, "loc": "upper left", "bbox_to_anchor": (1, 1), "handlelength": 1.5, "frameon": False}


def _block_width(page: Page, grid: Callable[[str], Grid]) -> float:
    """Return the width of a block in inches."""
    return WIDE * max(map(len, select_panels(page, grid)))


def block_height(page: Page, grid: Callable[[str], Grid]) -> float:
    """Return the height of a block in inches."""
    row_height = max(HIGH, ENTRY * len(page.cases) + 0.9)
    rows = len(select_panels(page, grid))
    return row_height * rows + legend_height([*page.names["Model"]], _block_width(page, grid)) + 0.5


def _block_caption(page: Page, grid: Callable[[str], Grid]) -> str:
    """Return the text above a block."""
    return caption(page, [labels for row in select_panels(page, grid) for _, labels in row])


def draw_block(part: "SubFigure", page: Page, runs: Runs, grid: Callable[[str], Grid]) -> None:
    """Draw the panels of a page, with the legend of models below."""
    points, panels, styles = read_points(page), select_panels(page, grid), case_styles(runs, page.cases)
    across = max(map(len, panels))
    for row, of in enumerate(panels):
        for column, panel in enumerate(of):
            ax = part.add_subplot(len(panels), across, across * row + column + 1)
            draw_panel(ax, page, panel, points, styles)
    add_legend(part, list(zip(page.names["Model"], styles, strict=True)), _block_width(page, grid))


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


def _curve_figure(table: TableDefinition) -> BlockFigure:
    """Return the figure of a table."""
    grid = GRIDS[table.alias]
    return BlockFigure(
        summary=table.summary,
        table=table,
        draw=partial(draw_block, grid=grid),
        caption=partial(_block_caption, grid=grid),
        height=partial(block_height, grid=grid),
        width=partial(_block_width, grid=grid),
    )


FIGURES = tuple(map(_curve_figure, TABLES))
