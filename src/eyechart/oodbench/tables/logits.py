"""Distributions of detectors' logits and probabilities: Figures 14 to 16 of arXiv 2602.18094."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from eyechart.models.spec import split_outside_brackets
from eyechart.oodbench.tables.pair_pages import DETECTION, EXISTENCE, PAPER, PROGRESSION, data_notes, settings_pages
from eyechart.reports.figures.charts import CustomFigure
from eyechart.reports.figures.panels import create_panels, legend_above, wrap_name
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import NumberFormat, one_line
from eyechart.reports.tables.selection import Page, with_suffixes
from eyechart.statistics.array_types import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

LOGIT, PROBABILITY = "logit", "probability"
OUTPUTS = {(LOGIT, "1"): "logit, present", (LOGIT, "0"): "logit, absent", (PROBABILITY, "1"): "probability, present"}
PRESENT, ABSENT, PROBABLE = OUTPUTS.values()
QUANTILES = {f"{100 * q:g} %": q for q in (0.05, 0.25, 0.5, 0.75, 0.95)}
VALUE = NumberFormat(1, 3)
COMMAND = 'pytest -k "oodbench and detection" --eye-model=A --eye-model=B'
MEANING = (
    "Quantiles, off by a bin's width at most. Brackets: 95 % intervals, from order statistics, where there are enough.",
    "Probability: of a category that is present, the image's other categories taken out of the softmax (purified).",
)

ACROSS, MOST = 8, 80  # small panels in a row, and altogether
TITLE, SMALL, BOTTOM = 0.6, 0.95, 0.25  # inches
LINES = {ABSENT: ("tab:gray", "absent"), PRESENT: ("tab:blue", "present")}


def _logit_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return a page per data set, with detectors in the order of the division, else by name."""
    order = _detector_order(runs)
    pages = []
    for page in settings_pages(DETECTION)(runs, labels):
        cases = sorted(page.cases, key=lambda case: order.get(case.record.model.spec, len(order)))
        pages.append(replace(page, cases=tuple(cases), names=pd.DataFrame({"Detector": [e.model for e in cases]})))
    return pages


def _detector_order(runs: Runs) -> dict[str, int]:
    """Return the position of each detector in the first division that uses it."""
    divided = (case for group in runs.groups for case in group.with_protocols(EXISTENCE, PROGRESSION).cases)
    positions: dict[str, int] = {}
    for case in divided:
        for index, spec in enumerate(split_outside_brackets(case.option("detectors"), "+")):
            positions.setdefault(spec, index)
    return positions


def _detector_pages(runs: Runs, labels: str | None, detectors: slice) -> list[Page]:
    """Return a page for some detectors of every data set."""
    pages = []
    rows = ((page, row) for page in _logit_pages(runs, labels) for row in page.names.index[detectors])
    for page, row in rows:
        case = page.cases[row]
        context = {"split": page.title, "detector": case.model, "asked": case.prompt_settings}
        title = f"{page.title}: {case.model}"
        pages.append(
            replace(page, cases=(case,), title=title, context=context, notes=data_notes([case]),
                    names=page.names.iloc[[row]].reset_index(drop=True))
        )  # fmt: skip
    return with_suffixes(pages)


def _histograms(page: Page, by: Sequence[str]) -> pd.DataFrame:
    """Return the bins of the values' distribution in each group: the columns `by`, `low`, `high` and `count`.

    The groups are in the order of the rows, of the categories (those with most present pairs first) and of the kinds
    of values. Bins with equal ends are added up; empty bins are left out.
    """
    bins = page.samples(["what", "present", "name", "low", "high", "count"], "logits")
    bins = bins.astype({"low": float, "high": float, "count": int})
    kinds = {kind: OUTPUTS.get(kind, ", ".join(kind)) for kind in zip(bins["what"], bins["present"], strict=True)}
    order = [*OUTPUTS.values(), *(label for kind, label in kinds.items() if kind not in OUTPUTS)]
    kind = pd.Categorical(list(map(kinds.get, zip(bins["what"], bins["present"], strict=True))), order)
    present = bins["count"].where(kind == PRESENT, 0).groupby(bins["name"]).sum()
    categories = sorted(present.index, key=lambda name: (-present[name], name))
    bins = bins.assign(Values=kind, Category=pd.Categorical(bins["name"], categories))
    merged = bins.groupby([*by, "low", "high"], observed=True)["count"].sum().reset_index()
    return merged[merged["count"] > 0].reset_index(drop=True)


def _quantile_cells(page: Page, by: Sequence[str]) -> pd.DataFrame:
    """Return the number of values and their quantiles with 95 % intervals, in each group."""
    bins = _histograms(page, by)
    index, groups = bins.groupby([*by], observed=True).ngroup().to_numpy(), bins[[*by]].drop_duplicates()
    n = np.bincount(index, bins["count"]).astype(np.int64)
    q = np.array([*QUANTILES.values()])
    shares = np.stack([np.broadcast_to(q, (len(n), len(q))), *_order_statistic_shares(n[:, None], q)], axis=1)
    ends = np.searchsorted(index, np.arange(len(n) + 1))
    low, high, count = (bins[name].to_numpy() for name in ("low", "high", "count"))
    values = np.array(
        [quantiles(low[a:b], high[a:b], count[a:b], share) for a, b, share in zip(ends, ends[1:], shares, strict=False)]
    )
    groups = groups.reset_index(drop=True)
    parts = [groups.assign(column="Num", count=n)]
    for position, head in enumerate(QUANTILES):
        value, below, above = values[:, :, position].T
        parts.append(groups.assign(column=head, value=value, low=below, high=above))
    return pd.concat(parts, ignore_index=True)


def quantiles(low: Floats, high: Floats, count: Ints, q: Floats) -> Floats:
    """Return the q-quantiles of a histogram, with a uniform distribution within each bin; NaN for NaN.

    `low`, `high` and `count` (bins,) are the ends of the bins in ascending order and the number of values in each.
    """
    below = np.concatenate(([0.0], np.cumsum(count) / count.sum()))
    at = np.clip(np.searchsorted(below, q) - 1, 0, len(count) - 1)
    part = (q - below[at]) / (below[at + 1] - below[at])
    values: Floats = low[at] + np.clip(part, 0, 1) * (high[at] - low[at])
    return values


def _order_statistic_shares(n: Ints, q: Floats) -> tuple[Floats, Floats]:
    """Return the shares of n values that lie below the ends of a q-quantile's 95 % interval; NaN for too few values.

    The interval lies between two order statistics.
    """
    from scipy.stats import binom  # half a second that few tables need

    low, high = binom.ppf(0.025, n, q), binom.ppf(0.975, n, q) + 1
    enough = (low >= 1) & (high <= n)
    return np.where(enough, (low - 0.5) / n, np.nan), np.where(enough, (high - 0.5) / n, np.nan)


LOGITS = TableDefinition(
    name="oodbench-logits",
    alias="oodbench-F14",
    source=PAPER,
    summary="Quantiles of each detector's logits and probabilities, of all categories together.",
    pages=_logit_pages,
    needs="shows the distributions of detectors' logits",
    command=COMMAND,
    title="{page}: detectors' logits and probabilities",
    cells=lambda page: _quantile_cells(page, ("row", "Values")),
    rows=("Detector", "Values"),
    columns=("Num", *QUANTILES),
    notes=MEANING,
    formats=dict.fromkeys(QUANTILES, VALUE),
)
FIRST_DETECTOR = replace(
    LOGITS,
    name="oodbench-logits-by-category",
    alias="oodbench-F15",
    summary="Quantiles of the first detector's logits and probabilities by category.",
    pages=partial(_detector_pages, detectors=slice(1)),
    title="{page}, logits and probabilities by category",
    cells=lambda page: _quantile_cells(page, ("row", "Category", "Values")),
    rows=("Category", "Values"),
)
OTHER_DETECTORS = replace(
    FIRST_DETECTOR,
    name="oodbench-logits-of-other-detectors",
    alias="oodbench-F16",
    summary="Quantiles of the logits and probabilities of the second and further detectors by category.",
    pages=partial(_detector_pages, detectors=slice(1, None)),
    needs="shows the logits of a second detector, which no case has",
)
TABLES = (LOGITS, FIRST_DETECTOR, OTHER_DETECTORS)


def _draw_logits(pages: Sequence[Page]) -> "Figure":
    """Draw one row per detector with its logits and its purified probabilities."""
    rows = [
        (page, model, bins)
        for page in pages
        for model, (_, bins) in zip(
            page.names["Detector"], _histograms(page, ("row", "Values")).groupby("row"), strict=True
        )
    ]
    figure, axes = create_panels([2.6] * len(rows), 2, 9)
    for (left, right), (page, model, bins) in zip(axes, rows, strict=True):
        for kind, (colour, label) in LINES.items():
            _draw_histogram(left, bins[bins["Values"] == kind], colour, label)
        _draw_histogram(right, bins[bins["Values"] == PROBABLE], "tab:blue", "present")
        right.set_xlim(0, 1)
        for ax, label in ((left, "logit"), (right, "probability, purified")):
            ax.set_title(f"{wrap_name(model)}, {one_line(page.title)}", fontsize=8)
            ax.set_xlabel(label, fontsize=8)
            ax.set_ylabel("share of pairs", fontsize=8)
            legend_above(ax)
    return figure


def _draw_histogram(ax: "Axes", bins: pd.DataFrame, colour: str, label: str) -> None:
    """Draw a histogram as shares of its values, with the number of pairs in the legend."""
    if n := int(bins["count"].sum()):
        widths = bins["high"] - bins["low"]
        ax.bar(bins["low"], bins["count"] / n, widths, align="edge", color=colour, alpha=0.6, label=f"{label}, n={n:,}")


def _draw_detectors(pages: Sequence[Page]) -> "Figure":
    """Return a figure with one block of small panels, a panel per category, per detector and data set."""
    from matplotlib.figure import Figure

    blocks = [_histograms(page, ("row", "Category", "Values")) for page in pages]
    rows = [ceil(min(bins["Category"].nunique(), MOST) / ACROSS) for bins in blocks]
    heights = [SMALL * count + TITLE + BOTTOM for count in rows]
    figure = Figure(figsize=(11, sum(heights)))
    parts = figure.subfigures(len(pages), 1, squeeze=False, height_ratios=heights)
    for (part,), page, bins, count in zip(parts, pages, blocks, rows, strict=True):
        _draw_categories(part, page, bins, count)
    return figure


def _draw_categories(part: "SubFigure", page: Page, bins: pd.DataFrame, rows: int) -> None:
    """Draw the panels of one detector and data set, on an axis that all categories share."""
    height, total = SMALL * rows + TITLE + BOTTOM, bins["Category"].nunique()
    which = f"{MOST:,} of {total:,} categories, those with most pairs" if total > MOST else f"{total:,} categories"
    model, split = page.names["Detector"][0], page.context["split"]
    title = f"{model}, {split}: logits of {which}; blue: present, grey: absent"
    part.suptitle(one_line(title), fontsize=9, y=1 - 0.15 / height)
    part.subplots_adjust(
        left=0.03, right=0.99, bottom=BOTTOM / height, top=1 - TITLE / height, hspace=0.75, wspace=0.15
    )
    axes = part.subplots(rows, ACROSS, squeeze=False).flat
    logits = bins[bins["Values"].isin([*LINES])]
    for ax, (name, shown) in zip(axes, bins.groupby("Category", observed=True), strict=False):
        _draw_category(ax, str(name), shown)
        ax.set_xlim(logits["low"].min(), logits["high"].max())
    for ax in axes[min(total, MOST) :]:
        ax.set_axis_off()


def _draw_category(ax: "Axes", name: str, bins: pd.DataFrame) -> None:
    for kind, (colour, label) in LINES.items():
        _draw_histogram(ax, bins[bins["Values"] == kind], colour, label)
    present = bins.loc[bins["Values"] == PRESENT, "count"].sum()
    ax.set_title(f"{one_line(name)} (n={present:,})", fontsize=6, pad=2)
    ax.tick_params(labelsize=6, length=2, pad=1)
    ax.set_yticks([])


FIGURES = (
    CustomFigure(
        table=LOGITS, summary="The logits and the purified probabilities of each detector.", make=_draw_logits
    ),
    CustomFigure(table=FIRST_DETECTOR, summary="The logits of the first detector by category.", make=_draw_detectors),
    CustomFigure(table=OTHER_DETECTORS, summary="The logits of the second detector by category.", make=_draw_detectors),
)
