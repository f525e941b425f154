"""The curves of RealBirdID over all thresholds: Figures 5, 9, 10, 17 and 18 of arXiv 2603.27033."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from eyechart.realbirdid.figures.chart_styles import (
    CaseStyle,
    add_legend,
    caption,
    case_styles,
    format_percent,
    legend_height,
)
from eyechart.realbirdid.tables.bird_pages import (
    ALL,
    COMMANDS,
    NEEDS,
    PAPER,
    RANGE,
    SETS,
    SPECIES,
    metric_cells,
    select_pages,
)
from eyechart.reports.figures.charts import BlockFigure
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page
from eyechart.results.frames import clustered_share, to_numbers
from eyechart.results.records import ANSWERABLE, UNANSWERABLE, WHOLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

CRITERIA = {"max_probability": "max probability", "entropy": "entropy", "margin": "margin"}
HEADS = {
    (ANSWERABLE, "species"): "A species",
    (ANSWERABLE, "genus"): "A genus",
    (UNANSWERABLE, "genus"): "UA genus",
}
SHARES = (0.25, 0.5, 0.75)  # of the images abstained on, where a table reads a curve
MEANING = (
    "Areas under curves over every distinct threshold.",
    SETS,
    "Brackets: 95 % intervals over observations, each with all its images: of areas by bootstrap, else Wilson's.",
)
LISTED = "range.species.probability"  # a column that has a value for images with a range list

WIDE, HIGH, ENTRY = 4.4, 2.9, 0.14  # inches of a panel, and of a line beside it
OFTEN = 0.12  # a marker each so much of a panel
ASIDE: Any = {"fontsize": 6, "loc": "upper left", "bbox_to_anchor": (1, 1), "handlelength": 1.5, "frameon": False}


@dataclass(frozen=True)
class _Curve:
    """A curve: its name in the file of curves, the metric that is the area under it, and its titles.

    `images` are the subset and the level of the metric. With `falls`, x is the share of images abstained on, 0 to 1.
    """

    name: str
    area: str
    images: tuple[str, ...]
    head: str
    x: str
    y: str
    falls: bool = False

    @property
    def heads(self) -> list[str]:
        """The columns of a table: the area, then the accuracy at each share."""
        return [self.head, *(f"{self.head}, {100 * share:g} % left out" for share in SHARES * self.falls)]

    @property
    def area_name(self) -> str:
        """The short name of the area."""
        return {"i": "IG", "u": "UA/A"}.get(self.area[0], "AUC")


Panel = tuple[_Curve, str]  # with its label set, "" for that of the page
Grid = Sequence[Sequence[Panel]]


def _accuracy_curve(images: tuple[str, str], criterion: str = "", *, falls: bool = False) -> _Curve:
    """Return the curve of accuracy by coverage, or, with `falls`, by the share abstained on."""
    end = "" if criterion == "max_probability" else criterion
    head = HEADS[images] + (f", by {CRITERIA[criterion]}" if criterion else "")
    x = "abstained on (%)" if falls else "coverage (%)"
    name = f"accuracy {'.'.join(images)} {end}".strip()
    return _Curve(name, f"auc_{end}".strip("_"), images, head, x, "accuracy (%)", falls)


def _abstention_curve(criterion: str) -> _Curve:
    """Return the curve of the abstention rate on unanswerable images by that on answerable images."""
    area = "ua_a" if criterion == "max_probability" else f"ua_a_{criterion}"
    head = f"UA/A, by {CRITERIA[criterion]}"
    return _Curve(f"abstention {criterion}", area, (WHOLE,), head, "A abstained on (%)", "UA abstained on (%)")


GAIN = _Curve("ig", "ig", (ANSWERABLE,), "IG", "information gain (%)", "accuracy (%)")


def _read_points(page: Page) -> pd.DataFrame:
    """Return the points of all curves: `row`, `labels`, `curve`, `x` and `y`."""
    points = page.samples(["labels", "curve", "x", "y"], "curves")
    return to_numbers(points.astype({"labels": "category", "curve": "category"}), ["x", "y"])


def _curve_points(points: pd.DataFrame, curve: _Curve, labels: str) -> pd.DataFrame:
    """Return the points of a curve under a label set, case by case, with ascending x."""
    chosen = points[(points["curve"] == curve.name) & (points["labels"] == labels)].dropna(subset=["x", "y"])
    ordered = chosen.sort_values(["row", "x"], kind="stable")[["row", "x", "y"]]
    if curve.falls:
        ordered = ordered.assign(x=1 - ordered["x"])[::-1].sort_values("row", kind="stable")
    return ordered


def _select_panels(page: Page, grid: Grid) -> list[list[Panel]]:
    """Return the panels whose curve a case has, in rows; a row without one is left out."""
    names = page.samples(["curve", "labels"], "curves").drop_duplicates(["curve", "labels"])
    known = {*zip(names["curve"], names["labels"], strict=True)}
    own = [dict.fromkeys((curve, labels or page.labels) for curve, labels in row) for row in grid]
    rows = [[(curve, labels) for curve, labels in row if (curve.name, labels) in known] for row in own]
    return [row for row in rows if row]


def _list_panels(page: Page, grid: Grid) -> list[tuple[_Curve, str, str]]:
    """Return each panel of a page as its curve, its label set, and what its heads end with: labels if they differ."""
    panels = [panel for row in _select_panels(page, grid) for panel in row]
    several = len({labels for _, labels in panels}) > 1
    return [(curve, labels, f" ({labels})" if several else "") for curve, labels in panels]


def _area_cells(grid: Grid, page: Page) -> pd.DataFrame:
    """Return the area under each curve and, for a curve over the share abstained on, the accuracy at some shares."""
    points, parts = _read_points(page), []
    for curve, labels, end in _list_panels(page, grid):
        parts.append(metric_cells(page, {curve.head + end: (curve.area, *curve.images)}, labels))
        if curve.falls:
            cells = pd.DataFrame(_selective_cells(page, curve, labels, points))
            parts.append(cells.assign(column=cells["column"] + end))
    return pd.concat(parts, ignore_index=True)


def _selective_cells(page: Page, curve: _Curve, labels: str, points: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the accuracy of each case where the curve abstains on some shares of the images."""
    ranked, points = ranked_answers(page, labels, *curve.images), _curve_points(points, curve, labels)
    for row in range(len(page.cases)):
        answers, shares = (frame[frame["row"] == row] for frame in (ranked, points))
        for head, share in zip(curve.heads[1:], SHARES, strict=True):
            yield {"row": row, "column": head, **selective_accuracy(answers, _find_share(shares["x"], share))}


def _find_share(shares: ArrayLike, least: float) -> float:
    """Return the first of ascending shares that is at least so large; NaN if there is none."""
    known = np.asarray(shares, np.float64)
    index = int(np.searchsorted(known, least - 1e-9))
    return float(known[index]) if index < len(known) else np.nan


def selective_accuracy(answers: pd.DataFrame, share: float) -> dict[str, float]:
    """Return the accuracy among the answers that remain without a share of the least confident ones, as a cell.

    The answers come from `ranked_answers`. The share is a point of the curve, so images of equal probability are
    kept or dropped together; NaN keeps none.
    """
    kept = answers.head(0 if np.isnan(share) else round((1 - share) * len(answers)))
    return clustered_share(kept["correct"], kept["observation"])


def ranked_answers(page: Page, labels: str, subset: str, level: str) -> pd.DataFrame:
    """Return `row`, `correct` and `observation` (a number) of the scored answers of a subset, surest first.

    Without the label set "all species", they are those to images with a range list.
    """
    prefix = "range" if labels == RANGE else "all"
    correct, probability = (f"{prefix}.{level}.{name}" for name in ("correct", "probability"))
    columns = dict.fromkeys(["subset", "observation", correct, probability, LISTED])
    answers = to_numbers(page.samples([*columns]), [*dict.fromkeys([probability, LISTED])])
    chosen = (answers["subset"] == subset) & answers[correct].notna()
    if labels != ALL:
        chosen &= answers[LISTED].notna()
    answers["observation"] = pd.factorize(answers["observation"])[0]
    ranked = answers[chosen].sort_values(["row", probability], ascending=[True, False], kind="stable")
    return ranked.rename(columns={correct: "correct"})[["row", "correct", "observation"]]


def _curve_table(figure: int, name: str, summary: str, kinds: str) -> TableDefinition:
    """Return the table of a figure: the area under each curve, one row per model."""
    alias = f"realbirdid-F{figure}"
    grid = GRIDS[alias]
    return TableDefinition(
        name=f"realbirdid-{name}",
        alias=alias,
        source=PAPER,
        summary=summary,
        pages=lambda runs, labels: [page for page in select_pages(runs, SPECIES, labels) if _select_panels(page, grid)],
        needs=f"{NEEDS[SPECIES]}, about {kinds}",
        command=COMMANDS[SPECIES],
        title="{page}: areas under curves (%)",
        cells=partial(_area_cells, grid),
        rows=("Model",),
        columns=lambda page: [head + end for curve, _, end in _list_panels(page, grid) for head in curve.heads],
        notes=MEANING,
    )


SPECIES_IMAGES, GENUS_IMAGES, UNANSWERABLE_IMAGES = HEADS
GRIDS: Mapping[str, Grid] = {
    "realbirdid-F5": (
        ((GAIN, ""), (_accuracy_curve(SPECIES_IMAGES), "")),
        ((_abstention_curve("max_probability"), ""), (_accuracy_curve(GENUS_IMAGES), "")),
    ),
    "realbirdid-F9": (tuple((_abstention_curve(criterion), "") for criterion in CRITERIA),),
    "realbirdid-F10": tuple(
        tuple((_accuracy_curve(images, criterion), "") for criterion in CRITERIA) for images in HEADS
    ),
    "realbirdid-F17": tuple(
        tuple((_accuracy_curve(images, falls=True), labels) for labels in ("", RANGE))
        for images in (SPECIES_IMAGES, UNANSWERABLE_IMAGES)
    ),
    "realbirdid-F18": tuple(
        tuple((curve, labels) for labels in ("", RANGE)) for curve in (GAIN, _abstention_curve("entropy"))
    ),
}
OF_ANSWERABLE, OF_BOTH = "answerable images", "answerable and unanswerable images together"
TABLES = (
    _curve_table(5, "curves", "Areas under accuracy by information gain and by coverage, and the abstention tradeoff.",
                 OF_ANSWERABLE),
    _curve_table(9, "tradeoff-curves", "Areas under the abstention tradeoff, by criterion of confidence.", OF_BOTH),
    _curve_table(10, "coverage-curves", "Areas under accuracy by coverage, by criterion of confidence.", OF_ANSWERABLE),
    _curve_table(17, "selective-accuracy", "Accuracy by the share of images abstained on, without and with range "
                 "lists.", OF_ANSWERABLE),
    _curve_table(18, "range-list-curves", "Areas under information gain and the tradeoff, without and with range "
                 "lists.", OF_ANSWERABLE),
)  # fmt: skip


def _block_width(page: Page, grid: Grid) -> float:
    return WIDE * max(map(len, _select_panels(page, grid)))


def _block_height(page: Page, grid: Grid) -> float:
    row_height = max(HIGH, ENTRY * len(page.cases) + 0.9)
    rows = len(_select_panels(page, grid))
    return row_height * rows + legend_height([*page.names["Model"]], _block_width(page, grid)) + 0.5


def _draw_block(part: "SubFigure", page: Page, runs: Runs, grid: Grid) -> None:
    """Draw the panels of a page, with the legend of models below."""
    points, panels, styles = _read_points(page), _select_panels(page, grid), case_styles(runs, page.cases)
    across = max(map(len, panels))
    for row, of in enumerate(panels):
        for column, panel in enumerate(of):
            ax = part.add_subplot(len(panels), across, across * row + column + 1)
            _draw_panel(ax, page, panel, points, styles)
    add_legend(part, list(zip(page.names["Model"], styles, strict=True)), _block_width(page, grid))


def _draw_panel(ax: "Axes", page: Page, panel: Panel, points: pd.DataFrame, styles: Sequence[CaseStyle]) -> None:
    """Draw one curve per model, with the area under it in the legend."""
    curve, labels = panel
    areas = metric_cells(page, {curve.head: (curve.area, *curve.images)}, labels)
    for row, part in _curve_points(points, curve, labels).groupby("row"):
        value, low, high = areas.loc[row, ["value", "low", "high"]].astype(float)
        label = "" if np.isnan(value) else format_percent(value, low, high)
        ax.plot(100 * part["x"], 100 * part["y"], label=label, markevery=OFTEN, **styles[row].line_options)
    if curve.name.startswith("abstention"):
        ax.plot([0, 100], [0, 100], color="black", linestyle=":", linewidth=0.7)
    ax.set_title(f"{curve.head} ({labels})", fontsize=9)
    ax.set_xlabel(curve.x, fontsize=8)
    ax.set_ylabel(curve.y, fontsize=8)
    ax.set_xlim(-2, 102)
    ax.set_ylim(-2, 102)
    ax.tick_params(labelsize=7)
    ax.legend(**ASIDE, title=f"{curve.area_name} (%)", title_fontsize=6)


def _curve_figure(table: TableDefinition) -> BlockFigure:
    grid = GRIDS[table.alias]
    return BlockFigure(
        summary=table.summary,
        table=table,
        draw=partial(_draw_block, grid=grid),
        caption=lambda page: caption(page, [labels for row in _select_panels(page, grid) for _, labels in row]),
        height=partial(_block_height, grid=grid),
        width=partial(_block_width, grid=grid),
    )


FIGURES = tuple(map(_curve_figure, TABLES))
