"""Figures of existence: 9 (permutation tests), 10 (equivalence) and 13 (number of detectors) of arXiv 2602.18094."""

from collections.abc import Callable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from eyechart.data.divisions import HARD

from .oodbench_ablations import Compared, benchmark
from .oodbench_blocks import MARKED, called, entries_of
from .oodbench_cases import told_apart
from .oodbench_degradation import Fall, known, together
from .oodbench_detectors import F13, detectors
from .oodbench_existence import joined
from .oodbench_measures import HEADS, measured
from .oodbench_signatures import Candidate, candidates
from .panels import counted, panels
from .render import one_line
from .runs import Pool

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN = ("acc", "f1")  # of Figure 13
WRAP = 28  # letters beside a panel
AnyFall = TypeVar("AnyFall", bound=Fall)


def f9(pool: Pool, _: str | None) -> "Figure":
    """Figure 9: the falls of shuffled pairs, a violin a model, and those that there are, with their intervals."""
    rows = [(head, of) for head, found in headings(together(pool, "oodbench-F9")) for of in by_set(found)]
    figure, axes = panels([3.0] * len(rows), len(HEADS), 13)
    for line, (head, falls) in zip(axes, rows, strict=True):
        names = called([fall.block for fall in falls])
        for ax, (measure, name) in zip(line, HEADS.items(), strict=True):
            violins(ax, falls, measure)
            marks = [f"{one_line(names[id(f.block)])}, p={f.chance(measure).style(f.found[measure].p)}" for f in falls]
            ax.set_xticks(range(len(falls)), marks, rotation=90, fontsize=6)
            ax.set_title(f"{name}, ID − {falls[0].kind}", fontsize=8)
        line[0].set_ylabel(f"{beside(head, falls)}\nΔ (% points)", fontsize=6)
    return figure


def violins(ax: "Axes", falls: Sequence[Fall], measure: str) -> None:
    """One panel of Figure 9."""
    for place, fall in enumerate(falls):
        found = fall.found[measure]
        if (null := known(found.null)).size:
            ax.violinplot([100 * null], [place], widths=0.8, showextrema=False)
        if not np.isnan(found.delta):
            ax.vlines(place, 100 * found.ci.low, 100 * found.ci.high, color="tab:red", linewidth=1)
            ax.plot(place, 100 * found.delta, "D", color="tab:red", markersize=3)
    ax.axhline(0, color="tab:gray", linewidth=0.5)
    ax.tick_params(axis="y", labelsize=6)


def f10(pool: Pool, _: str | None) -> "Figure":
    """Figure 10: how far a model's fall is from the reference models' mean, beside what does not matter."""
    rows = [
        (called([each.block for each in of]), head, fall)
        for head, found in headings(candidates(pool, "oodbench-F10")) for of in by_set(found) for fall in of
    ]  # fmt: skip
    figure, axes = panels([1.8] * len(rows), len(HEADS), 13)
    for line, (names, head, fall) in zip(axes, rows, strict=True):
        for ax, (measure, shown) in zip(line, HEADS.items(), strict=True):
            difference(ax, fall, measure)
            ax.set_title(f"{shown}, ID − {fall.kind}", fontsize=7)
        name = fill(one_line(names[id(fall.block)]), WRAP)
        line[0].set_ylabel(f"{name}\n{beside(head, [fall])}", fontsize=6)
    return figure


def difference(ax: "Axes", fall: Candidate, measure: str) -> None:
    """One panel of Figure 10: the resamples, their middle 90 % shaded, the margins dashed."""
    found = fall.equivalence[measure]
    if (draws := known(found.draws)).size:
        ax.hist(100 * draws, bins=40, color="tab:blue" if found.equivalent else "tab:orange")
        ax.axvspan(100 * found.ci.low, 100 * found.ci.high, color="tab:gray", alpha=0.3)
    for margin in () if np.isnan(found.eta) else (-found.eta, found.eta):
        ax.axvline(100 * margin, color="tab:red", linestyle="--", linewidth=1)
    ax.set_xlabel(
        "δ (% points), 90 % interval, ±η: " + ("equivalent" if found.equivalent else "not equivalent"), fontsize=5
    )
    ax.set_yticks([])
    ax.tick_params(axis="x", labelsize=6)


def f13(pool: Pool, _: str | None) -> "Figure":
    """Figure 13: accuracy and F1 on what one, two, three and four detectors flag, a line a model."""
    homes = F13.homes(pool)
    figure, axes = panels([3.5] * len(homes), len(DRAWN), 9)
    for line, (split, found) in zip(axes, homes.items(), strict=True):
        names = F13.named(found)
        for ax, measure in zip(line, DRAWN, strict=True):
            for each in found:
                trend(ax, each, measure, one_line(names[id(each.blocks[0])] + each.blocks[0].mark))
            ax.set_ylabel(f"{HEADS[measure]} (%), with the 95 % interval", fontsize=8)
            ax.set_xlabel("number of detectors", fontsize=8)
            ax.set_title(
                f"{one_line(split)}, {found[0].named(HARD)}, {benchmark(found)}, {answered(found)}", fontsize=8
            )
            ax.xaxis.get_major_locator().set_params(integer=True)
            ax.legend(fontsize=6)
    return figure


def trend(ax: "Axes", found: Compared, measure: str, label: str) -> None:
    """One model's line."""
    name = found.named(HARD)
    numbers = [measured(b.counts(name), b.strata(name), b.images(name), b.seed)[measure] for b in found.blocks]
    counts = [len(detectors(block)) for block in found.blocks]
    shown = [(count, number) for count, number in zip(counts, numbers, strict=True) if number.known]
    values = [100 * (number.value or 0) for _, number in shown]
    (line,) = ax.plot([count for count, _ in shown], values, marker="o", markersize=4, label=label)
    for count, number in shown:
        low, high = number.ci or (number.value or 0,) * 2
        ax.vlines(count, 100 * low, 100 * high, color=line.get_color(), alpha=0.4, linewidth=3)


def by_set(found: Sequence[AnyFall]) -> list[list[AnyFall]]:
    """The falls to each set, without reasoning and with."""
    kinds: dict[tuple[str, str], list[AnyFall]] = {}
    for fall in found:
        kinds.setdefault((fall.block.mark, fall.name), []).append(fall)
    return [of for _, of in sorted(kinds.items(), key=lambda item: (item[0][0], item[0][1] == HARD))]


def headings(found: Sequence[Sequence[AnyFall]]) -> list[tuple[str, Sequence[AnyFall]]]:
    """The falls from the same pairs, under the names of their data sets and what tells them apart."""
    cases = [entries_of([fall.block for fall in of]) for of in found]
    return list(zip(told_apart([joined(of[0].block) for of in found], cases, MARKED), found, strict=True))


def beside(head: str, falls: Sequence[Fall]) -> str:
    """What stands at a row's left end, in lines that are no longer than the row is high."""
    return fill(f"{one_line(head)}, {sizes(falls)}", WRAP, break_on_hyphens=False)


def sizes(falls: Sequence[Fall]) -> str:
    """How many answers there are."""
    return counted(sorted({fall.n for fall in falls}))


def answered(found: Sequence[Compared]) -> str:
    """How many answers there are to what detectors flag."""
    return counted(sorted({int(b.counts(each.named(HARD))[:, :4].sum()) for each in found for b in each.blocks}))


FIGURES: Mapping[str, Callable[[Pool, str | None], "Figure"]] = {
    "oodbench-F9": f9,
    "oodbench-F10": f10,
    "oodbench-F13": f13,
}
