"""Figures 6 and 19 of RealBirdID: the effect of range lists on the metrics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..panels import wrap_name
from ..render import NumberCell
from ..runs import Runs
from .bar_charts import format_value
from .cases import ELIGIBLE, RANGE
from .chart_styles import add_caption, make_subfigures
from .ranges import EVERY, MEASURES, Effects, collect_effects, mean_and_sd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

SHADES = {"IG": ("#1f77b4", "#aec7e8", "#0b3c5d"), "UA/A": ("#d62728", "#ff9896", "#7f1010")}
KINDS = ("with and without range lists", "gained with them (lighter)", "lost with them (darker)")
BAR, POINT, MORE, WIDTH = 0.34, 0.06, 1.3, 11  # inches of a bar, of a model in it, of all else, and across
HEIGHT, ASIDE = 0.7, 0.18  # of a bar in its place, and how far its two intervals are from its middle
SPREAD = 0.35  # how far a family's models are from its middle
MODEL: Any = {"marker": "o", "markevery": [1], "markersize": 3, "markerfacecolor": "black", "markeredgecolor": "white",
              "markeredgewidth": 0.5, "color": "0.6", "linewidth": 0.7}  # fmt: skip
LIMITS = (0, 185)  # room for the numbers beside full bars
NOTHING = "these images have no such number"


@dataclass(frozen=True)
class Bar:
    """One metric without and with range lists; for a family, also the values of each model."""

    name: str
    without: NumberCell
    with_list: NumberCell
    delta: NumberCell
    points: Sequence[tuple[float, float]] = ()


Bars = Mapping[str, Sequence[Bar]]  # by measure


def f19(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 19: one bar per model."""
    return draw_figure(collect_effects(pool, "realbirdid-F19"), model_bars)


def f6(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 6: the mean over the models of a family, and each model as a pair of marks."""
    return draw_figure(collect_effects(pool, "realbirdid-F6"), family_bars)


def model_bars(effects: Effects) -> Bars:
    """Return one bar per model."""
    return {measure: [Bar(e.model, *e.numbers) for e in effects.of(measure)] for measure in MEASURES}


def family_bars(effects: Effects) -> Bars:
    """Return one bar per family, and one for all models."""
    names = [name for name, _ in effects.table_cases.families]
    groups = [*names, EVERY] if len(names) > 1 else names
    return {measure: [bar for name in groups for bar in mean_bars(effects, measure, name)] for measure in MEASURES}


def mean_bars(effects: Effects, measure: str, family: str) -> list[Bar]:
    """Return the mean over the models of a family that have all metrics, [] if there are none."""
    known = [e.numbers for e in effects.of(measure, family) if all(number.is_defined for number in e.numbers)]
    if not known:
        return []
    without, with_list, delta = (mean_and_sd(side)[0] for side in zip(*known, strict=True))
    points = [(before.value or 0.0, after.value or 0.0) for before, after, _ in known]
    return [Bar(f"{family}, {len(known)} model{'s' * (len(known) > 1)}", without, with_list, delta, points)]


def draw_figure(tables: Sequence[Effects], bars: Callable[[Effects], Bars]) -> "Figure":
    """Return a figure with one block of two panels per table."""
    all_bars = [bars(block_bars) for block_bars in tables]
    figure, under = make_subfigures([sum(map(bar_height, block_bars["IG"])) + MORE for block_bars in all_bars], WIDTH)
    for part, block_bars, effects in zip(under, all_bars, tables, strict=True):
        draw_block(part, block_bars)
        add_caption(part, effects.table_cases.group, [ELIGIBLE, RANGE], WIDTH)
    return figure


def bar_height(bar: Bar) -> float:
    """Return the height of a bar in inches."""
    return max(BAR, POINT * len(bar.points))


def draw_block(part: "SubFigure", bars: Bars) -> None:
    """Draw one table, with the legend of shades below."""
    from matplotlib.patches import Patch

    for place, (ax, (measure, some)) in enumerate(zip(part.subplots(1, 2), bars.items(), strict=True)):
        draw_panel(ax, some, SHADES[measure])
        ax.set_title(f"{measure} (%)", fontsize=9)
        ax.set_yticks(range(len(some)), ["" if place else wrap_name(bar.name) for bar in some], fontsize=7)
    shades = zip(*SHADES.values(), strict=True)
    patches = [Patch(color=shade, label=label) for label, pair in zip(KINDS, shades, strict=True) for shade in pair]
    for patch in patches[::2]:
        patch.set_label("")
    part.legend(handles=patches, loc="outside lower center", ncols=len(patches), fontsize=7, frameon=False)


def draw_panel(ax: "Axes", bars: Sequence[Bar], shades: Sequence[str]) -> None:
    """Draw one metric of all models."""
    for place, bar in enumerate(bars):
        if bar.without.is_defined and bar.with_list.is_defined:
            draw_bar(ax, place, bar, shades)
    if not any(bar.without.is_defined and bar.with_list.is_defined for bar in bars):
        ax.text(0.5, 0.5, NOTHING, transform=ax.transAxes, ha="center", va="center", fontsize=7)
    ax.set_xlim(*LIMITS)
    ax.set_ylim(max(len(bars), 1) - 0.5, -0.5)
    ax.set_xticks(range(0, 101, 25))
    ax.tick_params(axis="x", labelsize=7)


def draw_bar(ax: "Axes", place: int, bar: Bar, shades: Sequence[str]) -> None:
    """Draw one bar: the common part, the gain or loss, and the intervals without (above) and with lists."""
    before, after = (100 * (number.value or 0) for number in (bar.without, bar.with_list))
    common, gained, lost = shades
    ax.barh(place, min(before, after), HEIGHT, color=common)
    ax.barh(place, abs(after - before), HEIGHT, left=min(before, after), color=gained if after > before else lost)
    for number, at in ((bar.without, place - ASIDE), (bar.with_list, place + ASIDE)):
        if number.ci:
            ax.hlines(at, max(0, 100 * number.ci[0]), min(100, 100 * number.ci[1]), color="black", linewidth=0.8)
    for at, points in zip(np.linspace(-SPREAD, SPREAD, len(bar.points) + 2)[1:-1], bar.points, strict=True):
        ax.plot(100 * np.array(points), [place + at] * 2, **MODEL)
    text = f"{format_value(bar.without)} → {format_value(bar.with_list)}\n{format_change(bar.delta)}"
    ends = [before, after, *(100 * end for n in (bar.without, bar.with_list) if n.ci for end in n.ci)]
    ends += [100 * end for point in bar.points for end in point]
    ax.annotate(text, (min(100, max(ends)), place), (4, 0), textcoords="offset points", fontsize=6, va="center")


def format_change(number: NumberCell) -> str:
    """Return a difference in percentage points, followed by its interval."""
    value = 100 * (number.value or 0)
    ci = f" [{100 * number.ci[0]:+.1f}, {100 * number.ci[1]:+.1f}]" if number.ci else ""
    return f"Δ {value:+.1f}{ci}"


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {"realbirdid-F6": f6, "realbirdid-F19": f19}
