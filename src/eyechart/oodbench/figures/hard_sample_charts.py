"""Figures that compare hard samples with OOD-H: degradations and resampling tests."""

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from eyechart.messages.plurals import count_of
from eyechart.oodbench.division.pairs import HARD_SAMPLES, OOD_H
from eyechart.oodbench.tables.hard_sample_tables import DELTAS, HARD_DEGRADATION, fit_degradation
from eyechart.oodbench.tables.spread import (
    EVIDENCE_TABLE,
    PEARSON,
    SPEARMAN,
    VARIANCE,
    ResamplingTest,
    baseline_label,
    compute_degradations,
)
from eyechart.reports.figures.charts import CustomFigure, FigureDefinition
from eyechart.reports.figures.panels import LEGEND_ASIDE, create_panels, format_counts, legend_above, set_title
from eyechart.reports.runs import Runs
from eyechart.reports.tables.render import one_line
from eyechart.reports.tables.selection import Page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {HARD_SAMPLES: "tab:blue", OOD_H: "tab:red"}
WIDTH = 0.38
SCALES = {
    VARIANCE: (10_000, "variance of falls (squared percentage points)"),
    PEARSON: (1, "Pearson's correlation"),
    SPEARMAN: (1, "Spearman's correlation"),
}


def _draw_degradations(ax: "Axes", page: Page, cells: pd.DataFrame) -> None:
    """Draw two bars per model with intervals, and both trends."""
    models = page.names["Model"]
    for side, (name, head) in zip((-0.5, 0.5), DELTAS.items(), strict=True):
        falls = cells[cells["column"] == head]
        at = falls["row"] + side * WIDTH
        ax.bar(at, 100 * falls["value"].fillna(0), WIDTH, color=COLOURS[name], label=head)
        ax.vlines(at, 100 * falls["low"].fillna(0), 100 * falls["high"].fillna(0), color="black", linewidth=1)
        if curve := fit_degradation(page, cells, head):
            x = np.linspace(1, len(models), 50)
            ax.plot(x - 1, 100 * curve(x), "--", color=COLOURS[name], label=f"{curve.kind} trend")
    ax.set_xticks(range(len(models)), [one_line(model) for model in models], rotation=30, ha="right", fontsize=7)
    ax.axhline(0, color="black", linewidth=0.5)
    ax.set_ylabel("fall of accuracy (points, 95 % interval)", fontsize=8)
    ax.tick_params(axis="y", labelsize=7)
    ax.legend(**LEGEND_ASIDE)
    sizes = sorted(cells["n"].dropna().astype(int).unique())
    set_title(ax, f"{page.title}{page.suffix}, {format_counts(sizes)}")


HARD_SAMPLE_CHART = FigureDefinition(
    summary="Degradations on hard samples and OOD-H, by ascending degradation on hard samples.",
    table=HARD_DEGRADATION,
    draw=_draw_degradations,
    height=lambda page: 2.6 + 0.06 * min(max(map(len, page.names["Model"])), 30),
    width=8,
)


def _draw_evidence(pool: Runs, labels: str | None) -> "Figure":
    """Draw the variance and both correlations of resampled hard samples, with the value of OOD-H."""
    pages = EVIDENCE_TABLE.get_pages(pool, labels)
    figure, axes = create_panels([2.8] * len(pages), 3, 11)
    for row, page in zip(axes, pages, strict=True):
        models = count_of(len(page.cases), "model")
        title = f"{fill(one_line(page.title + page.suffix), 44)}, {models}\n{baseline_label(page)}"
        for ax, (name, test) in zip(row, compute_degradations(page).tests.items(), strict=True):
            draw_baseline(ax, name, test)
            ax.set_title(title, fontsize=8)
    return figure


def draw_baseline(ax: "Axes", name: str, test: ResamplingTest) -> None:
    """Draw a histogram of resampled hard samples, with OOD-H as a line."""
    scale, label = SCALES[name]
    drawn = scale * test.baseline[~np.isnan(test.baseline)]
    ax.hist(drawn, 30, histtype="stepfilled", color="tab:blue", label="hard samples")
    if not np.isnan(test.statistic):
        ax.axvline(scale * test.statistic, color="red", linestyle="--", label=f"OOD-H, p = {test.p:.4f}")
    ax.set_xlabel(label, fontsize=8)
    ax.set_ylabel("resamples", fontsize=8)
    legend_above(ax)


FIGURES = (
    HARD_SAMPLE_CHART,
    CustomFigure(
        table=EVIDENCE_TABLE,
        summary="The variance and both correlations of resampled hard samples, with the value of OOD-H.",
        make=_draw_evidence,
    ),
)
