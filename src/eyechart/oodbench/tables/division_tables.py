"""The sizes of a division's sets, by data set and category: Figures 2 and 8 of arXiv 2602.18094."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from eyechart.oodbench.division.pairs import HARD_SAMPLES, ID
from eyechart.oodbench.tables.coverage import ADDITIONAL, COVERAGE, COVERED, KIND, OWN, SETS_SHOWN
from eyechart.oodbench.tables.pair_frames import INITIAL, OOD_SETS
from eyechart.oodbench.tables.pair_pages import (
    EXISTENCE,
    OODBENCH,
    PAPER,
    PROGRESSION,
    data_notes,
    division_sha256,
    group_by_division,
    published_order,
    set_label,
    source_name,
)
from eyechart.reports.figures.charts import CustomFigure, FigureDefinition
from eyechart.reports.figures.panels import LEGEND_ASIDE, create_panels, set_title
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import one_line
from eyechart.reports.tables.selection import Page, disambiguate_titles, with_suffixes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DIVISION, ALL, OOD = "division", "all", "OOD"
COLUMNS = ("name", "set", "main")  # of the csv file of a division
DIVISION_OPTIONS = (
    "detectors",
    "detector_templates",
    "threshold",
    "max_pairs",
    "absent_categories",
)  # options that define a division
COLOURS = ("tab:orange", "tab:red", "tab:blue", "tab:purple", "tab:green", "tab:brown", "tab:pink", "tab:olive")
MOST = 80  # categories of one panel; the others share a bar
BAR = 0.16  # inches
INTERVAL_OFFSET = 0.44  # below the middle of a bar, so that the interval does not cover the number
BESIDE_LEGEND = 60  # letters of a title above bars that have a legend beside them


def _division_pages(runs: Runs, _: str | None = None, *, initial: bool) -> list[Page]:
    """Return a page per settings of the division, with a case for each data set and division."""
    groups: dict[tuple[object, ...], list[tuple[CaseRun, str]]] = {}
    known = set()
    for case, split in _division_cases(runs):
        settings = (*map(case.option, DIVISION_OPTIONS), case.record.limit)
        sizes = _count_pairs(case.samples(COLUMNS, DIVISION), ["name", "set"], initial=initial)
        sizes = sizes[(sizes > 0) & (sizes.index.get_level_values("set") != HARD_SAMPLES)]
        key = (settings, split, frozenset(sizes.items()))
        if key not in known:
            groups.setdefault(settings, []).append((case, split))
        known.add(key)
    return with_suffixes([_create_page(cases, initial=initial) for cases in groups.values()])


def _division_cases(runs: Runs) -> Iterator[tuple[CaseRun, str]]:
    """Yield one case per division with the title of its data set, divisions with hard samples first.

    Of several lists of detectors that give the same division, the shortest one is shown.
    """
    groups = [group for protocol in (EXISTENCE, PROGRESSION) for group in group_by_division(runs, protocol)]
    shortest: dict[tuple[str, str], tuple[CaseRun, str]] = {}
    for group in sorted(groups, key=lambda group: group.cases[0].option("hard_samples", "none") == "none"):
        case = group.cases[0]
        key = group.title, division_sha256(case)
        known = shortest.get(key)
        if DIVISION in case.record.artifacts and (not known or _count_detectors(case) < _count_detectors(known[0])):
            shortest[key] = case, group.title
    yield from shortest.values()


def _count_detectors(case: CaseRun) -> int:
    return len(case.option("detectors").split("+"))


def _create_page(cases: Iterable[tuple[CaseRun, str]], *, initial: bool) -> Page:
    """Return the page of the divisions of one settings; its row -1 is for all data sets together."""
    ordered = sorted(cases, key=lambda item: published_order(item[0]))
    divided = [case for case, _ in ordered]
    names = pd.DataFrame({"Data": map(source_name, divided), "split": [split for _, split in ordered]})
    if len(divided) > 1:
        names.loc[-1] = [ALL, ALL]
    settings = ", ".join(f"{name} {divided[0].option(name) or '—'}" for name in DIVISION_OPTIONS)
    return Page(
        cases=tuple(divided), title=OODBENCH, names=names, notes=(f"Divided by: {settings}.", *data_notes(divided)),
        context={"benchmark": "initial" if initial else "main", "divided": settings},
    )  # fmt: skip


def _count_pairs(pairs: pd.DataFrame, by: list[str], *, initial: bool) -> pd.Series:
    counted = pairs["set"].notna() if initial else pairs["main"] == "1"
    return pairs.assign(pairs=counted.astype(int)).groupby(by)["pairs"].sum()


def _set_sizes(page: Page) -> pd.DataFrame:
    """Return the numbers of pairs: `row`, `Category`, a column per set, and OOD.

    The total of all data sets comes first, then of each data set the total and its categories, those with most OOD
    pairs first. Hard samples have a column if there are any.
    """
    pairs = page.samples(COLUMNS, DIVISION)
    sizes = _count_pairs(pairs, ["row", "name", "set"], initial=_is_initial(page)).unstack(fill_value=0)
    mined = [name for name in sizes if name == HARD_SAMPLES and sizes[name].any()]
    sizes = sizes.reindex(columns=[ID, *OOD_SETS, *mined], fill_value=0)
    sizes[OOD] = sizes[[*OOD_SETS]].sum(axis=1)
    categories = sizes.reset_index(names=["row", "Category"])
    categories = categories.sort_values([OOD, "Category"], ascending=[False, True])
    totals = sizes.groupby("row").sum().reset_index().assign(Category=ALL)
    whole = sizes.sum().to_frame().T.assign(row=-1, Category=ALL)
    parts = [whole, totals, categories] if len(page.cases) > 1 else [totals, categories]
    return pd.concat(parts, ignore_index=True).sort_values("row", kind="stable", ignore_index=True)


def _is_initial(page: Page) -> bool:
    return page.context["benchmark"] == "initial"


def _label_sets(names: Iterable[str], page: Page) -> dict[str, str]:
    initial = OOD_SETS if _is_initial(page) else ()
    return {name: f"{name}{INITIAL}" if name in initial else set_label(name) for name in names}


def _size_cells(page: Page) -> pd.DataFrame:
    sizes = _set_sizes(page)
    labels = _label_sets(sizes, page)
    return sizes.rename(columns=labels).melt(["row", "Category"], var_name="column", value_name="count")


def _size_columns(page: Page) -> list[str]:
    return [*_label_sets(_set_sizes(page).drop(columns=["row", "Category"]), page).values()]


SET_SIZES = TableDefinition(
    name="oodbench-set-sizes",
    alias="oodbench-F2",
    source=PAPER,
    summary="The number of pairs of each set of OODBench's main benchmark by data set and category.",
    pages=partial(_division_pages, initial=False),
    needs="shows how large the sets of a division are",
    command="pytest -k oodbench",
    title="{page}: sizes of the main benchmark's sets by category",
    cells=_size_cells,
    rows=("Data", "Category"),
    columns=_size_columns,
    notes=("Numbers of image–category pairs; two opposite questions are asked about each pair.",),
)
INITIAL_SET_SIZES = replace(
    SET_SIZES,
    name="oodbench-initial-set-sizes",
    alias="oodbench-F8",
    summary="The number of pairs of each set of OODBench's initial benchmark, before downsampling.",
    pages=partial(_division_pages, initial=True),
    title="{page}: sizes of the initial benchmark's sets by category",
)
TABLES = (SET_SIZES, INITIAL_SET_SIZES)


def _draw_sizes(pages: Sequence[Page]) -> "Figure":
    """Return a figure with one panel of all data sets for each setting, then one panel of categories per data set."""
    panels = [panel for page in pages for panel in _category_panels(page)]
    figure, axes = create_panels([BAR * len(bars) + 1 for _, _, bars in panels], 1, 8)
    titles = disambiguate_titles([title for title, *_ in panels], [cases for _, cases, _ in panels])
    for (ax,), title, (*_, bars) in zip(axes, titles, panels, strict=True):
        _draw_stacked_bars(ax, bars, _label_sets(OOD_SETS, pages[0]))
        set_title(ax, f"{title}: {bars[OOD].sum():,} pairs")
    return figure


def _category_panels(page: Page) -> Iterator[tuple[str, Sequence[CaseRun], pd.DataFrame]]:
    """Yield the title, the cases and the bars of each panel: the numbers of pairs by name of the bar."""
    sizes, divided = _set_sizes(page), page.cases[0].option("detectors")
    totals = sizes["Category"] == ALL
    if len(page.cases) > 1:
        bars = sizes[totals & (sizes["row"] >= 0)]
        yield f"all data sets, {divided}", page.cases, bars.set_index(bars["row"].map(page.names["Data"]))
    for row, case in enumerate(page.cases):
        bars = sizes[~totals & (sizes["row"] == row) & (sizes[OOD] > 0)].set_index("Category")
        yield f"{page.names['split'][row]}, {divided}", [case], _merge_smallest(bars)


def _merge_smallest(bars: pd.DataFrame) -> pd.DataFrame:
    """Return one bar per category; categories after the largest 80 share one bar."""
    if len(bars) <= MOST:
        return bars
    rest = bars[MOST:].sum().to_frame(f"{len(bars) - MOST:,} more").T
    return pd.concat([bars[:MOST], rest])


def _draw_stacked_bars(ax: "Axes", bars: pd.DataFrame, labels: Mapping[str, str]) -> None:
    left = np.zeros(len(bars))
    for (name, label), colour in zip(labels.items(), COLOURS, strict=False):
        ax.barh(range(len(bars)), bars[name], left=left, color=colour, label=label)
        left = left + bars[name].to_numpy()
    ax.set_yticks(range(len(bars)), [one_line(str(name)) for name in bars.index], fontsize=6)
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("image–category pairs", fontsize=8)
    ax.legend(**LEGEND_ASIDE)


def _draw_coverage(ax: "Axes", page: Page, cells: pd.DataFrame) -> None:
    """Draw one bar per set with one part per model, and the interval of the total at its end."""
    kinds, rows = [*dict.fromkeys(cells[KIND])], range(len(page.cases))
    shares = cells.astype({KIND: str}).set_index(["column", "row", KIND]).sort_index()
    left = np.zeros(len(kinds))
    for row, model in enumerate(page.names["Model"]):
        widths = 100 * shares["value"][ADDITIONAL, row].loc[kinds].to_numpy(float)
        colour = COLOURS[row % len(COLOURS)]
        bars = ax.barh(range(len(kinds)), widths, left=left, color=colour, edgecolor="white", label=one_line(model))
        ax.bar_label(bars, [f"{width:.2f}" if width > 3 else "" for width in widths], label_type="center", fontsize=6)
        left = left + widths
    for index, kind in enumerate(kinds):
        low, high = (100 * shares[end][COVERED, rows[-1], kind] for end in ("low", "high"))
        ax.hlines(index + INTERVAL_OFFSET, low, high, color="black", linewidth=1)
    ax.set_yticks(range(len(kinds)), kinds, fontsize=8)
    ax.set_ylim(len(kinds) - 0.5, -0.5)
    ax.set_xlim(0, 100)
    ax.set_xlabel("pairs in a model's own OOD set (%), with the 95 % interval of all together", fontsize=8)
    ax.legend(**LEGEND_ASIDE, title="first, then additionally", title_fontsize=7)
    set_title(ax, f"{page.title}{page.suffix}, n={int(shares['n'][OWN, 0, kinds[0]]):,} pairs", BESIDE_LEGEND)


COVERAGE_CHART = FigureDefinition(
    summary="The pairs that a model answers wrongly, then the additional ones of each further model.",
    table=COVERAGE,
    draw=_draw_coverage,
    height=lambda page: 0.4 * len(SETS_SHOWN) + 0.1 * len(page.cases) + 1,
    width=8,
)
FIGURES = (
    CustomFigure(table=SET_SIZES, summary="The sizes of the sets of the main benchmark by category.", make=_draw_sizes),
    COVERAGE_CHART,
    CustomFigure(
        table=INITIAL_SET_SIZES,
        summary="The sizes of the sets of the initial benchmark by category.",
        make=_draw_sizes,
    ),
)
