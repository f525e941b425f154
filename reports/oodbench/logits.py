"""Distributions of detectors' logits and probabilities: Figures 14 to 16 of arXiv 2602.18094."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eyechart.spec import split_outside_brackets

from ..answers import Floats, Ints
from ..render import NumberCell, NumberFormat, Row, Table
from ..runs import CaseRun, ComparableCases, Runs
from .cases import nothing_to_show, with_unique_titles
from .pages import DETECTION, EXISTENCE, PROGRESSION, data_notes, group_by_division
from .pairs import Columns, read_artifact

LOGIT, PROBABILITY = "logit", "probability"
KINDS = {(LOGIT, "1"): "logit, present", (LOGIT, "0"): "logit, absent", (PROBABILITY, "1"): "probability, present"}
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
VALUE = NumberFormat(1, 3)
COMMAND = 'pytest -k "oodbench and detection" --eye-model=A --eye-model=B'
MEANING = (
    "Quantiles, off by a bin's width at most. Brackets: 95 % intervals, from order statistics, where there are enough.",
    "Probability: of a category that is present, the image's other categories taken out of the softmax (purified).",
)


@dataclass(frozen=True)
class Histogram:
    """A histogram: lower ends, upper ends and counts (bins,), in ascending order."""

    low: Floats
    high: Floats
    count: Ints

    @property
    def n(self) -> int:
        """The number of values."""
        return int(self.count.sum())

    @property
    def rows(self) -> list[tuple[float, float, int]]:
        """The ends and the count of each bin."""
        return list(zip(self.low.tolist(), self.high.tolist(), self.count.tolist(), strict=True))

    @cached_property
    def cumulative(self) -> Floats:
        """The share of the values below each bin, and 1, (bins + 1,)."""
        return np.concatenate(([0.0], np.cumsum(self.count) / self.n))

    def quantile(self, q: float) -> float:
        """Return the q-quantile, assuming a uniform distribution within each bin."""
        place = int(np.clip(np.searchsorted(self.cumulative, q) - 1, 0, len(self.count) - 1))
        part = (q - self.cumulative[place]) / (self.cumulative[place + 1] - self.cumulative[place])
        return float(self.low[place] + np.clip(part, 0, 1) * (self.high[place] - self.low[place]))

    def number(self, q: float) -> NumberCell:
        """Return a quantile with its 95 % interval between order statistics; no interval for too few values."""
        from scipy.stats import binom  # half a second that few tables need

        low, high = binom.ppf(0.025, self.n, q), binom.ppf(0.975, self.n, q) + 1
        sure = low >= 1 and high <= self.n
        ends = (self.quantile((low - 0.5) / self.n), self.quantile((high - 0.5) / self.n)) if sure else None
        return NumberCell(self.quantile(q), ci=ends, style=VALUE)


Kind = tuple[str, str]
Logits = Mapping[Kind, Mapping[str, Histogram]]  # by kind, then by category


@dataclass(frozen=True)
class DetectorHistograms:
    """The histograms of one detector and data set."""

    group: ComparableCases
    entry: CaseRun
    histograms: Logits

    @cached_property
    def overall(self) -> Mapping[Kind, Histogram]:
        """The histograms over all categories."""
        return {kind: merge_histograms(by_category.values()) for kind, by_category in self.histograms.items()}

    @property
    def categories(self) -> list[str]:
        """The categories, by descending number of pairs."""
        present = self.histograms.get((LOGIT, "1"), {})
        names = dict.fromkeys(name for by_category in self.histograms.values() for name in by_category)
        return sorted(names, key=lambda name: (-present[name].n if name in present else 0, name))


def histograms_from_columns(columns: Columns) -> Logits:
    """Return the histograms of the columns of a CSV file of bins."""
    kinds = list(zip(columns["what"], columns["present"], strict=True))
    bins = list(zip(map(float, columns["low"]), map(float, columns["high"]), map(int, columns["count"]), strict=True))
    rows: dict[Kind, dict[str, list[tuple[float, float, int]]]] = {}
    for kind, name, row in zip(kinds, columns["name"], bins, strict=True):
        rows.setdefault(kind, {}).setdefault(name, []).append(row)
    order = sorted(rows, key=lambda kind: [*KINDS].index(kind) if kind in KINDS else len(KINDS))
    return {
        kind: {name: build_histogram(histogram_rows) for name, histogram_rows in rows[kind].items()} for kind in order
    }


def build_histogram(bins: Iterable[tuple[float, float, int]]) -> Histogram:
    """Return a histogram: bins with equal ends are merged, empty bins are dropped."""
    counts: dict[tuple[float, float], int] = {}
    for low, high, count in bins:
        counts[low, high] = counts.get((low, high), 0) + count
    kept = sorted((ends, count) for ends, count in counts.items() if count)
    ends = np.array([ends for ends, _ in kept], np.float64).reshape(-1, 2)
    return Histogram(ends[:, 0], ends[:, 1], np.array([count for _, count in kept], np.int64))


def merge_histograms(histograms: Iterable[Histogram]) -> Histogram:
    """Return the sum of several histograms with the same bins."""
    return build_histogram(row for histogram in histograms for row in histogram.rows)


def detector_histograms(pool: Runs, name: str) -> list[list[DetectorHistograms]]:
    """Return the histograms of every data set, with detectors in the order of the division, else by name."""
    order = detector_order(pool)
    groups = []
    for group in group_by_division(pool, DETECTION):
        entries = sorted(group.cases, key=lambda e: (order.get(e.record.model.spec, len(order)), e.model))
        groups.append(
            [
                DetectorHistograms(group, e, read_artifact(e.record, e.folder, "logits", histograms_from_columns))
                for e in entries
            ]
        )
    if not groups:
        raise nothing_to_show(pool, name, "shows the distributions of detectors' logits", COMMAND)
    return groups


def detector_order(pool: Runs) -> dict[str, int]:
    """Return the position of each detector in the first division that uses it."""
    entries = (e for group in pool.groups for e in group.with_protocols(EXISTENCE, PROGRESSION).cases)
    positions: dict[str, int] = {}
    for entry in entries:
        for place, spec in enumerate(split_outside_brackets(entry.option("detectors"), "+")):
            positions.setdefault(spec, place)
    return positions


def f14(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 14 as a table: all categories together, one row per detector and kind of value."""
    groups = detector_histograms(pool, "oodbench-F14")
    return with_unique_titles(list(map(overall_table, groups)), [of[0].group.cases for of in groups])


def overall_table(detectors: Sequence[DetectorHistograms]) -> Table:
    """Return the table of one data set."""
    rows = [
        (detector.entry.model, *histogram_cells(kind, bins))
        for detector in detectors
        for kind, bins in detector.overall.items()
    ]
    group = detectors[0].group
    return Table(
        f"{group.title}: detectors' logits and probabilities",
        ("Detector", *column_heads()),
        tuple(rows),
        (*MEANING, *data_notes(group.cases)),
        {"split": group.title, "asked": group.cases[0].prompt_settings},
    )


def column_heads() -> list[str]:
    """Return the column heads that both tables share."""
    return ["Values", "Num", *(f"{100 * q:g} %" for q in QUANTILES)]


def histogram_cells(kind: Kind, bins: Histogram) -> Row:
    """Return the cells of one histogram."""
    return KINDS.get(kind, ", ".join(kind)), bins.n, *map(bins.number, QUANTILES)


def f15(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 15 as a table: every category of the first detector."""
    return category_tables(first_detectors(pool))


def f16(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 16 as a table: every category of the second and further detectors."""
    return category_tables(other_detectors(pool))


def category_tables(detectors: Sequence[DetectorHistograms]) -> list[Table]:
    """Return one table per detector and data set."""
    return with_unique_titles(list(map(category_table, detectors)), [[detector.entry] for detector in detectors])


def first_detectors(pool: Runs) -> list[DetectorHistograms]:
    """Return the histograms of the first detector of every data set."""
    return [first for first, *_ in detector_histograms(pool, "oodbench-F15")]


def other_detectors(pool: Runs) -> list[DetectorHistograms]:
    """Return the histograms of the other detectors."""
    detectors = [detector for _, *rest in detector_histograms(pool, "oodbench-F16") for detector in rest]
    if not detectors:
        raise nothing_to_show(pool, "oodbench-F16", "shows a second detector's logits, of which there is none", COMMAND)
    return detectors


def category_table(detector: DetectorHistograms) -> Table:
    """Return the table of one detector and data set."""
    rows: list[Row] = [
        (name, *histogram_cells(kind, bins[name]))
        for name in detector.categories
        for kind, bins in detector.histograms.items()
        if name in bins
    ]
    return Table(
        f"{detector.group.title}: {detector.entry.model}, logits and probabilities by category",
        ("Category", *column_heads()),
        tuple(rows),
        (*MEANING, *data_notes([detector.entry])),
        {"split": detector.group.title, "detector": detector.entry.model, "asked": detector.entry.prompt_settings},
    )
