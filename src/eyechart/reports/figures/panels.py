"""Helpers for figures: panels in rows, wrapped names, and counts."""

import re
from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from eyechart.reports.tables.render import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


INCH = 12  # letters of a caption on an inch
TITLE_LETTERS = 95  # letters of a title
NAME_LETTERS = 36  # letters of a line of a name
PIECES = re.compile("[^,/ ]*[,/ ]+|[^,/ ]+")  # of a name, between which it may be broken
LETTER_WIDTH = 0.62  # of the size: how wide a letter is on average
SMALLEST_FONT = 6  # points: the smallest text that can be read
LEGEND_ASIDE: Any = {"fontsize": 7, "loc": "upper left", "bbox_to_anchor": (1, 1)}  # a legend that hides nothing


def create_panels(heights: list[float], across: int, width: float) -> tuple["Figure", Any]:
    """Return a figure whose rows of panels have these heights in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, sum(heights)), layout="constrained")
    return figure, figure.subplots(len(heights), across, squeeze=False, height_ratios=heights)


def create_blocks(heights: Sequence[float], width: float) -> tuple["Figure", list["SubFigure"]]:
    """Return a figure with subfigures of these heights in inches, one above the other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=list(heights))
    return figure, [part for (part,) in parts]


def set_caption(part: "SubFigure", text: str) -> None:
    """Set a text above the panels of a subfigure, wrapped to several lines."""
    letters = int(INCH * part.figure.get_figwidth())
    part.suptitle(fill(one_line(text), letters, break_on_hyphens=False), fontsize=9)


def set_title(ax: "Axes", title: str, letters: int = TITLE_LETTERS) -> None:
    """Set a title above a panel, wrapped to lines of so many letters: by default of a panel as wide as the figure."""
    ax.set_title(fill(one_line(title), letters, break_on_hyphens=False), fontsize=9)


def legend_above(ax: "Axes") -> None:
    """Draw the legend of a histogram above its bars."""
    ax.set_ylim(top=1.4 * ax.get_ylim()[1])
    ax.legend(fontsize=7, loc="upper right")


def format_counts(sizes: Sequence[int]) -> str:
    """Return `n=…` with the number of images or classes, or its range."""
    ends = dict.fromkeys(f"{size:,}" for size in (*sizes[:1], *sizes[-1:]))
    return f"n={'–'.join(ends) or 0}"


def wrap_name(name: str) -> str:
    """Return a model's name in lines of at most 36 letters, broken after commas and slashes if possible."""
    lines = [""]
    short = (
        match[start : start + NAME_LETTERS]
        for match in PIECES.findall(one_line(name))
        for start in range(0, len(match), NAME_LETTERS)
    )
    for piece in short:
        if lines[-1] and len(lines[-1] + piece) > NAME_LETTERS:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def text_width(names: Iterable[str], size: float) -> float:
    """Return the width in inches of the widest line of some names at a size in points."""
    return max((len(line) for name in names for line in name.splitlines()), default=0) * LETTER_WIDTH * size / 72
