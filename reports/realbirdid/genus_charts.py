"""Figure 3 of RealBirdID: the long-tailed distribution of images over genera."""

from collections.abc import Callable, Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

from ..render import one_line
from ..runs import Runs
from .chart_styles import INCH, make_subfigures
from .genera import DISTRIBUTION, RARE_LIMIT, SETS, concentration_note, genus_shares

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = {"A": ("tab:blue", "o"), "UA": ("tab:red", "s")}
NAMED = 3  # genera with their names, of each kind
WIDTH, HIGH = 10, 3.6  # inches


def f3(runs: Runs, labels: str | None) -> "Figure":
    """Return Figure 3: the images of each genus, and the cumulative share, for both image sets."""
    pages = DISTRIBUTION.get_pages(runs, labels)
    figure, parts = make_subfigures([HIGH] * len(pages), WIDTH)
    for part, page in zip(parts, pages, strict=True):
        left, right = part.subplots(1, 2)
        shares = genus_shares(page)
        for name in SETS:
            draw_set(left, right, name, shares[shares["Set"] == name])
        limit: Any = {"color": "tab:gray", "linestyle": ":", "linewidth": 0.8}
        left.axhline(RARE_LIMIT + 0.5, label=f"above: more than {RARE_LIMIT} images", **limit)
        set_log_axis(left, "y")
        finish_axes(left, "images of the genus", "upper right")
        right.set_ylim(0, 102)
        finish_axes(right, "images of all genera so far (%)", "lower right")
        text = f"{page.title}: {concentration_note(page)}"
        part.suptitle(fill(one_line(text), INCH * WIDTH, break_on_hyphens=False), fontsize=9)
    return figure


def draw_set(left: "Axes", right: "Axes", name: str, genera: "pd.DataFrame") -> None:
    """Draw the images of each genus of a set, with the names of the first ones, and the cumulative share."""
    colour, marker = LOOKS[name]
    line: Any = {"color": colour, "marker": marker, "markersize": 3, "linewidth": 0.8}
    label = f"{SETS[name]} ({name})"
    size = f"n={genera['count'].sum():,} of {len(genera):,} genera"
    left.plot(genera["Place"], genera["count"], label=f"{label}, {size}", **line)
    right.plot(genera["Place"], 100 * genera["cdf"], label=label, **line)
    for genus, place, count in genera[["genus", "Place", "count"]].head(NAMED).itertuples(index=False):
        left.annotate(one_line(genus), (place, count), (4, 3), textcoords="offset points", fontsize=6, color=colour)


def set_log_axis(ax: "Axes", name: Literal["x", "y"]) -> None:
    """Set a logarithmic axis with plain numbers, since powers would need math text."""
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    (ax.set_xscale if name == "x" else ax.set_yscale)("log")
    axis = ax.xaxis if name == "x" else ax.yaxis
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.set_minor_formatter(NullFormatter())


def finish_axes(ax: "Axes", what: str, corner: Literal["upper right", "lower right"]) -> None:
    """Set the axes, ticks and legend of a panel."""
    set_log_axis(ax, "x")
    ax.set_xlabel("place of the genus, those with most images first", fontsize=8)
    ax.set_ylabel(what, fontsize=8)
    ax.tick_params(labelsize=7)
    ax.legend(fontsize=7, loc=corner)


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {"realbirdid-F3": f3}
