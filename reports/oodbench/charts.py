"""Figures of OODBench's division: the sizes of its sets, and their overlap with the models' own OOD sets."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..panels import LEGEND_ASIDE, create_panels, set_title
from ..render import one_line
from ..runs import Runs
from .cases import disambiguate_titles
from .coverage import Coverage, coverages
from .division import OOD_SETS, DivisionSizes, count_ood, division_sizes
from .model_cases import all_entries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("tab:orange", "tab:red", "tab:blue", "tab:purple", "tab:green", "tab:brown", "tab:pink", "tab:olive")
MOST = 80  # categories of one panel; the others share a bar
BAR = 0.16  # inches
INTERVAL_OFFSET = 0.44  # below the middle of a bar, so that the interval does not cover the number
Bars = list[tuple[str, Counter[str]]]


def f2(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 2: the main benchmark by category."""
    return category_figure(division_sizes(pool, "oodbench-F2", initial=False))


def f8(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 8: the initial benchmark by category."""
    return category_figure(division_sizes(pool, "oodbench-F8", initial=True))


def category_figure(groups: Sequence[Sequence[DivisionSizes]]) -> "Figure":
    """Return a figure with one panel of all data sets for each setting, then one panel of categories per data set."""
    drawn: list[tuple[str, Bars, Sequence[DivisionSizes]]] = []
    for every in groups:
        divided = every[0].entry.option("detectors")
        if len(every) > 1:
            drawn.append((f"all data sets, {divided}", [(sizes.source, sizes.total) for sizes in every], every))
        drawn += [(f"{sizes.title}, {divided}", category_bars(sizes), [sizes]) for sizes in every]
    figure, axes = create_panels([BAR * len(bars) + 1 for _, bars, _ in drawn], 1, 8)
    titles = disambiguate_titles([title for title, *_ in drawn], [[sizes.entry for sizes in of] for *_, of in drawn])
    for (ax,), title, (_, bars, (sizes, *_)) in zip(axes, titles, drawn, strict=True):
        draw_stacked_bars(ax, bars, sizes)
        set_title(ax, f"{title}: {sum(count_ood(counts) for _, counts in bars):,} pairs")
    return figure


def category_bars(sizes: DivisionSizes) -> Bars:
    """Return one bar per category; categories after the largest 80 share one bar."""
    every = [item for item in sizes.sorted_categories() if count_ood(item[1])]
    rest = sum((counts for _, counts in every[MOST:]), Counter[str]())
    return every[:MOST] + [(f"{len(every) - MOST:,} more", rest)] * (len(every) > MOST)


def draw_stacked_bars(ax: "Axes", bars: Bars, sizes: DivisionSizes) -> None:
    """Draw horizontal stacked bars, one colour per set."""
    left = [0] * len(bars)
    for name, colour in zip(OOD_SETS, COLOURS, strict=False):
        widths = [counts[name] for _, counts in bars]
        ax.barh(range(len(bars)), widths, left=left, color=colour, label=sizes.set_label(name))
        left = [start + width for start, width in zip(left, widths, strict=True)]
    ax.set_yticks(range(len(bars)), [one_line(name) for name, _ in bars], fontsize=6)
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("image–category pairs", fontsize=8)
    ax.legend(**LEGEND_ASIDE)


def f6(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 6: the pairs that a model answers wrongly, then the additional ones of each further model."""
    divisions = coverages(pool)
    figure, axes = create_panels([0.4 * len(sets) + 0.1 * len(sets[0].blocks) + 1 for sets in divisions], 1, 8)
    titles = disambiguate_titles(
        [sets[0].split for sets in divisions], [all_entries(sets[0].blocks) for sets in divisions]
    )
    for (ax,), title, sets in zip(axes, titles, divisions, strict=True):
        draw_coverage(ax, sets)
        set_title(ax, f"{title}, n={sets[0].n:,} pairs")
    return figure


def draw_coverage(ax: "Axes", sets: Sequence[Coverage]) -> None:
    """Draw one bar per set with one part per model, and the interval of the total at its end."""
    left = [0.0] * len(sets)
    for place, block in enumerate(sets[0].blocks):
        widths = [100 * (coverage.shares[place][1].value or 0) for coverage in sets]
        colour = COLOURS[place % len(COLOURS)]
        bars = ax.barh(
            range(len(sets)), widths, left=left, color=colour, edgecolor="white", label=one_line(block.model)
        )
        ax.bar_label(bars, [f"{width:.2f}" if width > 3 else "" for width in widths], label_type="center", fontsize=6)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for row, coverage in enumerate(sets):
        low, high = coverage.shares[-1][2].ci or (0.0, 0.0)
        ax.hlines(row + INTERVAL_OFFSET, 100 * low, 100 * high, color="black", linewidth=1)
    ax.set_yticks(range(len(sets)), [coverage.kind for coverage in sets], fontsize=8)
    ax.set_ylim(len(sets) - 0.5, -0.5)
    ax.set_xlim(0, 100)
    ax.set_xlabel("pairs in a model's own OOD set (%), with the 95 % interval of all together", fontsize=8)
    ax.legend(**LEGEND_ASIDE, title="first, then additionally", title_fontsize=7)
