"""Figures 5, 9, 10, 17 and 18 of RealBirdID: curves over all thresholds, with the area under each curve."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..render import NumberCell
from ..runs import Runs
from .chart_styles import CaseStyle, add_caption, add_legend, case_styles, legend_height, make_subfigures
from .curves import GRIDS, Curve, CurveBlock, Panel, collect_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

WIDE, HIGH, ENTRY = 4.4, 2.9, 0.14  # inches of a panel, and of a line beside it
OFTEN = 0.12  # a marker each so much of a panel
ASIDE: Any = {"fontsize": 6, "loc": "upper left", "bbox_to_anchor": (1, 1), "handlelength": 1.5, "frameon": False}


def figure_function(name: str) -> Callable[[Runs, str | None], "Figure"]:
    """Return the function that draws a figure of curves."""
    return lambda pool, labels: draw_figure(pool, collect_curves(pool, name, labels))


def draw_figure(pool: Runs, blocks: Sequence[CurveBlock]) -> "Figure":
    """A block of panels for each set of birds."""
    width = WIDE * max(len(row) for block in blocks for row in block.grid)
    figure, under = make_subfigures([block_height(block, width) for block in blocks], width)
    for part, block in zip(under, blocks, strict=True):
        group = block.table_cases.group
        looked = case_styles(pool, group.cases)
        draw_grid(part, block, looked)
        add_caption(part, group, [labels for row in block.grid for _, labels in row], width)
        add_legend(part, list(zip([case.name for case in block.cases], looked, strict=True)), width)
    return figure


def block_height(block: CurveBlock, width: float) -> float:
    """Return the height of a block in inches."""
    row_height = max(HIGH, ENTRY * len(block.cases) + 0.9)
    return row_height * len(block.grid) + legend_height([case.name for case in block.cases], width) + 0.5


def draw_grid(part: "SubFigure", block: CurveBlock, looks: list[CaseStyle]) -> None:
    """Draw the panels of one block."""
    across = max(map(len, block.grid))
    for row, panels in enumerate(block.grid):
        for column, shown in enumerate(panels):
            draw_panel(part.add_subplot(len(block.grid), across, across * row + column + 1), shown, block, looks)


def draw_panel(ax: "Axes", shown: Panel, block: CurveBlock, looks: list[CaseStyle]) -> None:
    """Draw one curve per model, with the area under it in the legend."""
    sweep, labels = shown
    for case, look in zip(block.cases, looks, strict=True):
        if curve := sweep.read_curve(case, labels):
            draw_curve(ax, curve, look, format_area(sweep.area_estimate(case, labels)))
    if sweep.curve.startswith("abstention"):
        ax.plot([0, 100], [0, 100], color="black", linestyle=":", linewidth=0.7)
    ax.set_title(f"{sweep.head} ({labels})", fontsize=9)
    ax.set_xlabel(sweep.x, fontsize=8)
    ax.set_ylabel(sweep.y, fontsize=8)
    ax.set_xlim(-2, 102)
    ax.set_ylim(-2, 102)
    ax.tick_params(labelsize=7)
    ax.legend(**ASIDE, title=f"{sweep.short_name} (%)", title_fontsize=6)


def draw_curve(ax: "Axes", curve: Curve, look: CaseStyle, label: str) -> None:
    """Draw the curve of one model."""
    ax.plot(100 * curve.x, 100 * curve.y, label=label, markevery=OFTEN, **look.line_options)


def format_area(number: NumberCell) -> str:
    """Return an area as text with one decimal."""
    low, high = (100 * end for end in number.ci) if number.ci else (None, None)
    if not number.is_defined:
        return ""
    return f"{100 * (number.value or 0):.1f}" + ("" if low is None else f" [{low:.1f}, {high:.1f}]")


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {name: figure_function(name) for name in GRIDS}
