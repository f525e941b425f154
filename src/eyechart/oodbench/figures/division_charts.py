"""Figures of OODBench's division: the sizes of its sets, and their overlap with the models' own OOD sets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from eyechart.oodbench.tables.coverage import ADDITIONAL, COVERAGE, COVERED, KIND, OWN, SETS_SHOWN
from eyechart.oodbench.tables.division_tables import ALL, INITIAL_SET_SIZES, OOD, SET_SIZES, label_sets, set_sizes
from eyechart.oodbench.tables.pair_frames import OOD_SETS
from eyechart.reports.figures.charts import CustomFigure, FigureDefinition
from eyechart.reports.figures.panels import LEGEND_ASIDE, create_panels, set_title
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import one_line
from eyechart.reports.tables.selection import Page, disambiguate_titles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("tab:orange", "tab:red", "tab:blue", "tab:purple", "tab:green", "tab:brown", "tab:pink", "tab:olive")
MOST = 80  # categories of one panel; the others share a bar
BAR = 0.16  # inches
INTERVAL_OFFSET = 0.44  # below the middle of a bar, so that the interval does not cover the number


def _draw_set_sizes(pool: Runs, _: str | None) -> "Figure":
    """Draw the sizes of the sets of the main benchmark by category."""
    return _category_figure(pool, SET_SIZES, initial=False)


def _draw_initial_set_sizes(pool: Runs, _: str | None) -> "Figure":
    """Draw the sizes of the sets of the initial benchmark by category."""
    return _category_figure(pool, INITIAL_SET_SIZES, initial=True)


def _category_figure(pool: Runs, table: TableDefinition, *, initial: bool) -> "Figure":
    """Return a figure with one panel of all data sets for each setting, then one panel of categories per data set."""
    labels = label_sets(OOD_SETS, initial=initial)
    panels = [panel for page in table.get_pages(pool) for panel in _category_panels(page, initial=initial)]
    figure, axes = create_panels([BAR * len(bars) + 1 for _, _, bars in panels], 1, 8)
    titles = disambiguate_titles([title for title, *_ in panels], [cases for _, cases, _ in panels])
    for (ax,), title, (*_, bars) in zip(axes, titles, panels, strict=True):
        _draw_stacked_bars(ax, bars, labels)
        set_title(ax, f"{title}: {bars[OOD].sum():,} pairs")
    return figure


def _category_panels(page: Page, *, initial: bool) -> Iterator[tuple[str, Sequence[CaseRun], pd.DataFrame]]:
    """Yield the title, the cases and the bars of each panel: the numbers of pairs by name of the bar."""
    sizes, divided = set_sizes(page, initial=initial), page.cases[0].option("detectors")
    totals = sizes["Category"] == ALL
    if len(page.cases) > 1:
        bars = sizes[totals & (sizes["row"] >= 0)]
        yield f"all data sets, {divided}", page.cases, bars.set_index(bars["row"].map(page.names["Data"]))
    for row, case in enumerate(page.cases):
        bars = sizes[~totals & (sizes["row"] == row) & (sizes[OOD] > 0)].set_index("Category")
        yield f"{page.names['split'][row]}, {divided}", [case], _merge_smallest(bars)


def _merge_smallest(bars: pd.DataFrame) -> pd.DataFrame:
    """Return one bar per category; categories after the largest 80 share one bar."""
    if len(bars) <= MOST:
        return bars
    rest = bars[MOST:].sum().to_frame(f"{len(bars) - MOST:,} more").T
    return pd.concat([bars[:MOST], rest])


def _draw_stacked_bars(ax: "Axes", bars: pd.DataFrame, labels: Mapping[str, str]) -> None:
    """Draw horizontal stacked bars, one colour per set."""
    left = np.zeros(len(bars))
    for (name, label), colour in zip(labels.items(), COLOURS, strict=False):
        ax.barh(range(len(bars)), bars[name], left=left, color=colour, label=label)
        left = left + bars[name].to_numpy()
    ax.set_yticks(range(len(bars)), [one_line(str(name)) for name in bars.index], fontsize=6)
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("image–category pairs", fontsize=8)
    ax.legend(**LEGEND_ASIDE)


def _draw_coverage(ax: "Axes", page: Page, cells: pd.DataFrame) -> None:
    """Draw one bar per set with one part per model, and the interval of the total at its end."""
    kinds, rows = [*dict.fromkeys(cells[KIND])], range(len(page.cases))
    shares = cells.astype({KIND: str}).set_index(["column", "row", KIND]).sort_index()
    left = np.zeros(len(kinds))
    for row, model in enumerate(page.names["Model"]):
        widths = 100 * shares["value"][ADDITIONAL, row].loc[kinds].to_numpy(float)
        colour = COLOURS[row % len(COLOURS)]
        bars = ax.barh(range(len(kinds)), widths, left=left, color=colour, edgecolor="white", label=one_line(model))
        ax.bar_label(bars, [f"{width:.2f}" if width > 3 else "" for width in widths], label_type="center", fontsize=6)
        left = left + widths
    for index, kind in enumerate(kinds):
        low, high = (100 * shares[end][COVERED, rows[-1], kind] for end in ("low", "high"))
        ax.hlines(index + INTERVAL_OFFSET, low, high, color="black", linewidth=1)
    ax.set_yticks(range(len(kinds)), kinds, fontsize=8)
    ax.set_ylim(len(kinds) - 0.5, -0.5)
    ax.set_xlim(0, 100)
    ax.set_xlabel("pairs in a model's own OOD set (%), with the 95 % interval of all together", fontsize=8)
    ax.legend(**LEGEND_ASIDE, title="first, then additionally", title_fontsize=7)
    set_title(ax, f"{page.title}{page.suffix}, n={int(shares['n'][OWN, 0, kinds[0]]):,} pairs")


COVERAGE_CHART = FigureDefinition(
    summary="The pairs that a model answers wrongly, then the additional ones of each further model.",
    table=COVERAGE,
    draw=_draw_coverage,
    height=lambda page: 0.4 * len(SETS_SHOWN) + 0.1 * len(page.cases) + 1,
    width=8,
)
FIGURES = (
    CustomFigure(
        table=SET_SIZES, summary="The sizes of the sets of the main benchmark by category.", make=_draw_set_sizes
    ),
    COVERAGE_CHART,
    CustomFigure(
        table=INITIAL_SET_SIZES,
        summary="The sizes of the sets of the initial benchmark by category.",
        make=_draw_initial_set_sizes,
    ),
)
