"""Figures 4 and 16 of RealBirdID as bar charts: flat list against tree, and class-averaged results."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..pages import Page
from ..panels import wrap_name
from ..render import MISSING
from ..runs import Runs
from .chart_styles import add_caption, make_subfigures
from .flat import FLAT_AND_TREE, FLAT_LIST, PARTS, TREE
from .pages import LEVELS
from .summary import AVERAGES, CLASS_AVERAGES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

COLOURS = {FLAT_LIST: "tab:orange", TREE: "tab:blue"}
AVERAGE_COLOURS = dict(zip(AVERAGES, ("tab:blue", "tab:cyan", "tab:orange"), strict=True))
BAR, MORE = 0.19, 1.1  # inches of a bar, and of what a block has besides
WIDTH = 11
HEIGHT = 0.8  # of a bar, in its place
LIMITS = (0, 140)  # room for the numbers beside full bars


def f4(runs: Runs, labels: str | None) -> "Figure":
    """Return Figure 4: both accuracies and their harmonic mean, flat list beside tree."""
    blocks = []
    for page in FLAT_AND_TREE.get_pages(runs, labels):
        cells = FLAT_AND_TREE.cells(page).join(page.names, on="row")
        cells = cells[cells["column"].isin([*PARTS])]
        blocks.append((page, cells.assign(panel=cells["column"], kind=cells["Method"])))
    return draw_blocks(blocks, COLOURS)


def f16(runs: Runs, labels: str | None) -> "Figure":
    """Return Figure 16: class-averaged AUC and accuracy."""
    heads = {f"{panel} {kind}": (panel, kind) for panel in LEVELS for kind in AVERAGES}
    blocks = []
    for page in CLASS_AVERAGES.get_pages(runs, labels):
        cells = CLASS_AVERAGES.cells(page).join(page.names, on="row")
        panels, kinds = zip(*cells["column"].map(heads), strict=True)
        blocks.append((page, cells.assign(panel=panels, kind=kinds)))
    return draw_blocks(blocks, AVERAGE_COLOURS)


def draw_blocks(blocks: Sequence[tuple[Page, pd.DataFrame]], colours: Mapping[str, str]) -> "Figure":
    """Return a figure with one block of panels per page; `panel` and `kind` say where and how a cell is drawn."""
    heights = [BAR * (bars["panel"] == bars["panel"].iloc[0]).sum() + MORE for _, bars in blocks]
    figure, parts = make_subfigures(heights, WIDTH)
    for part, (page, bars) in zip(parts, blocks, strict=True):
        draw_block(part, bars, colours)
        add_caption(part, page, [page.labels], WIDTH)
    return figure


def draw_block(part: "SubFigure", bars: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """Draw one table: model names at the left, the legend of colours below."""
    from matplotlib.patches import Patch

    panels = [*bars["panel"].unique()]
    for index, (ax, head) in enumerate(zip(part.subplots(1, len(panels), squeeze=False)[0], panels, strict=True)):
        draw_panel(ax, bars[bars["panel"] == head].reset_index(drop=True), colours, named=index == 0)
        ax.set_title(f"{head} (%)", fontsize=9)
    kinds = [Patch(color=colour, label=kind) for kind, colour in colours.items()]
    part.legend(handles=kinds, loc="outside lower center", ncols=len(kinds), fontsize=7, frameon=False)


def draw_panel(ax: "Axes", bars: pd.DataFrame, colours: Mapping[str, str], *, named: bool) -> None:
    """Draw the bars of one metric with their intervals."""
    for bar in bars.dropna(subset="value").itertuples():
        ax.barh(bar.Index, 100 * bar.value, HEIGHT, color=colours[bar.kind])
        draw_value(ax, bar.Index, bar.value, bar.low, bar.high)
    middles = bars.reset_index().groupby("Model", sort=False)["index"].mean()
    ax.set_yticks(middles, [wrap_name(model) if named else "" for model in middles.index], fontsize=7)
    for edge in np.flatnonzero(bars["Model"] != bars["Model"].shift())[1:]:
        ax.axhline(edge - 0.5, color="tab:gray", linewidth=0.3)
    ax.set_xlim(*LIMITS)
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.set_xticks(range(0, 101, 25))
    ax.tick_params(axis="x", labelsize=7)


def draw_value(ax: "Axes", y: float, value: float, low: float, high: float) -> None:
    """Draw the value beside its bar, and the interval as a line across the end of the bar."""
    ends = (100 * value, 100 * value) if np.isnan(low) else (100 * low, 100 * high)
    ax.hlines(y, *ends, color="black", linewidth=0.8)
    beside = (max(100 * value, ends[1]), y)
    ax.annotate(format_percent(value, low, high), beside, (3, 0), textcoords="offset points", fontsize=6, va="center")


def format_percent(value: float, low: float, high: float) -> str:
    """Return a percentage with one decimal, followed by its interval if it has one; a dash if there is no value."""
    if np.isnan(value):
        return MISSING
    return f"{100 * value:.1f}" + ("" if np.isnan(low) else f" [{100 * low:.1f}, {100 * high:.1f}]")


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {"realbirdid-F4": f4, "realbirdid-F16": f16}
