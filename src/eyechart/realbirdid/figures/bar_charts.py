"""Figures 4 and 16 of RealBirdID as bar charts: flat list against tree, and class-averaged results."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from eyechart.realbirdid.figures.chart_styles import caption, format_percent
from eyechart.realbirdid.tables.bird_pages import LEVELS
from eyechart.realbirdid.tables.flat import FLAT_AND_TREE, FLAT_LIST, PARTS, TREE, method_cells
from eyechart.realbirdid.tables.summary_tables import AVERAGES, CLASS_AVERAGES
from eyechart.reports.figures.charts import BlockFigure, draw_bars, label_rows
from eyechart.reports.runs import Runs
from eyechart.reports.tables.selection import Page

if TYPE_CHECKING:
    from matplotlib.figure import SubFigure

METHODS = {FLAT_LIST: "tab:orange", TREE: "tab:blue"}
AVERAGE_COLOURS = dict(zip(AVERAGES, ("tab:blue", "tab:cyan", "tab:orange"), strict=True))
BAR, MORE = 0.19, 1.1  # inches of a bar, and of what a block has besides
WIDTH = 11
LIMITS = (0, 140)  # room for the numbers beside full bars


def _draw_methods(part: "SubFigure", page: Page, _: Runs) -> None:
    cells = method_cells(page).rename(columns={"column": "panel"})
    method, model = (cells["row"].map(page.names[name]) for name in ("Method", "Model"))
    _draw_panels(part, cells.assign(column=method, row=pd.factorize(model)[0]), [*PARTS], [*model.unique()], METHODS)


def _draw_averages(part: "SubFigure", page: Page, _: Runs) -> None:
    heads = {f"{panel} {name}": (panel, name) for panel in LEVELS for name in AVERAGES}
    cells = CLASS_AVERAGES.cells(page)
    cells[["panel", "column"]] = [heads[head] for head in cells["column"]]
    _draw_panels(part, cells, [*LEVELS], [*page.names["Model"]], AVERAGE_COLOURS)


def _draw_panels(
    part: "SubFigure", cells: pd.DataFrame, panels: list[str], names: list[str], colours: Mapping[str, str]
) -> None:
    """Draw the cells of each `panel`: model names at the left, the legend of colours below."""
    axes = part.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for ax, panel in zip(axes, panels, strict=True):
        draw_bars(ax, cells[cells["panel"] == panel], [*colours], colours, text=format_percent)
        ax.set_title(f"{panel} (%)", fontsize=9)
        ax.set_xlim(*LIMITS)
        ax.set_xticks(range(0, 101, 25))
        ax.tick_params(axis="x", labelsize=7)
    label_rows(axes[0], names)
    part.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(colours), fontsize=7,
                frameon=False)  # fmt: skip


FIGURES = (
    BlockFigure(
        summary="One list of species and genera against a tree, as bars.",
        table=FLAT_AND_TREE,
        draw=_draw_methods,
        caption=lambda page: caption(page, [page.labels]),
        height=lambda page: BAR * len(page.cases) + MORE,
        width=lambda _: WIDTH,
    ),
    BlockFigure(
        summary="Class-averaged AUC and accuracy of species and genus, as bars.",
        table=CLASS_AVERAGES,
        draw=_draw_averages,
        caption=lambda page: caption(page, [page.labels]),
        height=lambda page: BAR * len(AVERAGES) * len(page.cases) + MORE,
        width=lambda _: WIDTH,
    ),
)
