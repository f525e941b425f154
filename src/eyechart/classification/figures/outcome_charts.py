"""Figure 7 of arXiv 2603.06578: pie charts of what annotators preferred among disputed classes."""

from typing import TYPE_CHECKING

import pandas as pd

from eyechart.classification.tables.annotation_outcomes import ANNOTATION_OUTCOMES, OUTCOMES, outcome_cells
from eyechart.reports.figures.charts import BlockFigure
from eyechart.reports.runs import Runs
from eyechart.reports.tables.render import format_cell
from eyechart.reports.tables.selection import Page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:gray")
WIDTH, HEIGHT = 4, 3.6  # inches of a pie with its legend beneath


def _draw_pies(part: "SubFigure", page: Page, _: Runs) -> None:
    """Draw one pie for each category of images."""
    categories = [*outcome_cells(page).groupby("Category", sort=False)]
    for ax, (category, cells) in zip(part.subplots(1, len(categories), squeeze=False)[0], categories, strict=True):
        _draw_pie(ax, str(category), cells)


def _draw_pie(ax: "Axes", category: str, cells: pd.DataFrame) -> None:
    """Draw the outcomes of one category, with each share, its interval and its count in the legend."""
    counts = cells[cells[""] == "#"].set_index("column")["count"].astype(int)
    ax.set_title(f"{category}: {counts['answered']:,} of {counts['disputed']:,} disputed images answered", fontsize=8)
    if counts["answered"] == 0:
        ax.set_axis_off()
        ax.text(0.5, 0.5, "no answers", transform=ax.transAxes, ha="center", va="center", fontsize=8)
        return
    wedges, *_ = ax.pie(counts[[*OUTCOMES]], colors=COLOURS, startangle=90, counterclock=False)
    shares = {
        cell["column"]: ANNOTATION_OUTCOMES.make_cell(cell) for cell in cells[cells[""] == "%"].to_dict("records")
    }
    legend = [f"{name}: {format_cell(shares[name], with_n=False)} %, n={counts[name]:,}" for name in OUTCOMES]
    ax.legend(wedges, legend, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 0.02), frameon=False)


OUTCOME_PIES = BlockFigure(
    summary="What annotators preferred on disputed images, one pie for each category.",
    table=ANNOTATION_OUTCOMES,
    draw=_draw_pies,
    caption=lambda page: page.fill(ANNOTATION_OUTCOMES.title),
    height=lambda _: HEIGHT,
    width=lambda page: WIDTH * max(2, outcome_cells(page)["Category"].nunique()),
)
