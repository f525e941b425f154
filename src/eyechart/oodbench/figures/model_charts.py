"""Figures of existence: 9 (permutation tests), 10 (equivalence) and 13 (number of detectors) of arXiv 2602.18094."""

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from eyechart.oodbench.division.pairs import OOD_H
from eyechart.oodbench.statistics.degradation import Degradation, Equivalence
from eyechart.oodbench.tables.degradation_tables import (
    P_STYLE,
    PERMUTATION,
    SetOfRow,
    comparable_rows,
    comparable_sets,
    compute_degradation,
    count_answers,
    drop_nan,
)
from eyechart.oodbench.tables.detector_tables import DETECTOR_COUNTS, detector_specs
from eyechart.oodbench.tables.measure_columns import HEADS
from eyechart.oodbench.tables.signatures import EQUIVALENCE, equivalences
from eyechart.reports.figures.charts import CustomFigure
from eyechart.reports.figures.panels import (
    LEGEND_ASIDE,
    LETTER_WIDTH,
    SMALLEST_FONT,
    create_panels,
    format_counts,
    text_width,
    wrap_name,
)
from eyechart.reports.tables.render import one_line
from eyechart.reports.tables.selection import Page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN = ("acc", "f1")  # of Figure 13
BAND, ROW, ACROSS = 0.45, 1.8, 11  # inches of a violin, of a row of histograms, and of a row of violins
TITLE = 56  # letters of a line above a panel of Figure 13


def _draw_permutations(pages: Sequence[Page]) -> "Figure":
    """Draw a violin of the degradation under permutations per model, and the observed one with interval."""
    rows = [(page, name, keys) for page in pages for name, keys in _group_by_set(page, comparable_rows(page)).items()]
    models = [[wrap_name(page.names["Model"][row]) for row, _ in keys] for page, _, keys in rows]
    heights = [BAND * len(keys) + 1.0 for *_, keys in rows]
    width = ACROSS + text_width((name for names in models for name in names), SMALLEST_FONT)
    figure, axes = create_panels(heights, len(HEADS), width)
    for line, (page, name, keys), names, height in zip(axes, rows, models, heights, strict=True):
        sets = comparable_sets(page)
        falls = [compute_degradation(page, row, sets[row, of]) for row, of in keys]
        for position, (ax, (measure, head)) in enumerate(zip(line, HEADS.items(), strict=True)):
            _draw_violins(ax, [fall[measure] for fall in falls])
            ax.set_yticks(range(len(keys)), names if position == 0 else [""] * len(keys), fontsize=SMALLEST_FONT)
            ax.set_title(f"{head}, ID − {name}", fontsize=8)
        counts = format_counts(sorted({count_answers(sets[key]) for key in keys}))
        line[0].set_ylabel(_label_row(page, counts, height), fontsize=SMALLEST_FONT)
    return figure


def _draw_violins(ax: "Axes", falls: Sequence[Degradation]) -> None:
    for position, fall in enumerate(falls):
        if (null := drop_nan(fall.null_samples)).size:
            ax.violinplot([100 * null], [position], widths=0.6, showextrema=False, orientation="horizontal")
        if not np.isnan(fall.delta):
            ax.hlines(position, 100 * fall.ci.low, 100 * fall.ci.high, color="tab:red", linewidth=1)
            ax.plot(100 * fall.delta, position, "D", color="tab:red", markersize=3)
        ax.text(0.98, position - 0.38, f"p={P_STYLE(fall.p)}", transform=ax.get_yaxis_transform(), ha="right",
                va="center", fontsize=SMALLEST_FONT)  # fmt: skip
    ax.axvline(0, color="tab:gray", linewidth=0.5)
    ax.set_ylim(len(falls) - 0.5, -0.6)
    ax.set_xlabel("Δ (% points)", fontsize=SMALLEST_FONT)
    ax.locator_params(axis="x", nbins=4)
    ax.tick_params(axis="x", labelsize=SMALLEST_FONT)


def _draw_equivalences(pages: Sequence[Page]) -> "Figure":
    """Draw the difference between a model's degradation and the references' mean, with the margins."""
    rows = [
        (page, name, key, results[key][1], count_answers(sets[key]))
        for page in pages
        for results, sets in ((equivalences(page), comparable_sets(page)),)
        for name, keys in _group_by_set(page, results).items()
        for key in keys
    ]
    figure, axes = create_panels([ROW] * len(rows), len(HEADS), 13)
    for line, (page, name, key, results, answers) in zip(axes, rows, strict=True):
        for ax, (measure, head) in zip(line, HEADS.items(), strict=True):
            _draw_difference(ax, results[measure])
            ax.set_title(f"{head}, ID − {name}", fontsize=7)
        model = fill(one_line(page.names["Model"][key[0]]), _max_letters(ROW), break_on_hyphens=False)
        label = _label_row(page, format_counts([answers]), ROW)
        line[0].set_ylabel(f"{model}\n{label}", fontsize=SMALLEST_FONT)
    return figure


def _draw_difference(ax: "Axes", result: Equivalence) -> None:
    """Draw one panel of Figure 10: the resamples, their central 90 % shaded, the margins dashed."""
    if (draws := drop_nan(result.bootstrap_samples)).size:
        colour = "tab:blue" if result.equivalent else "tab:orange"
        ax.hist(100 * draws, bins=40, histtype="stepfilled", color=colour)  # one shape, drawn faster than 40 bars
        ax.axvspan(100 * result.ci.low, 100 * result.ci.high, color="tab:gray", alpha=0.3)
    for margin in () if np.isnan(result.eta) else (-result.eta, result.eta):
        ax.axvline(100 * margin, color="tab:red", linestyle="--", linewidth=1)
    decision = "equivalent" if result.equivalent else "not equivalent"
    ax.set_xlabel(f"δ (% points), 90 % interval, ±η:\n{decision}", fontsize=SMALLEST_FONT)
    ax.locator_params(axis="x", nbins=4)
    ax.set_yticks([])
    ax.tick_params(axis="x", labelsize=6)


def _draw_detector_counts(pages: Sequence[Page]) -> "Figure":
    """Draw accuracy and F1 on OOD-H by number of detectors, one line per model."""
    names = [wrap_name(name) for page in pages for name in page.names["Model"]]
    figure, axes = create_panels([3.5] * len(pages), len(DRAWN), 10 + text_width(names, SMALLEST_FONT))
    for line, page in zip(axes, pages, strict=True):
        cells = DETECTOR_COUNTS.cells(page)
        for ax, measure in zip(line, DRAWN, strict=True):
            for _, rows in page.names.groupby("Series"):
                _draw_trend(ax, page, cells[(cells["column"] == HEADS[measure]) & cells["row"].isin(rows.index)])
            ax.set_ylabel(f"{HEADS[measure]} (%), with the 95 % interval", fontsize=8)
            ax.set_xlabel("number of detectors", fontsize=8)
            answers = format_counts(sorted({*cells.loc[cells["column"] == "Num", "count"].astype(int)}))
            title = f"{one_line(page.context['split'])}, {cells['set'].iloc[0]}{page.suffix}, {answers}"
            ax.set_title(fill(title, TITLE, break_on_hyphens=False), fontsize=8)
            ax.xaxis.get_major_locator().set_params(integer=True)
        line[-1].legend(**(LEGEND_ASIDE | {"fontsize": SMALLEST_FONT}))
    return figure


def _draw_trend(ax: "Axes", page: Page, cells: pd.DataFrame) -> None:
    first = page.names.loc[cells["row"].iloc[0]]
    cells = cells.dropna(subset="value")
    counts = [len(detector_specs(page.cases[row])) for row in cells["row"]]
    label = wrap_name(first["Model"]) + one_line(first["Suffix"])
    (line,) = ax.plot(counts, 100 * cells["value"], marker="o", markersize=4, label=label)
    ends = (100 * cells[end].fillna(cells["value"]) for end in ("low", "high"))
    ax.vlines(counts, *ends, color=line.get_color(), alpha=0.4, linewidth=3)


def _group_by_set(page: Page, keys: Iterable[SetOfRow]) -> dict[str, list[SetOfRow]]:
    """Return the rows and sets of a page by the name of the set, chain of thought and OOD-H last."""
    suffixes, groups = page.names["Suffix"], dict[str, list[SetOfRow]]()
    for row, name in sorted(keys, key=lambda key: (suffixes[key[0]], key[1] == OOD_H)):
        groups.setdefault(name + suffixes[row], []).append((row, name))
    return groups


def _label_row(page: Page, counts: str, height: float) -> str:
    """Return the label at the left of a row, wrapped to the height of the row."""
    head = one_line(page.title + page.suffix)
    return fill(f"{head}, {counts}", _max_letters(height), break_on_hyphens=False)


def _max_letters(height: float) -> int:
    """Return the number of small letters that fit along a row of this height in inches."""
    return max(20, int((height - 0.4) / (LETTER_WIDTH * SMALLEST_FONT / 72)))


FIGURES = (
    CustomFigure(
        table=PERMUTATION,
        summary="The degradation of each model under permutations as violins, and the observed one with its interval.",
        make=_draw_permutations,
    ),
    CustomFigure(
        table=EQUIVALENCE,
        summary="The difference of a model's degradation from the mean of the references, with the margins.",
        make=_draw_equivalences,
    ),
    CustomFigure(
        table=DETECTOR_COUNTS,
        summary="Accuracy and F1 on OOD-H by the number of detectors.",
        make=_draw_detector_counts,
    ),
)
