"""How detectors' logits and probabilities lie: Figures 14 to 16 of arXiv 2602.18094."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eyechart.spec import split_outside_brackets

from ..answers import Floats, Ints
from ..render import NumberCell, NumberFormat, Row, Table
from ..runs import CaseRun, ComparableCases, Runs
from .cases import DETECTION, EXISTENCE, PROGRESSION, about, alike, distinct, nothing
from .pairs import Columns, read

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
class Bins:
    """A histogram, its bins in ascending order: (bins,) ends and counts."""

    low: Floats
    high: Floats
    count: Ints

    @property
    def n(self) -> int:
        """How many values there are."""
        return int(self.count.sum())

    @property
    def rows(self) -> list[tuple[float, float, int]]:
        """Each bin's ends and its count."""
        return list(zip(self.low.tolist(), self.high.tolist(), self.count.tolist(), strict=True))

    @cached_property
    def below(self) -> Floats:
        """(bins + 1,) the share of the values below each bin, and all of them."""
        return np.concatenate(([0.0], np.cumsum(self.count) / self.n))

    def quantile(self, q: float) -> float:
        """The value that a share q lies below, as if values were spread evenly within their bin."""
        place = int(np.clip(np.searchsorted(self.below, q) - 1, 0, len(self.count) - 1))
        part = (q - self.below[place]) / (self.below[place + 1] - self.below[place])
        return float(self.low[place] + np.clip(part, 0, 1) * (self.high[place] - self.low[place]))

    def number(self, q: float) -> NumberCell:
        """A quantile with the interval between the order statistics that hold it at 95 %; few values have no such."""
        from scipy.stats import binom  # half a second that few tables need

        low, high = binom.ppf(0.025, self.n, q), binom.ppf(0.975, self.n, q) + 1
        sure = low >= 1 and high <= self.n
        ends = (self.quantile((low - 0.5) / self.n), self.quantile((high - 0.5) / self.n)) if sure else None
        return NumberCell(self.quantile(q), ci=ends, style=VALUE)


Kind = tuple[str, str]
Logits = Mapping[Kind, Mapping[str, Bins]]  # by kind, then by category


@dataclass(frozen=True)
class Distributed:
    """One detector's histograms of one data set."""

    group: ComparableCases
    entry: CaseRun
    logits: Logits

    @cached_property
    def overall(self) -> Mapping[Kind, Bins]:
        """All categories together."""
        return {kind: merged(found.values()) for kind, found in self.logits.items()}

    @property
    def categories(self) -> list[str]:
        """The categories, those with most pairs first."""
        present = self.logits.get((LOGIT, "1"), {})
        names = dict.fromkeys(name for found in self.logits.values() for name in found)
        return sorted(names, key=lambda name: (-present[name].n if name in present else 0, name))


def histograms(found: Columns) -> Logits:
    """The columns of a csv of bins."""
    kinds = list(zip(found["what"], found["present"], strict=True))
    bins = list(zip(map(float, found["low"]), map(float, found["high"]), map(int, found["count"]), strict=True))
    rows: dict[Kind, dict[str, list[tuple[float, float, int]]]] = {}
    for kind, name, each in zip(kinds, found["name"], bins, strict=True):
        rows.setdefault(kind, {}).setdefault(name, []).append(each)
    order = sorted(rows, key=lambda kind: [*KINDS].index(kind) if kind in KINDS else len(KINDS))
    return {kind: {name: counted(each) for name, each in rows[kind].items()} for kind in order}


def counted(bins: Iterable[tuple[float, float, int]]) -> Bins:
    """Bins in ascending order, those with equal ends as one; empty ones are left out."""
    counts: dict[tuple[float, float], int] = {}
    for low, high, count in bins:
        counts[low, high] = counts.get((low, high), 0) + count
    kept = sorted((ends, count) for ends, count in counts.items() if count)
    ends = np.array([ends for ends, _ in kept], np.float64).reshape(-1, 2)
    return Bins(ends[:, 0], ends[:, 1], np.array([count for _, count in kept], np.int64))


def merged(found: Iterable[Bins]) -> Bins:
    """Several histograms with one set of bins as one."""
    return counted(each for bins in found for each in bins.rows)


def distributed(pool: Runs, name: str) -> list[list[Distributed]]:
    """The detectors of every data set, in the order in which they divided it, else by name."""
    order = divided_by(pool)
    found = []
    for group in alike(pool, DETECTION):
        entries = sorted(group.cases, key=lambda e: (order.get(e.record.model.spec, len(order)), e.model))
        found.append([Distributed(group, e, read(e.record, e.folder, "logits", histograms)) for e in entries])
    if not found:
        raise nothing(pool, name, "shows how detectors' logits lie", COMMAND)
    return found


def divided_by(pool: Runs) -> dict[str, int]:
    """The place of each detector among those that divided, in the first case that has it."""
    entries = (e for group in pool.groups for e in group.with_protocols(EXISTENCE, PROGRESSION).cases)
    found: dict[str, int] = {}
    for entry in entries:
        for place, spec in enumerate(split_outside_brackets(entry.option("detectors"), "+")):
            found.setdefault(spec, place)
    return found


def f14(pool: Runs, _: str | None) -> list[Table]:
    """Figure 14 as a table: all categories together, a row a detector and kind of value."""
    found = distributed(pool, "oodbench-F14")
    return distinct(list(map(overall_table, found)), [of[0].group.cases for of in found])


def overall_table(found: Sequence[Distributed]) -> Table:
    """The detectors of one data set."""
    rows = [(each.entry.model, *cells(kind, bins)) for each in found for kind, bins in each.overall.items()]
    group = found[0].group
    return Table(
        f"{group.title}: detectors' logits and probabilities",
        ("Detector", *heads()),
        tuple(rows),
        (*MEANING, *about(group.cases)),
        {"split": group.title, "asked": group.cases[0].prompt_settings},
    )


def heads() -> list[str]:
    """The columns that both tables share."""
    return ["Values", "Num", *(f"{100 * q:g} %" for q in QUANTILES)]


def cells(kind: Kind, bins: Bins) -> Row:
    """One histogram's cells."""
    return KINDS.get(kind, ", ".join(kind)), bins.n, *map(bins.number, QUANTILES)


def f15(pool: Runs, _: str | None) -> list[Table]:
    """Figure 15 as a table: every category of the first detector."""
    return by_category(firsts(pool))


def f16(pool: Runs, _: str | None) -> list[Table]:
    """Figure 16 as a table: every category of the second detector, and of those after it."""
    return by_category(others(pool))


def by_category(found: Sequence[Distributed]) -> list[Table]:
    """A table a detector and data set."""
    return distinct(list(map(category_table, found)), [[each.entry] for each in found])


def firsts(pool: Runs) -> list[Distributed]:
    """The first detector of every data set."""
    return [each for each, *_ in distributed(pool, "oodbench-F15")]


def others(pool: Runs) -> list[Distributed]:
    """The other detectors."""
    found = [each for _, *rest in distributed(pool, "oodbench-F16") for each in rest]
    if not found:
        raise nothing(pool, "oodbench-F16", "shows a second detector's logits, of which there is none", COMMAND)
    return found


def category_table(found: Distributed) -> Table:
    """One detector and data set."""
    rows: list[Row] = [
        (name, *cells(kind, bins[name]))
        for name in found.categories
        for kind, bins in found.logits.items()
        if name in bins
    ]
    return Table(
        f"{found.group.title}: {found.entry.model}, logits and probabilities by category",
        ("Category", *heads()),
        tuple(rows),
        (*MEANING, *about([found.entry])),
        {"split": found.group.title, "detector": found.entry.model, "asked": found.entry.prompt_settings},
    )
