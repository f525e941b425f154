"""Figures of existence: 9 (permutation tests), 10 (equivalence) and 13 (number of detectors) of arXiv 2602.18094."""

from collections.abc import Callable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from eyechart.oodbench.division import OOD_H

from ..pages import disambiguate_titles
from ..panels import LEGEND_ASIDE, LETTER_WIDTH, SMALLEST_FONT, create_panels, format_counts, text_width, wrap_name
from ..render import one_line
from ..runs import Runs
from .ablations import AblationCases, benchmark_label
from .degradation import SetDegradation, drop_nan, pooled_degradations
from .detectors import F13, detector_specs
from .measures import HEADS, measure_numbers
from .model_cases import all_entries, data_sets_label, model_labels
from .pages import SHOWN_OPTIONS
from .signatures import ReferenceComparison, reference_comparisons

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN = ("acc", "f1")  # of Figure 13
BAND, ROW, ACROSS = 0.45, 1.8, 11  # inches of a violin, of a row of histograms, and of a row of violins
TITLE = 56  # letters of a line above a panel of Figure 13
AnyFall = TypeVar("AnyFall", bound=SetDegradation)


def f9(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 9: a violin of the degradation under permutations per model, and the observed one with interval."""
    rows = [
        (head, of)
        for head, groups in with_headings(pooled_degradations(pool, "oodbench-F9"))
        for of in group_by_set(groups)
    ]
    names = [[*map(wrap_name, model_labels([fall.block for fall in falls]).values())] for _, falls in rows]
    heights = [BAND * len(falls) + 1.0 for _, falls in rows]
    width = ACROSS + text_width((name for row in names for name in row), SMALLEST_FONT)
    figure, axes = create_panels(heights, len(HEADS), width)
    for line, (head, falls), marks, height in zip(axes, rows, names, heights, strict=True):
        for place, (ax, (measure, name)) in enumerate(zip(line, HEADS.items(), strict=True)):
            draw_violins(ax, falls, measure)
            ax.set_yticks(range(len(falls)), ["" if place else mark for mark in marks], fontsize=SMALLEST_FONT)
            ax.set_title(f"{name}, ID − {falls[0].set_label}", fontsize=8)
        line[0].set_ylabel(row_label(head, falls, height), fontsize=SMALLEST_FONT)
    return figure


def draw_violins(ax: "Axes", falls: Sequence[SetDegradation], measure: str) -> None:
    """Draw one panel of Figure 9."""
    for place, fall in enumerate(falls):
        result = fall.measures[measure]
        if (null := drop_nan(result.null_samples)).size:
            ax.violinplot([100 * null], [place], widths=0.6, showextrema=False, orientation="horizontal")
        if not np.isnan(result.delta):
            ax.hlines(place, 100 * result.ci.low, 100 * result.ci.high, color="tab:red", linewidth=1)
            ax.plot(100 * result.delta, place, "D", color="tab:red", markersize=3)
        text = f"p={fall.p_value(measure).style(result.p)}"
        ax.text(
            0.98,
            place - 0.38,
            text,
            transform=ax.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=SMALLEST_FONT,
        )
    ax.axvline(0, color="tab:gray", linewidth=0.5)
    ax.set_ylim(len(falls) - 0.5, -0.6)
    ax.set_xlabel("Δ (% points)", fontsize=SMALLEST_FONT)
    ax.locator_params(axis="x", nbins=4)
    ax.tick_params(axis="x", labelsize=SMALLEST_FONT)


def f10(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 10: the difference between a model's degradation and the references' mean, with the margins."""
    rows = [
        (model_labels([comparison.block for comparison in of]), head, fall)
        for head, groups in with_headings(reference_comparisons(pool, "oodbench-F10"))
        for of in group_by_set(groups)
        for fall in of
    ]
    figure, axes = create_panels([ROW] * len(rows), len(HEADS), 13)
    for line, (names, head, fall) in zip(axes, rows, strict=True):
        for ax, (measure, shown) in zip(line, HEADS.items(), strict=True):
            draw_difference(ax, fall, measure)
            ax.set_title(f"{shown}, ID − {fall.set_label}", fontsize=7)
        name = fill(one_line(names[id(fall.block)]), max_letters(ROW), break_on_hyphens=False)
        line[0].set_ylabel(f"{name}\n{row_label(head, [fall], ROW)}", fontsize=SMALLEST_FONT)
    return figure


def draw_difference(ax: "Axes", fall: ReferenceComparison, measure: str) -> None:
    """Draw one panel of Figure 10: the resamples, their central 90 % shaded, the margins dashed."""
    result = fall.equivalence[measure]
    if (draws := drop_nan(result.bootstrap_samples)).size:
        ax.hist(100 * draws, bins=40, color="tab:blue" if result.equivalent else "tab:orange")
        ax.axvspan(100 * result.ci.low, 100 * result.ci.high, color="tab:gray", alpha=0.3)
    for margin in () if np.isnan(result.eta) else (-result.eta, result.eta):
        ax.axvline(100 * margin, color="tab:red", linestyle="--", linewidth=1)
    decision = "equivalent" if result.equivalent else "not equivalent"
    ax.set_xlabel(f"δ (% points), 90 % interval, ±η:\n{decision}", fontsize=SMALLEST_FONT)
    ax.locator_params(axis="x", nbins=4)
    ax.set_yticks([])
    ax.tick_params(axis="x", labelsize=6)


def f13(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 13: accuracy and F1 on OOD-H by number of detectors, one line per model."""
    homes = F13.cases_by_split(pool)
    every = {
        split: {key: wrap_name(name) for key, name in F13.model_labels(series).items()}
        for split, series in homes.items()
    }
    width = text_width((name for names in every.values() for name in names.values()), SMALLEST_FONT)
    figure, axes = create_panels([3.5] * len(homes), len(DRAWN), 10 + width)
    for line, (split, series) in zip(axes, homes.items(), strict=True):
        names = every[split]
        for ax, measure in zip(line, DRAWN, strict=True):
            for cases in series:
                draw_trend(ax, cases, measure, names[id(cases.blocks[0])] + one_line(cases.blocks[0].suffix))
            ax.set_ylabel(f"{HEADS[measure]} (%), with the 95 % interval", fontsize=8)
            ax.set_xlabel("number of detectors", fontsize=8)
            title = f"{one_line(split)}, {series[0].set_label(OOD_H)}, {benchmark_label(series)}"
            title = f"{title}, {count_flagged_answers(series)}"
            ax.set_title(fill(title, TITLE, break_on_hyphens=False), fontsize=8)
            ax.xaxis.get_major_locator().set_params(integer=True)
        line[-1].legend(**(LEGEND_ASIDE | {"fontsize": SMALLEST_FONT}))
    return figure


def draw_trend(ax: "Axes", cases: AblationCases, measure: str, label: str) -> None:
    """Draw the line of one model."""
    name = cases.set_label(OOD_H)
    numbers = [measure_numbers(b.counts(name), b.strata(name), b.images(name), b.seed)[measure] for b in cases.blocks]
    counts = [len(detector_specs(block)) for block in cases.blocks]
    shown = [(count, number) for count, number in zip(counts, numbers, strict=True) if number.is_defined]
    values = [100 * (number.value or 0) for _, number in shown]
    (line,) = ax.plot([count for count, _ in shown], values, marker="o", markersize=4, label=label)
    for count, number in shown:
        low, high = number.ci or (number.value or 0,) * 2
        ax.vlines(count, 100 * low, 100 * high, color=line.get_color(), alpha=0.4, linewidth=3)


def group_by_set(falls: Sequence[AnyFall]) -> list[list[AnyFall]]:
    """Return the degradations grouped by set and by use of chain of thought."""
    kinds: dict[tuple[str, str], list[AnyFall]] = {}
    for fall in falls:
        kinds.setdefault((fall.block.suffix, fall.name), []).append(fall)
    return [of for _, of in sorted(kinds.items(), key=lambda item: (item[0][0], item[0][1] == OOD_H))]


def with_headings(groups: Sequence[Sequence[AnyFall]]) -> list[tuple[str, Sequence[AnyFall]]]:
    """Return the groups of degradations with headings that distinguish them."""
    cases = [all_entries([fall.block for fall in of]) for of in groups]
    return list(
        zip(
            disambiguate_titles([data_sets_label(of[0].block) for of in groups], cases, SHOWN_OPTIONS),
            groups,
            strict=True,
        )
    )


def row_label(head: str, falls: Sequence[SetDegradation], height: float) -> str:
    """Return the label at the left of a row, wrapped to the height of the row."""
    return fill(f"{one_line(head)}, {count_answers(falls)}", max_letters(height), break_on_hyphens=False)


def max_letters(height: float) -> int:
    """Return the number of small letters that fit along a row of this height in inches."""
    return max(20, int((height - 0.4) / (LETTER_WIDTH * SMALLEST_FONT / 72)))


def count_answers(falls: Sequence[SetDegradation]) -> str:
    """Return the text of the numbers of answers."""
    return format_counts(sorted({fall.n for fall in falls}))


def count_flagged_answers(series: Sequence[AblationCases]) -> str:
    """Return the text of the numbers of answers in OOD-H."""
    return format_counts(
        sorted({int(b.counts(cases.set_label(OOD_H))[:, :4].sum()) for cases in series for b in cases.blocks})
    )


FIGURES: Mapping[str, Callable[[Runs, str | None], "Figure"]] = {
    "oodbench-F9": f9,
    "oodbench-F10": f10,
    "oodbench-F13": f13,
}
