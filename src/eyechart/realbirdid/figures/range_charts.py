"""Figures 6 and 19 of RealBirdID: the effect of range lists on the metrics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from eyechart.messages.plurals import count_of
from eyechart.realbirdid.figures.chart_styles import caption, format_percent
from eyechart.realbirdid.tables.bird_pages import ELIGIBLE, RANGE
from eyechart.realbirdid.tables.range_tables import EFFECTS, OVER_MODELS, complete_effects, describe_family, effects
from eyechart.realbirdid.tables.summary_tables import MEASURES
from eyechart.reports.figures.charts import BlockFigure
from eyechart.reports.figures.panels import wrap_name
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

SHADES = {"IG": ("#1f77b4", "#aec7e8", "#0b3c5d"), "UA/A": ("#d62728", "#ff9896", "#7f1010")}
LEGEND = ("with and without range lists", "gained with them (lighter)", "lost with them (darker)")
BAR, POINT, MORE, WIDTH = 0.34, 0.06, 1.3, 11  # inches of a bar, of a model in it, of all else, and across
HEIGHT, ASIDE = 0.7, 0.18  # of a bar, and how far its two intervals are from its middle
SPREAD = 0.35  # how far a family's models are from its middle
MODEL: Any = {"marker": "o", "markevery": [1], "markersize": 3, "markerfacecolor": "black", "markeredgecolor": "white",
              "markeredgewidth": 0.5, "color": "0.6", "linewidth": 0.7}  # fmt: skip
LIMITS = (0, 185)  # room for the numbers beside full bars
NOTHING = "these images have no such number"
BOTH = ("without", "with")  # sides
NO_POINTS = np.empty((0, 2))


@dataclass(frozen=True)
class _Bar:
    """One measure without and with range lists, and its change.

    `cells` has value, low and high by side; `points` (models, 2) are the values of each model of a family.
    """

    name: str
    cells: pd.DataFrame
    points: np.ndarray

    @property
    def is_complete(self) -> bool:
        """Whether there is a value without and with lists."""
        return bool(self.cells.loc[[*BOTH], "value"].notna().all())


def _model_bars(page: Page, measure: str) -> list[_Bar]:
    numbers = effects(page)
    numbers = numbers[numbers["measure"] == measure]
    names = page.names["Model"]
    return [_Bar(names[row], part.set_index("side"), NO_POINTS) for row, part in numbers.groupby("row")]


def _family_bars(page: Page, measure: str) -> list[_Bar]:
    bars = []
    for family, of, numbers in complete_effects(page):
        if of == measure:
            cells = pd.DataFrame([*describe_family(family, of, numbers)]).set_index("column")
            values = numbers.pivot(index="row", columns="side", values="value")[[*BOTH]].to_numpy()
            bars.append(_Bar(f"{family}, {count_of(len(values), 'model')}", cells, values))
    return bars


Bars = Callable[[Page, str], list[_Bar]]


def _block_height(page: Page, bars: Bars) -> float:
    """Return the height of a block in inches."""
    heights = [sum(max(BAR, POINT * len(bar.points)) for bar in bars(page, measure)) for measure in MEASURES]
    return max(heights) + MORE


def _draw_block(part: "SubFigure", page: Page, _: Runs, bars: Bars) -> None:
    """Draw a panel per measure, with the legend of shades below."""
    from matplotlib.patches import Patch

    for index, (ax, measure) in enumerate(zip(part.subplots(1, 2), MEASURES, strict=True)):
        some = bars(page, measure)
        _draw_panel(ax, some, SHADES[measure])
        ax.set_title(f"{measure} (%)", fontsize=9)
        ax.set_yticks(range(len(some)), ["" if index else wrap_name(bar.name) for bar in some], fontsize=7)
    shades = zip(*SHADES.values(), strict=True)
    patches = [Patch(color=colour, label=label) for label, pair in zip(LEGEND, shades, strict=True) for colour in pair]
    for patch in patches[::2]:
        patch.set_label("")
    part.legend(handles=patches, loc="outside lower center", ncols=len(patches), fontsize=7, frameon=False)


def _draw_panel(ax: "Axes", bars: Sequence[_Bar], shades: Sequence[str]) -> None:
    """Draw one metric of all models."""
    for index, bar in enumerate(bars):
        if bar.is_complete:
            _draw_bar(ax, index, bar, shades)
    if not any(bar.is_complete for bar in bars):
        ax.text(0.5, 0.5, NOTHING, transform=ax.transAxes, ha="center", va="center", fontsize=7)
    ax.set_xlim(*LIMITS)
    ax.set_ylim(max(len(bars), 1) - 0.5, -0.5)
    ax.set_xticks(range(0, 101, 25))
    ax.tick_params(axis="x", labelsize=7)


def _draw_bar(ax: "Axes", index: int, bar: _Bar, shades: Sequence[str]) -> None:
    """Draw one bar: the common part, the gain or loss, and the intervals without (above) and with lists."""
    sides = 100 * bar.cells.loc[[*BOTH], ["value", "low", "high"]]
    before, after = sides["value"]
    common, gained, lost = shades
    ax.barh(index, min(before, after), HEIGHT, color=common)
    ax.barh(index, abs(after - before), HEIGHT, left=min(before, after), color=gained if after > before else lost)
    for (low, high), offset in zip(sides[["low", "high"]].to_numpy(), (-ASIDE, ASIDE), strict=True):
        if not np.isnan(low):
            ax.hlines(index + offset, max(0, low), min(100, high), color="black", linewidth=0.8)
    offsets = np.linspace(-SPREAD, SPREAD, len(bar.points) + 2)[1:-1]
    for offset, points in zip(offsets, 100 * bar.points, strict=True):
        ax.plot(points, [index + offset] * 2, **MODEL)
    end = min(100, np.nanmax([*sides.to_numpy().ravel(), *100 * bar.points.ravel()]))
    ax.annotate(_describe_bar(bar), (end, index), (4, 0), textcoords="offset points", fontsize=6, va="center")


def _describe_bar(bar: _Bar) -> str:
    numbers = bar.cells[["value", "low", "high"]].astype(float)
    before, after = (format_percent(*numbers.loc[side]) for side in BOTH)
    value, low, high = 100 * numbers.loc["Δ"]
    return f"{before} → {after}\nΔ {value:+.1f}" + ("" if np.isnan(low) else f" [{low:+.1f}, {high:+.1f}]")


def _range_figure(table: TableDefinition, bars: Bars) -> BlockFigure:
    return BlockFigure(
        summary=table.summary,
        table=table,
        draw=partial(_draw_block, bars=bars),
        caption=lambda page: caption(page, [ELIGIBLE, RANGE]),
        height=partial(_block_height, bars=bars),
        width=lambda _: WIDTH,
    )


FIGURES = (_range_figure(OVER_MODELS, _family_bars), _range_figure(EFFECTS, _model_bars))
