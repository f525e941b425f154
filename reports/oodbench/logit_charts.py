"""Figures of detectors' logits and probabilities, for all categories and by category."""

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from ..panels import create_panels, legend_above, wrap_name
from ..render import one_line
from ..runs import Runs
from .logits import (
    LOGIT,
    PROBABILITY,
    DetectorHistograms,
    Histogram,
    detector_histograms,
    first_detectors,
    other_detectors,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

ACROSS, MOST = 8, 80  # small panels in a row, and altogether
TITLE, SMALL, BOTTOM = 0.6, 0.95, 0.25  # inches
SHOWN = {(LOGIT, "0"): ("tab:gray", "absent"), (LOGIT, "1"): ("tab:blue", "present")}


def f14(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 14: one row per detector with its logits and its purified probabilities."""
    detectors = [histograms for of in detector_histograms(pool, "oodbench-F14") for histograms in of]
    figure, axes = create_panels([2.6] * len(detectors), 2, 9)
    for (left, right), histograms in zip(axes, detectors, strict=True):
        for kind, (colour, label) in SHOWN.items():
            draw_histogram(left, histograms.overall.get(kind), colour, label)
        draw_histogram(right, histograms.overall.get((PROBABILITY, "1")), "tab:blue", "present")
        right.set_xlim(0, 1)
        for ax, label in ((left, "logit"), (right, "probability, purified")):
            ax.set_title(f"{wrap_name(histograms.entry.model)}, {one_line(histograms.group.title)}", fontsize=8)
            ax.set_xlabel(label, fontsize=8)
            ax.set_ylabel("share of pairs", fontsize=8)
            legend_above(ax)
    return figure


def draw_histogram(ax: "Axes", bins: Histogram | None, colour: str, label: str) -> None:
    """Draw a histogram as shares of its values, with the number of pairs in the legend."""
    if bins is not None:
        shares, named = bins.count / bins.n, f"{label}, n={bins.n:,}"
        ax.bar(bins.low, shares, bins.high - bins.low, align="edge", color=colour, alpha=0.6, label=named)


def f15(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 15: the first detector's logits, one small panel per category."""
    return category_panels(first_detectors(pool))


def f16(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 16: the second detector's logits, one small panel per category."""
    return category_panels(other_detectors(pool))


def category_panels(detectors: Sequence[DetectorHistograms]) -> "Figure":
    """Return a figure with one block of small panels per detector and data set."""
    from matplotlib.figure import Figure

    rows = [ceil(min(len(histograms.categories), MOST) / ACROSS) for histograms in detectors]
    heights = [SMALL * count + TITLE + BOTTOM for count in rows]
    figure = Figure(figsize=(11, sum(heights)))
    parts = figure.subfigures(len(detectors), 1, squeeze=False, height_ratios=heights)
    for (part,), histograms, count, height in zip(parts, detectors, rows, heights, strict=True):
        draw_categories(part, histograms, count, height)
    return figure


def draw_categories(part: "SubFigure", detector: DetectorHistograms, rows: int, height: float) -> None:
    """Draw the panels of one detector and data set."""
    names = detector.categories[:MOST]
    which = f"{len(names):,} of {len(detector.categories):,} categories, those with most pairs"
    which = which if len(names) < len(detector.categories) else f"{len(names):,} categories"
    title = f"{detector.entry.model}, {detector.group.title}: logits of {which}; blue: present, grey: absent"
    part.suptitle(one_line(title), fontsize=9, y=1 - 0.15 / height)
    part.subplots_adjust(
        left=0.03, right=0.99, bottom=BOTTOM / height, top=1 - TITLE / height, hspace=0.75, wspace=0.15
    )
    axes = part.subplots(rows, ACROSS, squeeze=False).flat
    for ax, name in zip(axes, names, strict=False):
        draw_category(ax, detector, name)
    for ax in axes[len(names) :]:
        ax.set_axis_off()


def draw_category(ax: "Axes", detector: DetectorHistograms, name: str) -> None:
    """Draw one category, on the axis that all categories share."""
    for kind, (colour, label) in SHOWN.items():
        draw_histogram(ax, detector.histograms.get(kind, {}).get(name), colour, label)
    shown = [bins for kind, bins in detector.overall.items() if kind in SHOWN]
    ax.set_xlim(min(bins.low[0] for bins in shown), max(bins.high[-1] for bins in shown))
    present = detector.histograms.get((LOGIT, "1"), {}).get(name)
    ax.set_title(f"{one_line(name)} (n={present.n if present else 0:,})", fontsize=6, pad=2)
    ax.tick_params(labelsize=6, length=2, pad=1)
    ax.set_yticks([])
