"""Figure 7 of arXiv 2603.06578: pie charts of what annotators preferred among disputed classes."""

from collections import Counter
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from ..answers import portion
from ..realbirdid.chart_styles import INCH, parts
from ..render import one_line
from ..runs import Pool
from .files import Choice, Count, Item
from .outcomes import OUTCOMES, answered, gather, outcome, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:gray")
WIDE, HIGH = 4, 3.6  # inches of a pie with its legend beneath


def f7(pool: Pool, labels: str | None) -> "Figure":
    """Return a row of pies for each model and ground truth, one pie for each category of images."""
    found = gather(pool, labels)
    width = WIDE * max(2, *(len(source.counts) for source, _ in found))
    figure, rows = parts([HIGH] * len(found), width)
    for row, (source, replies) in zip(rows, found, strict=True):
        choices = answered(replies)
        for ax, count in zip(row.subplots(1, len(source.counts), squeeze=False)[0], source.counts, strict=True):
            pie(ax, count, choices)
        title = title_of(source, replies, pool)
        row.suptitle(fill(one_line(title), int(INCH * width), break_on_hyphens=False), fontsize=9)
    return figure


def pie(ax: "Axes", count: Count, choices: Sequence[tuple[Item, Choice]]) -> None:
    """Draw the outcomes of one category, with each share, its interval and its count in the legend."""
    found = Counter(outcome(item, choice) for item, choice in choices if item.category == count.category)
    n = found.total()
    ax.set_title(f"{count.category}: {n:,} of {count.disputed:,} disputed images answered", fontsize=8)
    if n == 0:
        ax.set_axis_off()
        ax.text(0.5, 0.5, "no answers", transform=ax.transAxes, ha="center", va="center", fontsize=8)
        return
    wedges, *_ = ax.pie([found[name] for name in OUTCOMES], colors=COLOURS, startangle=90, counterclock=False)
    shares = [portion(found[name], n).text(with_n=False) for name in OUTCOMES]
    named = [f"{name}: {share} %, n={found[name]:,}" for name, share in zip(OUTCOMES, shares, strict=True)]
    ax.legend(wedges, named, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 0.02), frameon=False)
