"""Styles of the figures of RealBirdID: a model has one colour and marker in all figures; captions; legends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eyechart.realbirdid.tables.bird_pages import LEVELS, describe_prompts, metric_cells
from eyechart.reports.figures.panels import format_counts
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.render import MISSING, one_line
from eyechart.reports.tables.selection import Page

if TYPE_CHECKING:
    from matplotlib.figure import SubFigure

BENCHMARK = "realbirdid"
COLOURS = tuple(
    f"tab:{name}" for name in ("blue", "orange", "green", "red", "purple", "brown", "pink", "olive", "cyan")
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", ":", "-.")
SIZES = {"A": LEVELS["A Species"], "UA": LEVELS["UA Genus"]}  # accuracies whose n counts all images of the set
SMALL = 15  # letters of a legend on an inch
ENTRY = 0.14  # inches of a line of a legend


@dataclass(frozen=True)
class CaseStyle:
    """Colour, marker and dash of a case."""

    colour: str
    marker: str
    dash: str

    @property
    def line_options(self) -> dict[str, Any]:
        """The keyword arguments of a line."""
        return {"color": self.colour, "marker": self.marker, "linestyle": self.dash, "markersize": 4, "linewidth": 1}


def case_styles(pool: Runs, entries: Sequence[CaseRun]) -> list[CaseStyle]:
    """Return the styles of cases: one colour and marker per model, one dash per case of a model."""
    every = (entry for group in pool.groups for entry in group.cases if entry.record.benchmark == BENCHMARK)
    models = sorted({entry.model for entry in every} | {entry.model for entry in entries})
    used: dict[str, int] = {}
    styles = []
    for entry in entries:
        index, again = models.index(entry.model), used.get(entry.model, 0)
        used[entry.model] = again + 1
        dash = DASHES[(again + index // len(COLOURS)) % len(DASHES)]
        styles.append(CaseStyle(COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)], dash))
    return styles


def caption(page: Page, labels: Sequence[str], *more: str) -> str:
    """Return the caption of a page: data set, number of images per label set, and prompt settings."""
    numbers = [_describe_sizes(page, name) for name in dict.fromkeys(labels)]
    return "; ".join(filter(None, [page.title, *numbers, describe_prompts(page.cases), *more]))


def _describe_sizes(page: Page, labels: str) -> str:
    """Return the numbers of images of a label set: `range: A n=90, UA n=8`."""
    cells = metric_cells(page, {name: ("acc", *images) for name, images in SIZES.items()}, labels)
    sizes = cells[cells["n"] > 0].groupby("column")["n"].unique()
    return f"{labels}: " + ", ".join(f"{name} {format_counts(sorted(map(int, sizes.get(name, ()))))}" for name in SIZES)


def add_legend(part: "SubFigure", cases: Sequence[tuple[str, CaseStyle]], width: float) -> None:
    """Add the legend of models below the panels."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], label=one_line(name), **look.line_options) for name, look in cases]
    across = _legend_columns([name for name, _ in cases], width)
    part.legend(handles=lines, loc="outside lower center", ncols=across, fontsize=7, frameon=False)


def format_percent(value: float, low: float, high: float) -> str:
    """Return a percentage with one decimal, followed by its interval if it has one; a dash if there is no value."""
    if np.isnan(value):
        return MISSING
    return f"{100 * value:.1f}" + ("" if np.isnan(low) else f" [{100 * low:.1f}, {100 * high:.1f}]")


def _legend_columns(names: Sequence[str], width: float) -> int:
    longest = max(map(len, names)) + 8
    return max(1, min(len(names), int(SMALL * width / longest)))


def legend_height(names: Sequence[str], width: float) -> float:
    """Return the height of a legend in inches."""
    return ENTRY * -(-len(names) // _legend_columns(names, width)) + 0.2
