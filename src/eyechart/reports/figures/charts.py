"""Charts of cells: a figure as a declaration, bars over long frames, and matrices.

The frames come from `TableDefinition.cells`: one row per number, with `row`, `column`, `value`, `low` and `high`.
Bars draw values in per cent, along x, with the rows from top to bottom.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eyechart.reports.figures.panels import create_blocks, create_panels, set_caption, set_title, wrap_name
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown", "tab:pink", "tab:olive")
TEXT = 6  # points
DARK = 0.6  # the value from which text is white


@dataclass(frozen=True, kw_only=True)
class _TableFigure:
    """A figure of a table, which has its pages, its cells, and the name and the alias of the figure.

    `summary` is a sentence for lists of figures.
    """

    summary: str
    table: TableDefinition

    @property
    def name(self) -> str:
        """The name of the table, which is also that of the figure."""
        return self.table.name

    @property
    def alias(self) -> str:
        """The number in the paper."""
        return self.table.alias


@dataclass(frozen=True, kw_only=True)
class FigureDefinition(_TableFigure):
    """A figure with a panel for each page of a table.

    - `draw(axes, page, cells)` draws the cells of one page under the title of the table, which it may replace.
    - `height(page)` is the height of its panel, `width` that of the figure, in inches.
    """

    draw: Callable[["Axes", Page, pd.DataFrame], None]
    height: Callable[[Page], float]
    width: float = 7

    def __call__(self, runs: Runs, labels: str | None = None) -> "Figure":
        """Return the figure. Raises EmptyTableError if the runs have no page."""
        pages = self.table.get_pages(runs, labels)
        figure, axes = create_panels([self.height(page) for page in pages], 1, self.width)
        for (ax,), page in zip(axes, pages, strict=True):
            set_title(ax, page.fill(self.table.title) + page.suffix)
            self.draw(ax, page, self.table.cells(page))
        return figure


@dataclass(frozen=True, kw_only=True)
class CustomFigure(_TableFigure):
    """A figure with a layout of its own; `make(pages)` returns it."""

    make: Callable[[Sequence[Page]], "Figure"]

    def __call__(self, runs: Runs, labels: str | None = None) -> "Figure":
        """Return the figure. Raises EmptyTableError if the runs have no page."""
        return self.make(self.table.get_pages(runs, labels))


@dataclass(frozen=True, kw_only=True)
class BlockFigure(_TableFigure):
    """A figure with a block of several panels for each page of a table.

    - `draw(part, page, runs)` draws the panels of one page; `caption(page)` is the text above them.
    - `height(page)` and `width(page)` are the inches of a block; the figure is as wide as the widest one.
    """

    draw: Callable[["SubFigure", Page, Runs], None]
    caption: Callable[[Page], str]
    height: Callable[[Page], float]
    width: Callable[[Page], float]

    def __call__(self, runs: Runs, labels: str | None = None) -> "Figure":
        """Return the figure. Raises EmptyTableError if the runs have no page."""
        pages = self.table.get_pages(runs, labels)
        figure, parts = create_blocks([self.height(page) for page in pages], max(map(self.width, pages)))
        for part, page in zip(parts, pages, strict=True):
            self.draw(part, page, runs)
            set_caption(part, self.caption(page))
        return figure


def label_rows(ax: "Axes", names: Sequence[str]) -> None:
    """Name the rows of a panel from top to bottom, long names in several lines."""
    ax.set_yticks(range(len(names)), [wrap_name(name) for name in names], fontsize=TEXT + 1)
    ax.set_ylim(len(names) - 0.5, -0.5)


def draw_bars(
    ax: "Axes",
    cells: pd.DataFrame,
    columns: Sequence[str],
    colours: Mapping[str, str] | None = None,
    *,
    text: Callable[[float, float, float], str] = lambda value, *_: f"{100 * value:.1f}",
) -> None:
    """Draw horizontal bars: the columns beside one another in each row, with intervals and numbers.

    `text` is what stands beside a bar, of its value and the ends of its interval.
    """
    height = 0.8 / len(columns)
    for index, column in enumerate(columns):
        part = cells[(cells["column"] == column) & cells["value"].notna()]
        offsets = part["row"] + (index - (len(columns) - 1) / 2) * height
        colour = colours[column] if colours else COLOURS[index % len(COLOURS)]
        ax.barh(offsets, 100 * part["value"], height, color=colour, label=column)
        known = part["low"].notna()
        ax.hlines(offsets[known], 100 * part["low"][known], 100 * part["high"][known], color="black", linewidth=0.8)
        for offset, value, low, high in zip(offsets, part["value"], part["low"], part["high"], strict=True):
            end = 100 * np.nanmax([value, high])
            ax.annotate(text(value, low, high), (end, offset), (3, 0), textcoords="offset points", fontsize=TEXT,
                        va="center")  # fmt: skip


def draw_matrix(
    ax: "Axes",
    values: NDArray[np.float64],
    texts: Iterable[str],
    colours: str,
    *,
    low: float = 0,
    aspect: Literal["equal", "auto"] = "equal",
) -> None:
    """Draw values (rows, columns) as colours between `low` and 1, each with its text, row by row."""
    ax.imshow(values, vmin=low, vmax=1, cmap=colours, aspect=aspect)
    for ((row, column), value), text in zip(np.ndenumerate(values), texts, strict=True):
        shade = "white" if abs(value) > DARK else "black"
        ax.text(column, row, text, ha="center", va="center", fontsize=TEXT, color=shade)
