"""Figure 11 of RealBirdID: frequency, entropy and max probability by the number of candidate species."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from ..pages import Page
from ..panels import wrap_name
from ..runs import Runs
from .candidate_counts import CHOICES, FREQUENCY, KINDS, MEASURES, bin_cells, describe_correlations, read_confidences
from .chart_styles import add_caption, make_subfigures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

COLOURS = dict(zip((FREQUENCY, *MEASURES.values()), ("tab:gray", "tab:blue", "tab:orange"), strict=True))
ACROSS, WIDE, HIGH, MORE = 3, 4.2, 2.2, 0.9  # models beside one another; inches of a panel, and of all else
BAR = 0.27


def f11(runs: Runs, labels: str | None) -> "Figure":
    """Return Figure 11: two panels per model, answerable images above; each series is divided by its highest bar."""
    pages = CHOICES.get_pages(runs, labels)
    across = min(ACROSS, max(len(page.cases) for page in pages))
    images = [read_confidences(page) for page in pages]
    heights = [
        HIGH * of["subset"].nunique() * -(-len(page.cases) // across) + MORE
        for page, of in zip(pages, images, strict=True)
    ]
    figure, parts = make_subfigures(heights, WIDE * across)
    for part, page, of in zip(parts, pages, images, strict=True):
        draw_block(part, page, of, across)
        add_caption(part, page, [page.labels], WIDE * across)
    return figure


def draw_block(part: "SubFigure", page: Page, images: pd.DataFrame, across: int) -> None:
    """Draw the models of one page."""
    from matplotlib.patches import Patch

    present = [kind for kind in KINDS if kind in {*images["subset"]}]
    rows = len(present) * -(-len(page.cases) // across)
    cells = dict([*bin_cells(page).groupby(["row", "Images"])])
    for (case, kind), chosen in images.groupby(["row", "subset"]):
        line, column = divmod(case, across)
        row = len(present) * line + present.index(kind)
        ax = part.add_subplot(rows, across, across * row + column + 1)
        draw_panel(ax, cells[case, KINDS[kind]])
        title = f"{wrap_name(page.names['Model'][case])}, {kind}, n={len(chosen):,}"
        ax.set_title(f"{title}\nρ: {describe_correlations(chosen)}", fontsize=7)
    shades = [Patch(color=colour, label=name) for name, colour in COLOURS.items()]
    part.legend(handles=shades, loc="outside lower center", ncols=len(shades), fontsize=7, frameon=False)


def draw_panel(ax: "Axes", cells: pd.DataFrame) -> None:
    """Draw one set of images of one model."""
    for side, (name, colour) in enumerate(COLOURS.items(), -1):
        draw_bars(ax, cells[cells["column"] == name].reset_index(drop=True), side * BAR, colour)
    names = [*cells["Choices"].unique()]
    step = -(-len(names) // 12)
    ax.set_xticks(range(0, len(names), step), names[::step], fontsize=6)
    ax.set_ylim(0, 1.35)
    ax.tick_params(axis="y", labelsize=6)
    ax.set_xlabel("choices", fontsize=7)
    ax.set_ylabel("part of the highest bar", fontsize=7)


def draw_bars(ax: "Axes", cells: pd.DataFrame, offset: float, colour: str) -> None:
    """Draw one series, divided by its highest bar, with intervals."""
    numbers = cells[["value", "low", "high"]] / (cells["value"].max() or 1.0)
    ax.bar(cells.index + offset, numbers["value"], BAR, color=colour)
    known = numbers.dropna()
    ax.vlines(known.index + offset, known["low"].clip(lower=0), known["high"], color="black", linewidth=0.5)


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {"realbirdid-F11": f11}
