"""Figure 3 of RealBirdID: the long-tailed distribution of images over genera."""

from collections.abc import Callable, Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Literal

from ..render import one_line
from ..runs import Runs
from .chart_styles import INCH, make_subfigures
from .genera import ANSWERABLE, RARE_LIMIT, UNANSWERABLE, Genera, collect_genera, image_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = {ANSWERABLE: ("tab:blue", "o", "answerable (A)"), UNANSWERABLE: ("tab:red", "s", "unanswerable (UA)")}
NAMED = 3  # genera with their names, of each kind
WIDTH, HIGH = 10, 3.6  # inches


def f3(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 3: the images of each genus, and the cumulative share, for both image sets."""
    tables = collect_genera(pool, "realbirdid-F3")
    figure, under = make_subfigures([HIGH] * len(tables), WIDTH)
    for part, genera in zip(under, tables, strict=True):
        left, right = part.subplots(1, 2)
        for name in LOOKS:
            draw_counts(left, genera, name)
            draw_cumulated(right, genera, name)
        left.axhline(
            RARE_LIMIT + 0.5,
            color="tab:gray",
            linestyle=":",
            linewidth=0.8,
            label=f"above: more than {RARE_LIMIT} images",
        )
        set_log_axis(left, "y")
        left.set_ylabel("images of the genus", fontsize=8)
        right.set_ylabel("images of all genera so far (%)", fontsize=8)
        finish_axes(left, "upper right")
        finish_axes(right, "lower right")
        text = f"{genera.group.title}: {genera.concentration_note}"
        part.suptitle(fill(one_line(text), INCH * WIDTH, break_on_hyphens=False), fontsize=9)
    return figure


def draw_counts(ax: "Axes", genera: Genera, name: str) -> None:
    """Draw the number of images per genus in descending order, with the names of the first genera."""
    colour, marker, label = LOOKS[name]
    every = genera.ordered(name)
    images = [image_count(genus, name) for genus in every]
    legend_label = f"{label}, n={sum(images):,} of {len(every):,} genera"
    ax.plot(
        range(1, len(every) + 1), images, color=colour, marker=marker, markersize=3, linewidth=0.8, label=legend_label
    )
    for place, (genus, number) in enumerate(zip(every[:NAMED], images, strict=False), 1):
        ax.annotate(one_line(genus.name), (place, number), (4, 3), textcoords="offset points", fontsize=6, color=colour)


def draw_cumulated(ax: "Axes", genera: Genera, name: str) -> None:
    """Draw the cumulative share of images over genera."""
    colour, marker, label = LOOKS[name]
    shares = [100 * (of_all.value or 0) for _, _, of_all in genera.shares(name)]
    places = range(1, len(shares) + 1)
    ax.plot(places, shares, color=colour, marker=marker, markersize=3, linewidth=0.8, label=label)
    ax.set_ylim(0, 102)


def set_log_axis(ax: "Axes", name: Literal["x", "y"]) -> None:
    """Set a logarithmic axis with plain numbers, since powers would need math text."""
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    (ax.set_xscale if name == "x" else ax.set_yscale)("log")
    axis = ax.xaxis if name == "x" else ax.yaxis
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.set_minor_formatter(NullFormatter())


def finish_axes(ax: "Axes", corner: Literal["upper right", "lower right"]) -> None:
    """Set the x axis, ticks and legend of a panel."""
    set_log_axis(ax, "x")
    ax.set_xlabel("place of the genus, those with most images first", fontsize=8)
    ax.tick_params(labelsize=7)
    ax.legend(fontsize=7, loc=corner)


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {"realbirdid-F3": f3}
