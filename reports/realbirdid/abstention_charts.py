"""Figures 7 and 8 of RealBirdID: abstention rates of equivalent prompts, and reasons of abstention."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..panels import wrap_name
from ..render import NumberCell, one_line
from ..runs import Runs
from .abstention import SETS, Level, TableLevels, collect_levels
from .bar_charts import format_value
from .chart_styles import CaseStyle, add_caption, case_styles, make_subfigures
from .reasons import INITIALS, Confusion, Confusions, collect_confusions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

BAND, MORE, WIDTH = 0.75, 1.2, 12  # inches of a model, of all else, and across
TOP, BOTTOM = -0.2, 0.42  # of a model's points in its band
LEAST = 0.0001  # p-values below are not written out
CELL, LEFT = 2.7, 1.0  # inches of a matrix, and of what stands at its left
POINTS = "a point a wording, in their order; line and shade: their mean and SD"
ROWS = (
    "rows: the image's own issue, columns: the reason given (Q image quality, A angle or occlusion, V vocalization); "
    "AR: share of answers that abstain"
)


def f7(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 7: one panel per prompt level, one band per model, one point per prompt."""
    tables = collect_levels(pool, "realbirdid-F7")
    figure, under = make_subfigures([BAND * len(band_keys(levels)) + MORE for levels in tables], WIDTH)
    for part, levels in zip(under, tables, strict=True):
        draw_strips(part, levels, pool)
        add_caption(part, levels.table_cases.group, [], WIDTH, POINTS)
    return figure


def band_keys(levels: TableLevels) -> list[tuple[str, str]]:
    """Return the pairs of model and image set (unanswerable, answerable) that have data."""
    return [*dict.fromkeys((level.model, level.images) for level in levels.levels)]


def draw_strips(part: "SubFigure", levels: TableLevels, pool: Runs) -> None:
    """Draw the panels of one table on shared axes."""
    names = [*dict.fromkeys(level.name for level in levels.levels)]
    entries = levels.table_cases.group.cases
    styles = dict(
        zip([levels.table_cases.names[id(entry)] for entry in entries], case_styles(pool, entries), strict=True)
    )
    every = band_keys(levels)
    axes = part.subplots(1, len(names), squeeze=False, sharex=True, sharey=True)[0]
    for ax, name in zip(axes, names, strict=True):
        for level in (level for level in levels.levels if level.name == name):
            draw_strip(ax, every.index((level.model, level.images)), level, styles[level.model])
        ax.set_title(one_line(name), fontsize=9)
        ax.set_xlabel("abstained on (%), with 95 % intervals", fontsize=8)
        ax.tick_params(labelsize=7)
    axes[0].set_yticks(
        range(len(every)), [f"{wrap_name(model)}\n{SETS[images]}" for model, images in every], fontsize=7
    )
    axes[0].set_ylim(len(every) - 0.5, -0.5)
    axes[0].set_xlim(left=-2)


def draw_strip(ax: "Axes", place: int, level: Level, look: CaseStyle) -> None:
    """Draw the prompts of one level with mean, SD and Cochran's Q."""
    points = level.points
    for at, point in zip(np.linspace(place + TOP, place + BOTTOM, len(points)), points, strict=True):
        if point.is_defined:
            low, high = point.ci or (point.value or 0,) * 2
            ax.hlines(at, 100 * low, 100 * high, color=look.colour, linewidth=0.6, alpha=0.5)
            ax.plot(100 * (point.value or 0), at, look.marker, color=look.colour, markersize=3)
    if level.mean.is_defined:
        middle, sd = 100 * (level.mean.value or 0), 100 * (level.sd.value or 0)
        ends = (max(0, middle - sd), min(100, middle + sd))
        ax.fill_betweenx([place + TOP, place + BOTTOM], *ends, color=look.colour, alpha=0.15, linewidth=0)
        ax.vlines(middle, place + TOP, place + BOTTOM, color="black", linewidth=1)
    ax.axhline(place + 0.5, color="tab:gray", linewidth=0.3)
    ax.annotate(level_caption(level), (0, place - 0.46), (2, 0), textcoords="offset points", fontsize=6, va="top")


def level_caption(level: Level) -> str:
    """Return the metrics of one level in two lines."""
    test, df, p = level.cochran_test
    chance = f", Q {test.style(test.value)}, df {df}, p {format_p_value(p)}" if test.is_defined else ""
    sd = f", SD {format_value(level.sd)}" if level.sd.is_defined else ""
    return f"mean {format_value(level.mean)}{sd}\nn={level.mean.n or 0:,}, {len(level.points)} wordings{chance}"


def format_p_value(p: NumberCell) -> str:
    """Return a p-value as text, as an upper bound if it is too small for its digits."""
    return p.style(p.value) if (p.value or 0) >= LEAST else f"< {LEAST:.4f}"


def f8(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 8: one row per model, one matrix per prompt level."""
    tables = collect_confusions(pool, "realbirdid-F8")
    rows = [[*group_by_model(confusions).values()] for confusions in tables]
    across = max(len(of) for confusions in rows for of in confusions)
    width = CELL * across + LEFT
    figure, under = make_subfigures([CELL * len(confusions) + 0.5 for confusions in rows], width)
    for part, confusions, models in zip(under, tables, rows, strict=True):
        axes = part.subplots(len(models), across, squeeze=False)
        for line, model in zip(axes, models, strict=True):
            draw_matrices(line, model, confusions.reasons)
        add_caption(part, confusions.table_cases.group, [], width, ROWS)
    return figure


def group_by_model(table: Confusions) -> dict[str, list[Confusion]]:
    """Return the matrices by model."""
    by_model: dict[str, list[Confusion]] = {}
    for confusion in table.confusions:
        by_model.setdefault(confusion.level.model, []).append(confusion)
    return by_model


def draw_matrices(axes: Sequence["Axes"], confusions: Sequence[Confusion], reasons: Sequence[str]) -> None:
    """Draw the matrices of one model, with its name at the left."""
    for ax, confusion in zip(axes, confusions, strict=False):
        draw_matrix(ax, confusion, reasons)
    for ax in axes[len(confusions) :]:
        ax.set_axis_off()
    axes[0].set_ylabel(wrap_name(confusions[0].level.model), fontsize=7)


def draw_matrix(ax: "Axes", confusion: Confusion, reasons: Sequence[str]) -> None:
    """Draw one matrix; each cell has its count and its share of the row."""
    drawn = [matrix_cells(confusion, issue, reasons) for issue in confusion.issues]
    values = np.array([[share.value or 0.0 for _, share in row] for row in drawn])
    ax.imshow(values, vmin=0, vmax=1, cmap="Blues", aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        text, dark = format_cell(*drawn[row][column]), value > 0.6
        ax.text(column, row, text, ha="center", va="center", fontsize=6, color="white" if dark else "black")
    ax.set_xticks(range(len(reasons)), [INITIALS.get(reason, one_line(reason)) for reason in reasons], fontsize=7)
    ax.set_yticks(range(len(confusion.issues)), [INITIALS.get(issue, issue) for issue in confusion.issues], fontsize=7)
    ax.set_title(
        f"{one_line(confusion.level.name)}: AR {format_value(confusion.rate)}, n={confusion.rate.n or 0:,}", fontsize=7
    )


def matrix_cells(confusion: Confusion, issue: str, reasons: Sequence[str]) -> list[tuple[int, NumberCell]]:
    """Return the counts and shares of an issue for all reasons of the table."""
    own = dict(
        zip(confusion.reasons, zip(confusion.totals(issue).tolist(), confusion.shares(issue), strict=True), strict=True)
    )
    return [own.get(reason, (0, NumberCell(None))) for reason in reasons]


def format_cell(count: int, share: NumberCell) -> str:
    """Return the text of a cell."""
    if not share.is_defined:
        return "0"
    low, high = (f"{100 * end:.0f}" for end in share.ci) if share.ci else ("", "")
    return f"{100 * (share.value or 0):.1f} %\n" + (f"[{low}, {high}]\n" if low else "") + f"{count:,}"


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {"realbirdid-F7": f7, "realbirdid-F8": f8}
