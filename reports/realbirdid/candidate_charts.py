"""Figure 11 of RealBirdID: frequency, entropy and max probability by the number of candidate species."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..panels import wrap_name
from ..render import NumberCell
from ..runs import Runs
from .candidate_counts import KINDS, MEASURES, BinnedImages, TableBins, collect_bins
from .chart_styles import add_caption, make_subfigures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

COLOURS = {"frequency": "tab:gray", "entropy": "tab:blue", "probability": "tab:orange"}
LABELS = {"frequency": "Frequency", **MEASURES}
ACROSS, WIDE, HIGH, MORE = 3, 4.2, 2.2, 0.9  # models beside one another; inches of a panel, and of all else
BAR = 0.27


def f11(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 11: two panels per model, answerable images above; each series is divided by its highest bar."""
    tables = collect_bins(pool)
    across = min(ACROSS, max(len(model_names(table)) for table in tables))
    figure, under = make_subfigures(
        [HIGH * len(image_sets(table)) * line_count(table, across) + MORE for table in tables], WIDE * across
    )
    for part, table in zip(under, tables, strict=True):
        draw_block(part, table, across)
        add_caption(part, table.table_cases.group, [table.table_cases.labels], WIDE * across)
    return figure


def model_names(table: TableBins) -> list[str]:
    """Return the distinct models."""
    return [*dict.fromkeys(images.model for images in table.image_sets)]


def image_sets(table: TableBins) -> list[str]:
    """Return the image sets that have data."""
    return [kind for kind in KINDS if any(images.kind == kind for images in table.image_sets)]


def line_count(table: TableBins, across: int) -> int:
    """Return the number of rows of models."""
    return -(-len(model_names(table)) // across)


def draw_block(part: "SubFigure", table: TableBins, across: int) -> None:
    """Draw the models on the same images."""
    from matplotlib.patches import Patch

    there = image_sets(table)
    rows = len(there) * line_count(table, across)
    for images in table.image_sets:
        line, column = divmod(model_names(table).index(images.model), across)
        row = len(there) * line + there.index(images.kind)
        draw_panel(part.add_subplot(rows, across, across * row + column + 1), images)
    shades = [Patch(color=colour, label=LABELS[name]) for name, colour in COLOURS.items()]
    part.legend(handles=shades, loc="outside lower center", ncols=len(shades), fontsize=7, frameon=False)


def draw_panel(ax: "Axes", images: BinnedImages) -> None:
    """Draw one image set of one model."""
    series = {"frequency": [estimate.frequency for estimate in images.bins]}
    series |= {name: [estimate.means[name] for estimate in images.bins] for name in MEASURES}
    for side, (name, numbers) in enumerate(series.items(), -1):
        draw_bars(ax, numbers, side * BAR, COLOURS[name])
    step = -(-len(images.bins) // 12)
    ax.set_xticks(range(0, len(images.bins), step), [estimate.name for estimate in images.bins[::step]], fontsize=6)
    ax.set_ylim(0, 1.35)
    ax.tick_params(axis="y", labelsize=6)
    ax.set_xlabel("choices", fontsize=7)
    ax.set_ylabel("part of the highest bar", fontsize=7)
    rho = ", ".join(f"{LABELS[name]} {estimate.text(with_n=False)}" for name, estimate in images.correlations.items())
    ax.set_title(f"{wrap_name(images.model)}, {images.kind}, n={images.n:,}\nρ: {rho}", fontsize=7)


def draw_bars(ax: "Axes", numbers: Sequence[NumberCell], aside: float, colour: str) -> None:
    """Draw one series, divided by its highest bar, with intervals."""
    highest = max(number.value or 0 for number in numbers) or 1.0
    places = [place + aside for place in range(len(numbers))]
    ax.bar(places, [(number.value or 0) / highest for number in numbers], BAR, color=colour)
    for place, number in zip(places, numbers, strict=True):
        if number.ci:
            ax.vlines(place, max(0, number.ci[0]) / highest, number.ci[1] / highest, color="black", linewidth=0.5)


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {"realbirdid-F11": f11}
