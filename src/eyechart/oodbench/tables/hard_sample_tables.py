"""Comparison of hard samples with OOD pairs: Table 8 and Figure 11 of arXiv 2602.18094."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from eyechart.oodbench.division.pairs import HARD_SAMPLES, ID, OOD_H
from eyechart.oodbench.tables.existence_tables import SET, chance_cells, with_chance
from eyechart.oodbench.tables.measure_columns import HEADS
from eyechart.oodbench.tables.pair_pages import (
    BOOTSTRAP,
    EXISTENCE,
    OODBENCH,
    PAPER,
    division_page,
    group_by_division,
    set_label,
)
from eyechart.reports.figures.charts import FigureDefinition
from eyechart.reports.figures.panels import LEGEND_ASIDE, format_counts, set_title
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import FRACTION, NumberFormat, one_line
from eyechart.reports.tables.selection import Page, with_suffixes
from eyechart.results.frames import select_metrics
from eyechart.statistics.array_types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SETS = (ID, OOD_H, HARD_SAMPLES)
FALL, P = "ID − Accuracy", "p"
DELTAS = {HARD_SAMPLES: "ID − Hard", OOD_H: "ID − OOD-H"}
DELTA_STYLE = NumberFormat(100, 2, signed=True)
FALL_FORMATS = {
    f"{head}{suffix}": style for head in DELTAS.values() for suffix, style in (("", DELTA_STYLE), (" p", FRACTION))
}
COMMAND = 'pytest -k "oodbench and existence" --eye-set=existence.hard_samples=own'
SHUFFLED = "p: how often sets of shuffled images fall as far, one-sided, with its Monte Carlo interval."
COLOURS = {HARD_SAMPLES: "tab:blue", OOD_H: "tab:red"}
WIDTH = 0.38


@dataclass(frozen=True)
class _Trend:
    """A curve fitted to values at x = 1, 2, 3, …: `height` · exp(`rate` · x), or a line if a value is not positive."""

    kind: str
    rate: float
    height: float

    def __call__(self, x: Floats) -> Floats:
        """Return the values of the curve at x."""
        values = self.height * np.exp(self.rate * x) if self.kind == "exponential" else self.height + self.rate * x
        return np.asarray(values, np.float64)

    def __str__(self) -> str:
        if self.kind == "exponential":
            return f"{100 * self.height:.2f} · exp({self.rate:.3f} x)"
        return f"{100 * self.height:.2f} {100 * self.rate:+.2f} x"


def _fit_trend(values: Sequence[float]) -> _Trend | None:
    """Return the least-squares trend (of logarithms if exponential), None for fewer than two values."""
    x, y = np.arange(1, len(values) + 1, dtype=np.float64), np.asarray(values, np.float64)
    if len(y) < 2 or np.isnan(y).any():
        return None
    if (y > 0).all():
        rate, height = np.polyfit(x, np.log(y), 1)
        return _Trend("exponential", float(rate), float(np.exp(height)))
    rate, height = np.polyfit(x, y, 1)
    return _Trend("linear", float(rate), float(height))


def hard_sample_pages(runs: Runs, _: str | None, *, models: int = 1) -> list[Page]:
    """Return a page per division and settings with hard samples and at least some number of models."""
    groups = [
        group.select(case for case in group.cases if case.metric("acc", OODBENCH, HARD_SAMPLES))
        for group in group_by_division(runs, EXISTENCE)
    ]
    return with_suffixes([division_page(group) for group in groups if len(group.cases) >= models])


def _hard_sample_cells(page: Page) -> pd.DataFrame:
    """Return the measures of each set with the degradation from ID, after those of random answers."""
    numbers = {name: page.metrics[page.metrics["subset"] == name] for name in SETS}
    columns = {head: {"labels": OODBENCH, "metric": name} for name, head in HEADS.items()}
    falls = {FALL: {"labels": OODBENCH, "metric": "acc_delta"}, P: {"labels": OODBENCH, "metric": "acc_p"}}
    parts = [chance_cells([*columns], "-")]
    for name in SETS:
        cells = select_metrics(numbers[name], columns if name == ID else columns | falls).assign(
            **{SET: set_label(name)}
        )
        parts.append(cells[cells["column"] == HEADS["acc"]][["row", SET, "n"]].rename(columns={"n": "count"}))
        parts[-1]["column"] = "Num"
        parts.append(cells.drop(columns="n"))
    return pd.concat(parts, ignore_index=True)


def _source_notes(page: Page) -> Iterable[str]:
    return dict.fromkeys(f"Hard samples: {case.option('hard_samples')}." for case in page.cases)


HARD = TableDefinition(
    name="oodbench-hard-samples",
    alias="oodbench-T8",
    source=PAPER,
    summary="How well models recognise categories in distribution, out of distribution, and in hard samples.",
    pages=lambda runs, labels: [*map(with_chance, hard_sample_pages(runs, labels))],
    needs="compares hard samples with pairs out of distribution",
    command=COMMAND,
    title="{page}: ID, OOD-H and hard samples (%)",
    cells=_hard_sample_cells,
    rows=("Model", SET),
    columns=("Num", *HEADS.values(), FALL, P),
    notes=(BOOTSTRAP.format("images with all their pairs"), f"Num: answers. {SHUFFLED}", _source_notes),
    formats={FALL: DELTA_STYLE, P: FRACTION},
)


def _sorted_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return the pages of hard samples with the models by ascending degradation on hard samples."""

    def degradation(case: CaseRun) -> float:
        metric = case.metric("acc_delta", OODBENCH, HARD_SAMPLES)
        return metric.value or 0.0 if metric else 0.0

    pages = []
    for page in hard_sample_pages(runs, labels):
        cases = tuple(sorted(page.cases, key=degradation))
        pages.append(replace(page, cases=cases, names=pd.DataFrame({"Model": [case.model for case in cases]})))
    return pages


def _degradation_cells(page: Page) -> pd.DataFrame:
    """Return the degradation of accuracy from ID to hard samples and to OOD-H, with p-values."""
    columns = {
        f"{head}{suffix}": {"labels": OODBENCH, "subset": name, "metric": metric}
        for name, head in DELTAS.items()
        for suffix, metric in (("", "acc_delta"), (" p", "acc_p"))
    }
    cells = select_metrics(page.metrics, columns)
    return cells.assign(n=cells["n"].where(cells["metric"] == "acc_delta"))


def _fit_degradation(page: Page, cells: pd.DataFrame, column: str) -> _Trend | None:
    """Return the trend of the degradations on one set over the models in table order."""
    falls = cells[cells["column"] == column].set_index("row")["value"].reindex(range(len(page.cases)))
    return _fit_trend(falls.to_list())


def _trend_notes(page: Page) -> Iterator[str]:
    cells = _degradation_cells(page)
    trends = {head: _fit_degradation(page, cells, head) for head in DELTAS.values()}
    yield from (f"Trend of {head}, x = 1 for the first model: {curve}." for head, curve in trends.items() if curve)


HARD_DEGRADATION = replace(
    HARD,
    name="oodbench-hard-sample-degradation",
    alias="oodbench-F11",
    summary="How far accuracy falls from pairs in distribution to hard samples and to OOD-H, with the trends.",
    pages=_sorted_pages,
    title="{page}: falls of accuracy from ID (percentage points)",
    cells=_degradation_cells,
    rows=("Model",),
    columns=tuple(FALL_FORMATS),
    notes=(
        _trend_notes,
        BOOTSTRAP.format("images with all their pairs"),
        f"n: answers to both sets. {SHUFFLED}",
    ),
    formats=FALL_FORMATS,
)
TABLES = (HARD, HARD_DEGRADATION)


def _draw_degradations(ax: "Axes", page: Page, cells: pd.DataFrame) -> None:
    models = page.names["Model"]
    for side, (name, head) in zip((-0.5, 0.5), DELTAS.items(), strict=True):
        falls = cells[cells["column"] == head]
        at = falls["row"] + side * WIDTH
        ax.bar(at, 100 * falls["value"].fillna(0), WIDTH, color=COLOURS[name], label=head)
        ax.vlines(at, 100 * falls["low"].fillna(0), 100 * falls["high"].fillna(0), color="black", linewidth=1)
        if curve := _fit_degradation(page, cells, head):
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


FIGURES = (HARD_SAMPLE_CHART,)
