"""Figure 7 of arXiv 2603.06578: pie charts of what annotators preferred among disputed classes."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..answers import proportion_of_counts
from ..panels import create_blocks, set_caption
from ..runs import Runs
from .files import AnnotatorChoice, CategoryCounts, Item
from .outcomes import OUTCOMES, answered_items, classify_choice, read_answers, table_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:gray")
WIDTH, HEIGHT = 4, 3.6  # inches of a pie with its legend beneath


def f7(runs: Runs, labels: str | None) -> "Figure":
    """Return the figure: one row of pies for each model and label set, one pie for each category of images."""
    answers = read_answers(runs, labels)
    width = WIDTH * max(2, *(len(source.counts) for source, _ in answers))
    figure, rows = create_blocks([HEIGHT] * len(answers), width)
    for row, (source, replies) in zip(rows, answers, strict=True):
        choices = answered_items(replies)
        for ax, count in zip(row.subplots(1, len(source.counts), squeeze=False)[0], source.counts, strict=True):
            draw_pie(ax, count, choices)
        set_caption(row, table_title(source, replies, runs))
    return figure


def draw_pie(ax: "Axes", count: CategoryCounts, choices: Sequence[tuple[Item, AnnotatorChoice]]) -> None:
    """Draw the outcomes of one category, with each share, its interval and its count in the legend."""
    counts = Counter(classify_choice(item, choice) for item, choice in choices if item.category == count.category)
    n = counts.total()
    ax.set_title(f"{count.category}: {n:,} of {count.disputed:,} disputed images answered", fontsize=8)
    if n == 0:
        ax.set_axis_off()
        ax.text(0.5, 0.5, "no answers", transform=ax.transAxes, ha="center", va="center", fontsize=8)
        return
    wedges, *_ = ax.pie([counts[name] for name in OUTCOMES], colors=COLOURS, startangle=90, counterclock=False)
    shares = [proportion_of_counts(counts[name], n).text(with_n=False) for name in OUTCOMES]
    legend_labels = [f"{name}: {share} %, n={counts[name]:,}" for name, share in zip(OUTCOMES, shares, strict=True)]
    ax.legend(wedges, legend_labels, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 0.02), frameon=False)
