"""Figures 7 and 8 of RealBirdID: abstention rates of equivalent prompts, and reasons of abstention."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from eyechart.realbirdid.figures.chart_styles import CaseStyle, caption, case_styles, format_percent
from eyechart.realbirdid.tables.abstention_tables import (
    RATE,
    SETS,
    SPREAD_OF_PROMPTS,
    STATISTIC,
    prompt_levels,
    rates_by_prompt,
    spread_cells,
)
from eyechart.realbirdid.tables.bird_pages import find_metrics
from eyechart.realbirdid.tables.reasons import ALL, CONFUSION, INITIALS, confusion
from eyechart.reports.figures.charts import BlockFigure, draw_matrix
from eyechart.reports.figures.panels import wrap_name
from eyechart.reports.runs import Runs
from eyechart.reports.tables.render import P_VALUE, one_line
from eyechart.reports.tables.selection import Page
from eyechart.results.records import UNANSWERABLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

BAND, MORE = 0.8, 1.2  # inches of a model, and of all else
TOP, BOTTOM = -0.05, 0.42  # of a model's points in its band
LEAST = 0.0001  # p-values below are not written out
CELL, LEFT = 2.7, 1.0  # inches of a matrix, and of what stands at its left
POINTS = "a point a wording, in their order; line and shade: their mean and SD"
ROWS = (
    "rows: the image's own issue, columns: the reason given (Q image quality, A angle or occlusion, V vocalization); "
    "AR: share of answers that abstain"
)
BANDS = ["row", "subset"]  # what names a band


def _draw_strips(part: "SubFigure", page: Page, runs: Runs) -> None:
    """Draw one panel per prompt level, one band per model and set of images, one point per prompt."""
    levels, styles = prompt_levels(page, [*SETS]), case_styles(runs, page.cases)
    names, bands = [*levels["Level"].unique()], levels.drop_duplicates(BANDS).join(page.names, on="row")
    indices = {key: index for index, key in enumerate(zip(bands["row"], bands["subset"], strict=True))}
    keys = [*BANDS, "Level"]
    points = dict([*rates_by_prompt(page).groupby(keys)])
    axes = part.subplots(1, len(names), squeeze=False, sharex=True, sharey=True)[0]
    for key, cells in spread_cells(page).groupby(keys):
        row, subset, level = key
        ax, index = axes[names.index(level)], indices[row, subset]
        _draw_strip(ax, index, points.get(key, cells[:0]), styles[row])
        _draw_summary(ax, index, cells.set_index("column"), styles[row].colour)
    for ax, name in zip(axes, names, strict=True):
        ax.set_title(one_line(name), fontsize=9)
        ax.set_xlabel("abstained on (%), with 95 % intervals", fontsize=8)
        ax.tick_params(labelsize=7)
    labels = [f"{wrap_name(band.Model)}\n{band.subset}" for band in bands.itertuples()]
    axes[0].set_yticks(range(len(labels)), labels, fontsize=7)
    axes[0].set_ylim(len(labels) - 0.5, -0.5)
    axes[0].set_xlim(left=-2)


def _draw_strip(ax: "Axes", index: int, points: pd.DataFrame, look: CaseStyle) -> None:
    offsets = np.linspace(index + TOP, index + BOTTOM, len(points))
    for offset, point in zip(offsets, points.itertuples(), strict=True):
        if not np.isnan(point.value):
            ax.hlines(offset, 100 * point.low, 100 * point.high, color=look.colour, linewidth=0.6, alpha=0.5)
            ax.plot(100 * point.value, offset, look.marker, color=look.colour, markersize=3)


def _draw_summary(ax: "Axes", index: int, cells: pd.DataFrame, colour: str) -> None:
    """Draw the mean and SD of one level, and write them with Cochran's Q."""
    top, bottom = index + TOP, index + BOTTOM
    mean, sd = 100 * cells.loc[["Mean", "SD"], "value"]
    if not np.isnan(mean):
        shade = (max(0, mean - np.nan_to_num(sd)), min(100, mean + np.nan_to_num(sd)))
        ax.fill_betweenx([top, bottom], *shade, color=colour, alpha=0.15, linewidth=0)
        ax.vlines(mean, top, bottom, color="black", linewidth=1)
    ax.axhline(index + 0.5, color="tab:gray", linewidth=0.3)
    text = _describe_spread(cells)
    ax.annotate(text, (0, index - 0.46), (2, 0), textcoords="offset points", fontsize=6, va="top")


def _describe_spread(cells: pd.DataFrame) -> str:
    """Return the numbers of one level in two lines."""
    values, counts = cells["value"], cells["count"]
    mean, sd = (format_percent(*cells.loc[name, ["value", "low", "high"]].astype(float)) for name in ("Mean", "SD"))
    spread = "" if np.isnan(values["SD"]) else f", SD {sd}"
    sizes = f"n={int(np.nan_to_num(cells['n']['Mean'])):,}, {int(counts['Wordings'])} wordings"
    if "df" not in cells.index:
        return f"mean {mean}{spread}\n{sizes}"
    test = f"Q {STATISTIC(values['Q'])}, df {int(counts['df'])}, p {_format_p_value(values['p'])}"
    return f"mean {mean}{spread}\n{sizes}, {test}"


def _format_p_value(p: float) -> str:
    """Return a p-value as text, as an upper bound if it is too small for its digits."""
    return f"< {LEAST:.4f}" if p < LEAST else P_VALUE(p)


def _matrix_shape(page: Page) -> tuple[int, int]:
    levels = prompt_levels(page, [UNANSWERABLE]).groupby("row").size()
    return len(levels), levels.max()


def _draw_matrices(part: "SubFigure", page: Page, _: Runs) -> None:
    """Draw one row per model, its name at the left, and one matrix per prompt level."""
    levels = prompt_levels(page, [UNANSWERABLE])
    rates = find_metrics(page, levels.assign(metric=RATE, prompt=levels["Level"]))
    cells = confusion(page)
    matrices = dict([*cells[cells["issue"] != ALL].groupby(["row", "Level"])])
    axes = part.subplots(*_matrix_shape(page), squeeze=False)
    for line, (row, of) in zip(axes, rates.groupby("row"), strict=True):
        for ax, rate in zip(line, of.itertuples(), strict=False):
            _draw_matrix(ax, matrices[row, rate.Level])
            title = f"{one_line(rate.Level)}: AR {format_percent(rate.value, rate.low, rate.high)}"
            ax.set_title(f"{title}, n={int(np.nan_to_num(rate.n)):,}", fontsize=7)
        for ax in line[len(of) :]:
            ax.set_axis_off()
        line[0].set_ylabel(wrap_name(page.names["Model"][row]), fontsize=7)


def _draw_matrix(ax: "Axes", cells: pd.DataFrame) -> None:
    """Draw one matrix; each cell has its share of the row and its count."""
    issues, reasons = cells["issue"].unique(), cells["reason"].unique()
    shares = cells["value"].fillna(0).to_numpy().reshape(len(issues), len(reasons))
    texts = map(_format_share, cells.rename(columns={"count": "answers"}).itertuples())
    draw_matrix(ax, shares, texts, "Blues", aspect="auto")
    ax.set_xticks(range(len(reasons)), [INITIALS.get(reason, one_line(reason)) for reason in reasons], fontsize=7)
    ax.set_yticks(range(len(issues)), [INITIALS.get(issue, issue) for issue in issues], fontsize=7)


def _format_share(cell: Any) -> str:
    if np.isnan(cell.value):
        return "0"
    interval = "" if np.isnan(cell.low) else f"[{100 * cell.low:.0f}, {100 * cell.high:.0f}]\n"
    return f"{100 * cell.value:.1f} %\n{interval}{cell.answers:,}"


FIGURES = (
    BlockFigure(
        summary="The abstention rate of every prompt, with mean, SD and Cochran's Q of each level.",
        table=SPREAD_OF_PROMPTS,
        draw=_draw_strips,
        caption=lambda page: caption(page, [], POINTS),
        height=lambda page: BAND * len(prompt_levels(page, [*SETS]).drop_duplicates(BANDS)) + MORE,
        width=lambda _: 12,
    ),
    BlockFigure(
        summary="Matrices of the reasons that models give by what is the matter with the image.",
        table=CONFUSION,
        draw=_draw_matrices,
        caption=lambda page: caption(page, [], ROWS),
        height=lambda page: CELL * _matrix_shape(page)[0] + 0.5,
        width=lambda page: CELL * _matrix_shape(page)[1] + LEFT,
    ),
)
