"""The genera of the images of RealBirdID: Table 5 and Figure 3 of arXiv 2603.27033, as tables and drawn."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from eyechart.messages.plurals import count_of
from eyechart.realbirdid.tables.bird_pages import PAPER, SYMBOLS, describe_data
from eyechart.reports.figures.charts import BlockFigure
from eyechart.reports.runs import CaseRun, ComparableCases, Runs, collect_notes
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import FRACTION, one_line
from eyechart.reports.tables.selection import Page
from eyechart.results.frames import to_numbers
from eyechart.results.records import ANSWERABLE, UNANSWERABLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

GENERA = "genera"
RARE_LIMIT = 5  # unanswerable images of a genus that is not rare, as the caption of Figure 3 has it
SETS = (ANSWERABLE, UNANSWERABLE)  # columns in the file of genera
COLUMNS = ("count", "freq", "cdf", "species")
LOOKS = {ANSWERABLE: ("tab:blue", "o"), UNANSWERABLE: ("tab:red", "s")}  # colour and marker
NAMED = 3  # genera with their names in the figure, of each set
COUNTED = "Counts of the data set's own images, which no sampling stands behind: they have no interval."
SHARES = "freq: the genus' share of the {} images; cdf: of all down to this row."


def genus_pages(runs: Runs, _: str | None) -> list[Page]:
    """Return a page for each distinct data set."""
    pages: dict[tuple[str, str], Page] = {}
    for group in runs.groups:
        for case in group.cases:
            if file := case.record.artifacts.get(GENERA):
                pages.setdefault((group.title, file.sha256), create_page(group, case))
    return [*pages.values()]


def create_page(group: ComparableCases, case: CaseRun) -> Page:
    """Return the page of the data set of a case."""
    notes = (describe_data(case), *collect_notes([case]))
    names = pd.DataFrame(index=[0])
    return Page(cases=(case,), title=group.title, names=names, notes=notes, context={"split": group.title})


def _genus_shares(page: Page) -> pd.DataFrame:
    """Return the genera of answerable, then of unanswerable images, those with most images first.

    `count` is the number of images, `freq` its share of the `n` images of the set, and `cdf` that of all genera so far.
    """
    genera = page.samples(["genus", "species", *SETS], GENERA)
    genera = to_numbers(genera, ["species", *SETS], np.int64)
    parts = []
    for name in SETS:
        part = genera[genera[name] > 0].sort_values([name, "genus"], ascending=[False, True])
        counts, n = part[name], part[name].sum()
        shares = {"count": counts, "freq": counts / n, "cdf": counts.cumsum() / n, "n": n}
        parts.append(part.assign(subset=name, Place=range(1, len(part) + 1), **shares))
    return pd.concat(parts, ignore_index=True)


def _genus_cells(page: Page) -> pd.DataFrame:
    shares = _genus_shares(page)
    names = shares[["row", "subset", "Place", "genus"]].assign(Set=shares["subset"].map(SYMBOLS))
    counts = [names.assign(column=name, count=shares[name]) for name in ("count", "species")]
    parts = [names.assign(column=name, value=shares[name], n=shares["n"]) for name in ("freq", "cdf")]
    return pd.concat([*counts, *parts], ignore_index=True)


def _concentration_note(page: Page) -> str:
    """Return how few genera have most unanswerable images, as in the caption of Figure 3."""
    shares = _genus_shares(page)
    images = shares.loc[shares["subset"] == UNANSWERABLE, "count"]
    many = images[images > RARE_LIMIT]
    share = 100 * many.sum() / images.sum() if len(images) else 0.0
    several = f"more than {RARE_LIMIT}"
    most = count_of(len(many), f"genus that has {several}", f"genera that have {several} each")
    some = count_of(len(images), "genus has any", "genera have any")
    answerable = count_of((shares["subset"] == ANSWERABLE).sum(), "has answerable ones", "have answerable ones")
    return f"{share:.0f} % of the {images.sum():,} unanswerable images are of the {most}; {some}, {answerable}."


DISTRIBUTION = TableDefinition(
    name="realbirdid-genera",
    alias="realbirdid-F3",
    source=PAPER,
    summary="How many answerable and unanswerable images each genus has.",
    pages=genus_pages,
    needs="shows which genera images are of",
    command="pytest -k realbirdid",
    title="{page}: images over genera, answerable (A) and unanswerable (UA)",
    cells=_genus_cells,
    rows=("Set", "Place", "genus"),
    columns=COLUMNS,
    formats={"freq": FRACTION, "cdf": FRACTION},
    notes=(_concentration_note, SHARES.format("set's"), COUNTED),
)
UNANSWERABLE_GENERA = replace(
    DISTRIBUTION,
    name="realbirdid-unanswerable-genera",
    alias="realbirdid-T5",
    summary="The genera of unanswerable images, those with most images first.",
    pages=lambda runs, labels: [
        page for page in genus_pages(runs, labels) if (_genus_shares(page)["subset"] == UNANSWERABLE).any()
    ],
    needs="shows which genera unanswerable images are of, and there are none",
    command="pytest -k realbirdid --eye-data=ROOT, with unanswerable birds",
    title="{page}: genera of the unanswerable images",
    cells=lambda page: _genus_cells(page).query(f"subset == '{UNANSWERABLE}'"),
    rows=("genus",),
    notes=(
        "count: unanswerable images; species: how many the genus has.",
        SHARES.format("unanswerable"),
        COUNTED,
    ),
)


def _draw_distribution(part: "SubFigure", page: Page, _: Runs) -> None:
    """Draw the images of each genus, and the cumulative share, for both image sets."""
    left, right = part.subplots(1, 2)
    shares = _genus_shares(page)
    for name in SETS:
        _draw_set(left, right, name, shares[shares["subset"] == name])
    limit: Any = {"color": "tab:gray", "linestyle": ":", "linewidth": 0.8}
    left.axhline(RARE_LIMIT + 0.5, label=f"above: more than {RARE_LIMIT} images", **limit)
    _set_log_axis(left, "y")
    _finish_axes(left, "images of the genus", "upper right")
    right.set_ylim(0, 102)
    _finish_axes(right, "images of all genera so far (%)", "lower right")


def _draw_set(left: "Axes", right: "Axes", name: str, genera: pd.DataFrame) -> None:
    colour, marker = LOOKS[name]
    line: Any = {"color": colour, "marker": marker, "markersize": 3, "linewidth": 0.8}
    label = f"{name} ({SYMBOLS[name]})"
    size = f"n={genera['count'].sum():,} of {count_of(len(genera), 'genus', 'genera')}"
    left.plot(genera["Place"], genera["count"], label=f"{label}, {size}", **line)
    right.plot(genera["Place"], 100 * genera["cdf"], label=label, **line)
    for genus, index, count in genera[["genus", "Place", "count"]].head(NAMED).itertuples(index=False):
        left.annotate(one_line(genus), (index, count), (4, 3), textcoords="offset points", fontsize=6, color=colour)


def _set_log_axis(ax: "Axes", name: Literal["x", "y"]) -> None:
    """Set a logarithmic axis with plain numbers, since powers would need math text."""
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    (ax.set_xscale if name == "x" else ax.set_yscale)("log")
    axis = ax.xaxis if name == "x" else ax.yaxis
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.set_minor_formatter(NullFormatter())


def _finish_axes(ax: "Axes", what: str, corner: Literal["upper right", "lower right"]) -> None:
    _set_log_axis(ax, "x")
    ax.set_xlabel("rank of the genus, those with most images first", fontsize=8)
    ax.set_ylabel(what, fontsize=8)
    ax.tick_params(labelsize=7)
    ax.legend(fontsize=7, loc=corner)


TABLES = (UNANSWERABLE_GENERA, DISTRIBUTION)
FIGURES = (
    BlockFigure(
        summary="The images of each genus, and the cumulative share of images over genera.",
        table=DISTRIBUTION,
        draw=_draw_distribution,
        caption=lambda page: f"{page.title}: {_concentration_note(page)}",
        height=lambda _: 3.6,
        width=lambda _: 10,
    ),
)
