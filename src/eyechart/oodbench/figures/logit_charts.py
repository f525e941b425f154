"""Figures of detectors' logits and probabilities, for all categories and by category."""

from math import ceil
from typing import TYPE_CHECKING

import pandas as pd

from eyechart.oodbench.tables.logits import (
    ABSENT,
    FIRST_DETECTOR,
    LOGITS,
    OTHER_DETECTORS,
    PRESENT,
    PROBABLE,
    histograms,
)
from eyechart.reports.figures.charts import CustomFigure
from eyechart.reports.figures.panels import create_panels, legend_above, wrap_name
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import one_line
from eyechart.reports.tables.selection import Page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

ACROSS, MOST = 8, 80  # small panels in a row, and altogether
TITLE, SMALL, BOTTOM = 0.6, 0.95, 0.25  # inches
LINES = {ABSENT: ("tab:gray", "absent"), PRESENT: ("tab:blue", "present")}


def _draw_logits(pool: Runs, labels: str | None) -> "Figure":
    """Draw one row per detector with its logits and its purified probabilities."""
    rows = [
        (page, model, bins)
        for page in LOGITS.get_pages(pool, labels)
        for model, (_, bins) in zip(
            page.names["Detector"], histograms(page, ("row", "Values")).groupby("row"), strict=True
        )
    ]
    figure, axes = create_panels([2.6] * len(rows), 2, 9)
    for (left, right), (page, model, bins) in zip(axes, rows, strict=True):
        for kind, (colour, label) in LINES.items():
            _draw_histogram(left, bins[bins["Values"] == kind], colour, label)
        _draw_histogram(right, bins[bins["Values"] == PROBABLE], "tab:blue", "present")
        right.set_xlim(0, 1)
        for ax, label in ((left, "logit"), (right, "probability, purified")):
            ax.set_title(f"{wrap_name(model)}, {one_line(page.title)}", fontsize=8)
            ax.set_xlabel(label, fontsize=8)
            ax.set_ylabel("share of pairs", fontsize=8)
            legend_above(ax)
    return figure


def _draw_histogram(ax: "Axes", bins: pd.DataFrame, colour: str, label: str) -> None:
    """Draw a histogram as shares of its values, with the number of pairs in the legend."""
    if n := int(bins["count"].sum()):
        widths = bins["high"] - bins["low"]
        ax.bar(bins["low"], bins["count"] / n, widths, align="edge", color=colour, alpha=0.6, label=f"{label}, n={n:,}")


def _draw_first_detector(pool: Runs, labels: str | None) -> "Figure":
    """Draw the first detector's logits, one small panel per category."""
    return category_panels(FIRST_DETECTOR, pool, labels)


def _draw_other_detectors(pool: Runs, labels: str | None) -> "Figure":
    """Draw the second detector's logits, one small panel per category."""
    return category_panels(OTHER_DETECTORS, pool, labels)


def category_panels(table: TableDefinition, pool: Runs, labels: str | None) -> "Figure":
    """Return a figure with one block of small panels per detector and data set."""
    from matplotlib.figure import Figure

    pages = table.get_pages(pool, labels)
    blocks = [histograms(page, ("row", "Category", "Values")) for page in pages]
    rows = [ceil(min(bins["Category"].nunique(), MOST) / ACROSS) for bins in blocks]
    heights = [SMALL * count + TITLE + BOTTOM for count in rows]
    figure = Figure(figsize=(11, sum(heights)))
    parts = figure.subfigures(len(pages), 1, squeeze=False, height_ratios=heights)
    for (part,), page, bins, count in zip(parts, pages, blocks, rows, strict=True):
        _draw_categories(part, page, bins, count)
    return figure


def _draw_categories(part: "SubFigure", page: Page, bins: pd.DataFrame, rows: int) -> None:
    """Draw the panels of one detector and data set, on an axis that all categories share."""
    height, total = SMALL * rows + TITLE + BOTTOM, bins["Category"].nunique()
    which = f"{MOST:,} of {total:,} categories, those with most pairs" if total > MOST else f"{total:,} categories"
    model, split = page.names["Detector"][0], page.context["split"]
    title = f"{model}, {split}: logits of {which}; blue: present, grey: absent"
    part.suptitle(one_line(title), fontsize=9, y=1 - 0.15 / height)
    part.subplots_adjust(
        left=0.03, right=0.99, bottom=BOTTOM / height, top=1 - TITLE / height, hspace=0.75, wspace=0.15
    )
    axes = part.subplots(rows, ACROSS, squeeze=False).flat
    logits = bins[bins["Values"].isin([*LINES])]
    for ax, (name, shown) in zip(axes, bins.groupby("Category", observed=True), strict=False):
        _draw_category(ax, str(name), shown)
        ax.set_xlim(logits["low"].min(), logits["high"].max())
    for ax in axes[min(total, MOST) :]:
        ax.set_axis_off()


def _draw_category(ax: "Axes", name: str, bins: pd.DataFrame) -> None:
    """Draw the logits of one category."""
    for kind, (colour, label) in LINES.items():
        _draw_histogram(ax, bins[bins["Values"] == kind], colour, label)
    present = bins.loc[bins["Values"] == PRESENT, "count"].sum()
    ax.set_title(f"{one_line(name)} (n={present:,})", fontsize=6, pad=2)
    ax.tick_params(labelsize=6, length=2, pad=1)
    ax.set_yticks([])


FIGURES = (
    CustomFigure(
        table=LOGITS, summary="The logits and the purified probabilities of each detector.", make=_draw_logits
    ),
    CustomFigure(
        table=FIRST_DETECTOR, summary="The logits of the first detector by category.", make=_draw_first_detector
    ),
    CustomFigure(
        table=OTHER_DETECTORS, summary="The logits of the second detector by category.", make=_draw_other_detectors
    ),
)
