"""Draw figures from the numbers of their tables; the same runs give the same bytes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import ReportError
from eyechart.messages.install_commands import install_command
from eyechart.reports.figures.charts import label_rows
from eyechart.reports.figures.panels import create_panels
from eyechart.reports.page.case_rows import first_metric
from eyechart.reports.runs import Runs
from eyechart.reports.tables.registry import known_name, registered
from eyechart.reports.tables.render import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Text stays text and nothing in a name is read as mathematics.
SETTINGS: Any = {"svg.hashsalt": "eyechart", "svg.fonttype": "none", "text.parse_math": False}
METADATA = {"Date": None, "Creator": "eyechart"}


def figure_drawers() -> dict[str, Callable[[Runs, str | None], "Figure"]]:
    """Return every figure by its name."""
    return registered("eyechart.figures")


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
