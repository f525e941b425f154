"""Figures 4 and 16 of RealBirdID as bar charts: flat list against tree, and class-averaged results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..panels import wrap_name
from ..render import NumberCell
from ..runs import Runs
from .cases import SPECIES, metric_estimate
from .chart_styles import add_caption, make_subfigures
from .flat import FLAT_LIST, PARTS, TREE, MethodComparison, compare_methods
from .model_families import TableCases, select_cases
from .summary import AVERAGED, LEVEL_COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

COLOURS = {FLAT_LIST: "tab:orange", TREE: "tab:blue"}
AVERAGES = dict(zip(AVERAGED, ("tab:blue", "tab:cyan", "tab:orange"), strict=True))
BAR, MORE = 0.19, 1.1  # inches of a bar, and of what a block has besides
WIDTH = 11
HEIGHT = 0.8  # of a bar, in its place
LIMITS = (0, 140)  # room for the numbers beside full bars


@dataclass(frozen=True)
class Bar:
    """One bar: a metric of one model."""

    model: str
    kind: str
    number: NumberCell


Bars = Mapping[str, Sequence[Bar]]  # by the panels' titles, in each panel the same models and kinds


def f4(pool: Runs, labels: str | None) -> "Figure":
    """Return Figure 4: both accuracies and their harmonic mean, flat list beside tree."""
    comparisons = compare_methods(pool, labels)
    return draw_blocks([(comparison.table_cases, method_bars(comparison)) for comparison in comparisons], COLOURS)


def method_bars(comparison: MethodComparison) -> Bars:
    """Return one bar per model and method."""
    return {head: [Bar(m.model, m.name, m.numbers[head]) for m in comparison.methods] for head in PARTS}


def f16(pool: Runs, labels: str | None) -> "Figure":
    """Return Figure 16: class-averaged AUC and accuracy."""
    tables = select_cases(pool, SPECIES, "realbirdid-F16", labels)
    return draw_blocks([(table_cases, average_bars(table_cases)) for table_cases in tables], AVERAGES)


def average_bars(table_cases: TableCases) -> Bars:
    """Return one bar per model and average."""
    return {
        head: [
            Bar(table_cases.names[id(entry)], kind, metric_estimate(entry, name, table_cases.labels, of))
            for entry in table_cases.group.cases
            for kind, name in AVERAGED.items()
        ]
        for head, of in LEVEL_COLUMNS.items()
    }


def draw_blocks(blocks: Sequence[tuple[TableCases, Bars]], colours: Mapping[str, str]) -> "Figure":
    """Return a figure with one block of panels per table."""
    heights = [BAR * len(next(iter(bars.values()))) + MORE for _, bars in blocks]
    figure, under = make_subfigures(heights, WIDTH)
    for part, (of, bars) in zip(under, blocks, strict=True):
        draw_block(part, bars, colours)
        add_caption(part, of.group, [of.labels], WIDTH)
    return figure


def draw_block(part: "SubFigure", bars: Bars, colours: Mapping[str, str]) -> None:
    """Draw one table: model names at the left, the legend of colours below."""
    from matplotlib.patches import Patch

    axes = part.subplots(1, len(bars), squeeze=False)[0]
    for place, (ax, (head, some)) in enumerate(zip(axes, bars.items(), strict=True)):
        draw_panel(ax, some, colours, named=place == 0)
        ax.set_title(f"{head} (%)", fontsize=9)
    kinds = [Patch(color=colour, label=kind) for kind, colour in colours.items()]
    part.legend(handles=kinds, loc="outside lower center", ncols=len(kinds), fontsize=7, frameon=False)


def draw_panel(ax: "Axes", bars: Sequence[Bar], colours: Mapping[str, str], *, named: bool) -> None:
    """Draw the bars of one metric with their intervals."""
    for place, bar in enumerate(bars):
        if bar.number.is_defined:
            ax.barh(place, 100 * (bar.number.value or 0), HEIGHT, color=colours[bar.kind])
            draw_value(ax, place, bar.number)
    middles = model_positions(bars)
    ax.set_yticks([*middles.values()], [wrap_name(model) if named else "" for model in middles], fontsize=7)
    for edge in [place for place in range(1, len(bars)) if bars[place].model != bars[place - 1].model]:
        ax.axhline(edge - 0.5, color="tab:gray", linewidth=0.3)
    ax.set_xlim(*LIMITS)
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.set_xticks(range(0, 101, 25))
    ax.tick_params(axis="x", labelsize=7)


def model_positions(bars: Sequence[Bar]) -> dict[str, float]:
    """Return the mean position of each model's bars."""
    indices: dict[str, list[int]] = {}
    for place, bar in enumerate(bars):
        indices.setdefault(bar.model, []).append(place)
    return {model: sum(of) / len(of) for model, of in indices.items()}


def draw_value(ax: "Axes", place: float, number: NumberCell) -> None:
    """Draw the value beside its bar, and the interval as a line across the end of the bar."""
    value = 100 * (number.value or 0)
    low, high = (100 * end for end in number.ci) if number.ci else (value, value)
    ax.hlines(place, low, high, color="black", linewidth=0.8)
    ax.annotate(
        format_value(number), (max(value, high), place), (3, 0), textcoords="offset points", fontsize=6, va="center"
    )


def format_value(number: NumberCell) -> str:
    """Return a percentage with one decimal, followed by its interval."""
    low, high = (f"{100 * end:.1f}" for end in number.ci) if number.ci else ("", "")
    return f"{100 * (number.value or 0):.1f}" + (f" [{low}, {high}]" if low else "")


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {"realbirdid-F4": f4, "realbirdid-F16": f16}
