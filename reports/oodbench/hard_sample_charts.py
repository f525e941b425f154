"""Figures that compare hard samples with OOD-H: degradations and resampling tests."""

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from eyechart.oodbench.division import HARD_SAMPLES, OOD_H

from ..pages import disambiguate_titles
from ..panels import LEGEND_ASIDE, create_panels, format_counts, legend_above, set_title
from ..render import one_line
from ..runs import ComparableCases, Runs
from .hard_samples import DELTAS, degradation_cells, fit_degradation, hard_sample_groups, sorted_by_degradation
from .spread import PEARSON, SPEARMAN, VARIANCE, ResamplingTest, Spread, spreads

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


def f11(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 11: degradations on hard samples and OOD-H, by ascending degradation on hard samples."""
    groups = hard_sample_groups(pool, "oodbench-F11")
    longest = max(len(entry.model) for group in groups for entry in group.cases)
    figure, axes = create_panels([2.6 + 0.06 * min(longest, 30)] * len(groups), 1, 8)
    titles = disambiguate_titles([group.title for group in groups], [group.cases for group in groups])
    for (ax,), title, group in zip(axes, titles, groups, strict=True):
        draw_degradations(ax, group)
        sizes = sorted({degradation_cells(entry, name)[0].n or 0 for entry in group.cases for name in DELTAS})
        set_title(ax, f"{title}, {format_counts(sizes)}")
    return figure


def draw_degradations(ax: "Axes", group: ComparableCases) -> None:
    """Draw two bars per model with intervals, and both trends."""
    entries = sorted_by_degradation(group)
    places = np.arange(len(entries))
    for side, (name, head) in zip((-0.5, 0.5), DELTAS.items(), strict=True):
        numbers = [degradation_cells(entry, name)[0] for entry in entries]
        at = places + side * WIDTH
        ax.bar(at, [100 * (number.value or 0) for number in numbers], WIDTH, color=COLOURS[name], label=head)
        for x, number in zip(at, numbers, strict=True):
            low, high = number.ci or (0.0, 0.0)
            ax.vlines(x, 100 * low, 100 * high, color="black", linewidth=1)
        if curve := fit_degradation(entries, name):
            x = np.linspace(1, len(entries), 50)
            ax.plot(x - 1, 100 * curve(x), "--", color=COLOURS[name], label=f"{curve.kind} trend")
    ax.set_xticks(places, [one_line(entry.model) for entry in entries], rotation=30, ha="right", fontsize=7)
    ax.axhline(0, color="black", linewidth=0.5)
    ax.set_ylabel("fall of accuracy (points, 95 % interval)", fontsize=8)
    ax.tick_params(axis="y", labelsize=7)
    ax.legend(**LEGEND_ASIDE)


def f12(pool: Runs, _: str | None) -> "Figure":
    """Return Figure 12: the variance and both correlations of resampled hard samples, with the value of OOD-H."""
    divisions = spreads(pool)
    figure, axes = create_panels([2.8] * len(divisions), 3, 11)
    titles = disambiguate_titles(
        [spread.group.title for spread in divisions], [spread.group.cases for spread in divisions]
    )
    for row, title, spread in zip(axes, titles, divisions, strict=True):
        for ax, (name, test) in zip(row, spread.tests.items(), strict=True):
            draw_baseline(ax, name, test)
            ax.set_title(
                f"{fill(one_line(title), 44)}, {len(spread.hard)} models\n{baseline_label(spread)}", fontsize=8
            )
    return figure


def baseline_label(spread: Spread) -> str:
    """Return how the baseline was sampled, for a title."""
    return (
        f"{spread.size:,} of {spread.n_samples:,} hard samples{', with replacement' if spread.with_replacement else ''}"
    )


def draw_baseline(ax: "Axes", name: str, test: ResamplingTest) -> None:
    """Draw a histogram of resampled hard samples, with OOD-H as a line."""
    scale, label = SCALES[name]
    drawn = scale * test.baseline[~np.isnan(test.baseline)]
    ax.hist(drawn, 30, color="tab:blue", label="hard samples")
    if not np.isnan(test.statistic):
        ax.axvline(scale * test.statistic, color="red", linestyle="--", label=f"OOD-H, p = {test.p:.4f}")
    ax.set_xlabel(label, fontsize=8)
    ax.set_ylabel("resamples", fontsize=8)
    legend_above(ax)
