"""Comparison of hard samples with OOD pairs: Table 8 and Figure 11 of arXiv 2602.18094."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eyechart.oodbench.division import HARD_SAMPLES, ID, OOD_H

from ..answers import Floats, clustered_proportion
from ..render import FRACTION, NumberCell, NumberFormat, Row, Table
from ..runs import CaseRun, ComparableCases, Runs
from .cases import metric_number, nothing_to_show, with_unique_titles
from .division import DIVISION
from .pages import BOOTSTRAP, EXISTENCE, OODBENCH, data_notes, group_by_division, set_label
from .pairs import Columns, read_artifact

HEADS = {"acc": "Accuracy", "f1": "F1", "precision": "Precision", "recall": "Recall", "mcc": "MCC"}
SETS = (ID, OOD_H, HARD_SAMPLES)
CHANCE_CELLS = (*(NumberCell(0.5) for name in HEADS if name != "mcc"), NumberCell(0.0))
DELTAS = {HARD_SAMPLES: "ID − Hard", OOD_H: "ID − OOD-H"}
DELTA_STYLE = NumberFormat(100, 2, signed=True)
COMMAND = 'pytest -k "oodbench and existence" --eye-set=existence.hard_samples=own'
SHUFFLED = "p: how often sets of shuffled images fall as far, one-sided, with its Monte Carlo interval."


@dataclass(frozen=True)
class Trend:
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


def fit_trend(values: Sequence[float]) -> Trend | None:
    """Return the least-squares trend (of logarithms if exponential), None for fewer than two values."""
    x, y = np.arange(1, len(values) + 1, dtype=np.float64), np.asarray(values, np.float64)
    if len(y) < 2 or np.isnan(y).any():
        return None
    if (y > 0).all():
        rate, height = np.polyfit(x, np.log(y), 1)
        return Trend("exponential", float(rate), float(np.exp(height)))
    rate, height = np.polyfit(x, y, 1)
    return Trend("linear", float(rate), float(height))


def hard_sample_groups(pool: Runs, name: str, least: int = 1) -> list[ComparableCases]:
    """Return the cases with hard samples, grouped by division."""
    candidates = (
        group.select(entry for entry in group.cases if entry.metric("acc", OODBENCH, HARD_SAMPLES) is not None)
        for group in group_by_division(pool, EXISTENCE)
    )
    groups = [group for group in candidates if len(group.cases) >= least]
    if not groups:
        several = "" if least == 1 else f", in {least} models or more"
        command = COMMAND + " --eye-model=A --eye-model=B" * (least > 1)
        raise nothing_to_show(pool, name, f"compares hard samples with pairs out of distribution{several}", command)
    return groups


def t8(pool: Runs, _: str | None) -> list[Table]:
    """Return Table 8: one row each for ID, OOD-H and hard samples."""
    return build_tables(hard_sample_groups(pool, "oodbench-T8"), t8_table)


def build_tables(groups: Sequence[ComparableCases], make: Callable[[ComparableCases], Table]) -> list[Table]:
    """Return one table per group, all with different titles."""
    return with_unique_titles(list(map(make, groups)), [group.cases for group in groups])


def t8_table(group: ComparableCases) -> Table:
    """Return the table of one division."""
    chance: Row = ("Random Chance", "-", None, *CHANCE_CELLS, None, None)
    rows = [measure_row(entry, name) for entry in group.cases for name in SETS]
    mined = dict.fromkeys(f"Hard samples: {entry.option('hard_samples')}." for entry in group.cases)
    return Table(
        f"{group.title}: ID, OOD-H and hard samples (%)",
        ("Model", "Data Type", "Num", *HEADS.values(), "ID − Accuracy", "p"),
        (chance, *rows),
        (
            BOOTSTRAP.format("images with all their pairs"),
            f"Num: answers. {SHUFFLED}",
            *mined,
            *data_notes(group.cases),
        ),
        {"split": group.title, "asked": group.cases[0].prompt_settings},
    )


def measure_row(entry: CaseRun, name: str) -> Row:
    """Return the row of one set and model, with the degradation from ID."""
    numbers = [replace(metric_number(entry, measure, name), n=None) for measure in HEADS]
    accuracy = entry.metric("acc", OODBENCH, name)
    fall_cells = (None, None) if name == ID else tuple(replace(cell, n=None) for cell in degradation_cells(entry, name))
    return entry.model, set_label(name), accuracy.n if accuracy else 0, *numbers, *fall_cells


def degradation_cells(entry: CaseRun, name: str) -> tuple[NumberCell, NumberCell]:
    """Return the degradation of accuracy from ID to a set and its p-value."""
    far, chance = (metric_number(entry, f"acc_{what}", name) for what in ("delta", "p"))
    return replace(far, style=DELTA_STYLE), replace(chance, style=FRACTION, n=None)


def f11(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 11 as a table: the degradation of each model on hard samples and on OOD-H."""
    return build_tables(hard_sample_groups(pool, "oodbench-F11"), f11_table)


def sorted_by_degradation(group: ComparableCases) -> list[CaseRun]:
    """Return the cases of a division by ascending degradation on hard samples."""
    return sorted(group.cases, key=lambda entry: metric_number(entry, "acc_delta", HARD_SAMPLES).value or 0.0)


def f11_table(group: ComparableCases) -> Table:
    """Return the table of one division."""
    entries = sorted_by_degradation(group)
    rows: list[Row] = [
        (entry.model, *(cell for name in DELTAS for cell in degradation_cells(entry, name))) for entry in entries
    ]
    return Table(
        f"{group.title}: falls of accuracy from ID (percentage points)",
        ("Model", *(head for label in DELTAS.values() for head in (label, f"{label} p"))),
        tuple(rows),
        (
            *trend_notes(entries),
            BOOTSTRAP.format("images with all their pairs"),
            f"n: answers to both sets. {SHUFFLED}",
            *data_notes(entries),
        ),
        {"split": group.title, "asked": group.cases[0].prompt_settings},
    )


def trend_notes(entries: Sequence[CaseRun]) -> list[str]:
    """Return notes with the trend of each degradation over the models in table order."""
    trends = {head: fit_degradation(entries, name) for name, head in DELTAS.items()}
    return [f"Trend of {head}, x = 1 for the first model: {curve}." for head, curve in trends.items() if curve]


def fit_degradation(entries: Sequence[CaseRun], name: str) -> Trend | None:
    """Return the trend of the degradations on one set."""
    falls = [metric_number(entry, "acc_delta", name).value for entry in entries]
    return fit_trend([np.nan if value is None else value for value in falls])


def overlap_rows(entry: CaseRun) -> list[Row]:
    """Return two rows: the share of OOD-H pairs that are hard samples, and the share of hard samples in OOD-H."""
    ood, mined = read_artifact(entry.record, entry.folder, DIVISION, overlap_shares)
    return [
        ("5", "OOD-H that is hard samples (%)", ood, None, None),
        ("5", "hard samples that are OOD-H (%)", mined, None, None),
    ]


def overlap_shares(columns: Columns) -> tuple[NumberCell, NumberCell]:
    """Return the share of OOD-H pairs that are hard samples, and the share of hard samples that are OOD-H pairs.

    A hard sample is an OOD-H pair if all detectors fail on it, even if the set OOD-H does not list it.
    """
    rows = list(zip(columns["key"], columns["category"], columns["set"], columns["flags"], strict=True))
    ood = {(key, category) for key, category, name, _ in rows if name == OOD_H}
    mined = {(key, category): flags for key, category, name, flags in rows if name == HARD_SAMPLES}
    ood |= {pair for pair, flags in mined.items() if flags and "0" not in flags}
    images = {key: place for place, key in enumerate(dict.fromkeys(columns["key"]))}

    def share(of: Iterable[tuple[str, str]], among: Collection[tuple[str, str]]) -> NumberCell:
        pairs = sorted(of)
        correct = np.array([pair in among for pair in pairs], bool)
        return clustered_proportion(correct, np.array([images[key] for key, _ in pairs], np.int64))

    return share(ood, mined), share(mined, ood)
