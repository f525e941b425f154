"""Draw figures from the numbers of their tables; the same runs give the same bytes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import nan
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from eyechart.errors import ReportError
from eyechart.extras import install_command

from .annotation.charts import OUTCOME_PIES
from .charts import CustomFigure, FigureDefinition, TableFigure, label_rows
from .classification.agreement import AGREEMENT
from .classification.categories import BEFORE, CHANGED, LABEL_CHANGE
from .oodbench.catalogue import FIGURES as OODBENCH
from .page.summary import first_metric
from .pages import Page
from .panels import create_panels, format_counts, text_width, wrap_name
from .realbirdid.catalogue import FIGURES as REALBIRDID
from .render import CHANGE, format_cell, one_line
from .runs import Runs
from .tables import known_name, registered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Text stays text and nothing in a name is read as mathematics.
SETTINGS: Any = {"svg.hashsalt": "eyechart", "svg.fonttype": "none", "text.parse_math": False}
CELL, NAMES = 0.85, 7  # inches of a matrix entry, and points of the names beside it
METADATA = {"Date": None, "Creator": "eyechart"}


def figure_drawers() -> dict[str, Callable[[Runs, str | None], "Figure"]]:
    """Return every figure by its name."""
    return registered("eyechart.figures", DRAWERS)


def draw(name: str, runs: Runs, labels: str | None, out: Path | None, folder: Path) -> Path:
    """Draw the named figure into a file and return its path."""
    drawers = figure_drawers()
    spelled = known_name(name, drawers, "figure")
    path = out or folder / f"{spelled}.svg"
    with matplotlib_defaults():
        figure = drawers[spelled](runs, labels)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata=METADATA)
    return path


def draw_main_metrics(runs: Runs) -> "Figure":
    """Return a figure with the main metric of each case and its 95 % interval, one panel for each split."""
    with matplotlib_defaults():
        shown = [
            [(case, metric) for case in group.cases if (metric := first_metric(case)) is not None]
            for group in runs.groups
        ]
        figure, axes = create_panels([0.3 * len(cases) + 0.9 for cases in shown], 1, 7.0)
        for (ax,), group, cases in zip(axes, runs.groups, shown, strict=True):
            protocols = group.protocol_names()
            for index, (_, metric) in enumerate(cases):
                low, high = metric.ci or (nan, nan)
                ax.hlines(index, low, high, color="tab:blue", alpha=0.3, linewidth=5)
                ax.plot(metric.value, index, "o", color="tab:blue", markersize=4)
            label_rows(ax, [f"{case.model}, {protocols[id(case)]}" for case, _ in cases])
            names = dict.fromkeys(metric.name for _, metric in cases)
            ax.set_xlabel(f"{', '.join(names)}, with the 95 % interval", fontsize=8)
            ax.set_title(one_line(group.title), fontsize=9)
        return figure


@contextmanager
def matplotlib_defaults() -> Iterator[None]:
    """Use matplotlib's default settings instead of the user's."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ReportError(f"A figure needs matplotlib. Install it with: {install_command('figures')}") from error
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        yield


def draw_arrows(ax: "Axes", page: Page, frame: pd.DataFrame) -> None:
    """Draw for each model an arrow from its accuracy under the original labels to that under the new ones."""
    cells = frame.set_index(["column", "row"])
    rows = cells.loc[CHANGED].dropna(subset="value").index
    for index, row in enumerate(rows):
        before, after = (100 * cells["value"][name, row] for name in (BEFORE, "after"))
        low, high = 100 * cells.loc[("after", row), ["low", "high"]].astype(float)
        ax.hlines(index, low, high, color="tab:blue", alpha=0.2, linewidth=6)
        ax.plot(before, index, "o", color="tab:gray", markersize=4)
        ax.annotate("", (after, index), (before, index), arrowprops={"arrowstyle": "->", "color": "tab:blue"})
        ax.annotate(CHANGE(cells["value"][CHANGED, row]), (max(before, after), index), (6, 5),
                    textcoords="offset points", fontsize=8)  # fmt: skip
    label_rows(ax, [f"{model}, {protocol}" for model, protocol in page.names.loc[rows].itertuples(index=False)])
    ax.set_xlim(0, 112)
    what = f"{one_line(page.reference)} → {one_line(page.labels)}"
    ax.set_xlabel(f"accuracy (%), {what}, with the 95 % interval", fontsize=8)
    sizes = sorted(cells.loc["after"].loc[rows, "n"].astype(int).unique())
    ax.set_title(f"{one_line(page.title)}, {format_counts(sizes)}", fontsize=9)


LABEL_CHANGES = FigureDefinition(
    summary="For each model an arrow from its accuracy under the original labels to that under the new ones.",
    table=LABEL_CHANGE,
    draw=draw_arrows,
    height=lambda page: 0.4 * len(page.cases) + 1.2,
)


def draw_agreements(runs: Runs, labels: str | None) -> "Figure":
    """Draw both matrices side by side, one row of panels for each split and label set."""
    pages = AGREEMENT.get_pages(runs, labels)
    sizes = [len(page.cases) for page in pages[::2]]
    name_width = text_width([wrap_name(name) for page in pages for name in page.names["model"]], NAMES)
    heights = [CELL * size + name_width + 0.8 for size in sizes]
    figure, axes = create_panels(heights, 2, 2 * (CELL * max(sizes) + name_width) + 1)
    for ax, page in zip(axes.flat, pages, strict=True):
        draw_agreement(ax, page, AGREEMENT.cells(page))
    return figure


def draw_agreement(ax: "Axes", page: Page, cells: pd.DataFrame) -> None:
    """Draw the coefficient of every two models with its interval."""
    names = [wrap_name(name) for name in page.names["model"]]
    values = cells["value"].to_numpy().reshape(len(names), len(names))
    ax.imshow(values, vmin=-1, vmax=1, cmap="RdBu_r")
    for (row, column), cell in zip(np.ndindex(values.shape), cells.to_dict("records"), strict=True):
        text = format_cell(AGREEMENT.make_cell(cell), with_n=False).replace(" ", "\n", 1)
        dark = abs(values[row, column]) > 0.6
        ax.text(column, row, text, ha="center", va="center", fontsize=6, color="white" if dark else "black")
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=NAMES)
    ax.set_yticks(range(len(names)), names, fontsize=NAMES)
    under, counts = one_line(f"{page.title}, {page.labels}"), format_counts(sorted({*cells["n"]}))
    ax.set_title(f"{page.context['coefficient']}\n{fill(under, 60)}, {counts}", fontsize=8)


AGREEMENTS = CustomFigure(
    table=AGREEMENT,
    summary="Spearman's correlation of recalls and the phi coefficient of correctness for every two models.",
    make=draw_agreements,
)
DRAWERS: Mapping[str, TableFigure] = {
    figure.name: figure for figure in (LABEL_CHANGES, OUTCOME_PIES, AGREEMENTS, *OODBENCH, *REALBIRDID)
}
