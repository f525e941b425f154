"""Figures of label changes, and of how much models agree."""

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from eyechart.classification.tables.agreement_tables import AGREEMENT
from eyechart.classification.tables.category_tables import BEFORE, CHANGED, LABEL_CHANGE
from eyechart.reports.figures.charts import CustomFigure, FigureDefinition, label_rows
from eyechart.reports.figures.panels import create_panels, format_counts, text_width, wrap_name
from eyechart.reports.runs import Runs
from eyechart.reports.tables.render import CHANGE, format_cell, one_line
from eyechart.reports.tables.selection import Page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL, NAMES = 0.85, 7  # inches of a matrix entry, and points of the names beside it


def _draw_arrows(ax: "Axes", page: Page, frame: pd.DataFrame) -> None:
    """Draw for each model an arrow from its accuracy under the original labels to that under the new ones."""
    cells = frame.set_index(["column", "row"])
    rows = cells.loc[CHANGED].dropna(subset="value").index
    for index, row in enumerate(rows):
        before, after = (100 * cells["value"][name, row] for name in (BEFORE, "after"))
        low, high = 100 * cells.loc[("after", row), ["low", "high"]].astype(float)
        ax.hlines(index, low, high, color="tab:blue", alpha=0.2, linewidth=6)
        ax.plot(before, index, "o", color="tab:gray", markersize=4)
        ax.annotate("", (after, index), (before, index), arrowprops={"arrowstyle": "->", "color": "tab:blue"})
        ax.annotate(CHANGE(cells["value"][CHANGED, row]), (max(before, after), index), (6, 5),
                    textcoords="offset points", fontsize=8)  # fmt: skip
    label_rows(ax, [f"{model}, {protocol}" for model, protocol in page.names.loc[rows].itertuples(index=False)])
    ax.set_xlim(0, 112)
    what = f"{one_line(page.reference)} → {one_line(page.labels)}"
    ax.set_xlabel(f"accuracy (%), {what}, with the 95 % interval", fontsize=8)
    sizes = sorted(cells.loc["after"].loc[rows, "n"].astype(int).unique())
    ax.set_title(f"{one_line(page.title)}, {format_counts(sizes)}", fontsize=9)


LABEL_CHANGES = FigureDefinition(
    summary="For each model an arrow from its accuracy under the original labels to that under the new ones.",
    table=LABEL_CHANGE,
    draw=_draw_arrows,
    height=lambda page: 0.4 * len(page.cases) + 1.2,
)


def _draw_agreements(runs: Runs, labels: str | None) -> "Figure":
    """Draw both matrices side by side, one row of panels for each split and label set."""
    pages = AGREEMENT.get_pages(runs, labels)
    sizes = [len(page.cases) for page in pages[::2]]
    name_width = text_width([wrap_name(name) for page in pages for name in page.names["model"]], NAMES)
    heights = [CELL * size + name_width + 0.8 for size in sizes]
    figure, axes = create_panels(heights, 2, 2 * (CELL * max(sizes) + name_width) + 1)
    for ax, page in zip(axes.flat, pages, strict=True):
        _draw_agreement(ax, page, AGREEMENT.cells(page))
    return figure


def _draw_agreement(ax: "Axes", page: Page, cells: pd.DataFrame) -> None:
    """Draw the coefficient of every two models with its interval."""
    names = [wrap_name(name) for name in page.names["model"]]
    values = cells["value"].to_numpy().reshape(len(names), len(names))
    ax.imshow(values, vmin=-1, vmax=1, cmap="RdBu_r")
    for (row, column), cell in zip(np.ndindex(values.shape), cells.to_dict("records"), strict=True):
        text = format_cell(AGREEMENT.make_cell(cell), with_n=False).replace(" ", "\n", 1)
        dark = abs(values[row, column]) > 0.6
        ax.text(column, row, text, ha="center", va="center", fontsize=6, color="white" if dark else "black")
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=NAMES)
    ax.set_yticks(range(len(names)), names, fontsize=NAMES)
    under, counts = one_line(f"{page.title}, {page.labels}"), format_counts(sorted({*cells["n"]}))
    ax.set_title(f"{page.context['coefficient']}\n{fill(under, 60)}, {counts}", fontsize=8)


AGREEMENTS = CustomFigure(
    table=AGREEMENT,
    summary="Spearman's correlation of recalls and the phi coefficient of correctness for every two models.",
    make=_draw_agreements,
)
