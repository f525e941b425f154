"""Figure 11 of RealBirdID: frequency, entropy and max probability by how many species a range list leaves."""

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

COLOURS = {"frequency": "tab:gray", "entropy": "tab:blue", "p": "tab:orange"}
LABELS = {"frequency": "Frequency", **MEASURES}
ACROSS, WIDE, HIGH, MORE = 3, 4.2, 2.2, 0.9  # models beside one another; inches of a panel, and of all else
BAR = 0.27


def f11(pool: Runs, _: str | None) -> "Figure":
    """Figure 11: two panels a model, the answerable images above; each series as parts of its highest bar."""
    found = collect_bins(pool)
    across = min(ACROSS, max(len(model_names(each)) for each in found))
    figure, under = make_subfigures(
        [HIGH * len(image_sets(each)) * line_count(each, across) + MORE for each in found], WIDE * across
    )
    for part, each in zip(under, found, strict=True):
        draw_block(part, each, across)
        add_caption(part, each.table_cases.group, [each.table_cases.labels], WIDE * across)
    return figure


def model_names(found: TableBins) -> list[str]:
    """The models, each once."""
    return [*dict.fromkeys(each.model for each in found.image_sets)]


def image_sets(found: TableBins) -> list[str]:
    """The kinds of images that there are."""
    return [kind for kind in KINDS if any(each.kind == kind for each in found.image_sets)]


def line_count(found: TableBins, across: int) -> int:
    """How many models stand beneath one another."""
    return -(-len(model_names(found)) // across)


def draw_block(part: "SubFigure", found: TableBins, across: int) -> None:
    """The models about the same images."""
    from matplotlib.patches import Patch

    there = image_sets(found)
    rows = len(there) * line_count(found, across)
    for each in found.image_sets:
        line, column = divmod(model_names(found).index(each.model), across)
        row = len(there) * line + there.index(each.kind)
        draw_panel(part.add_subplot(rows, across, across * row + column + 1), each)
    shades = [Patch(color=colour, label=LABELS[name]) for name, colour in COLOURS.items()]
    part.legend(handles=shades, loc="outside lower center", ncols=len(shades), fontsize=7, frameon=False)


def draw_panel(ax: "Axes", found: BinnedImages) -> None:
    """One kind of image of one model."""
    series = {"frequency": [each.frequency for each in found.bins]}
    series |= {name: [each.means[name] for each in found.bins] for name in MEASURES}
    for side, (name, numbers) in enumerate(series.items(), -1):
        draw_bars(ax, numbers, side * BAR, COLOURS[name])
    step = -(-len(found.bins) // 12)
    ax.set_xticks(range(0, len(found.bins), step), [each.name for each in found.bins[::step]], fontsize=6)
    ax.set_ylim(0, 1.35)
    ax.tick_params(axis="y", labelsize=6)
    ax.set_xlabel("choices", fontsize=7)
    ax.set_ylabel("part of the highest bar", fontsize=7)
    rho = ", ".join(f"{LABELS[name]} {each.text(with_n=False)}" for name, each in found.correlations.items())
    ax.set_title(f"{wrap_name(found.model)}, {found.kind}, n={found.n:,}\nρ: {rho}", fontsize=7)


def draw_bars(ax: "Axes", numbers: Sequence[NumberCell], aside: float, colour: str) -> None:
    """One series, divided by its highest bar, with its intervals."""
    highest = max(number.value or 0 for number in numbers) or 1.0
    places = [place + aside for place in range(len(numbers))]
    ax.bar(places, [(number.value or 0) / highest for number in numbers], BAR, color=colour)
    for place, number in zip(places, numbers, strict=True):
        if number.ci:
            ax.vlines(place, max(0, number.ci[0]) / highest, number.ci[1] / highest, color="black", linewidth=0.5)


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {"realbirdid-F11": f11}
