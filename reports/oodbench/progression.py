"""Measures of progression (existence, counting, logic): Tables 3 and 14 to 17 of arXiv 2602.18094."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eyechart.metrics.degenerate_intervals import share_interval
from eyechart.metrics.resampling import cluster_bootstrap_totals

from ..answers import Floats, Ints
from ..render import Cell, NumberCell, Row, Table
from ..runs import CaseRun, ComparableCases, Runs
from .cases import (
    BOOTSTRAP,
    DATA_OPTIONS,
    PROGRESSION,
    data_notes,
    group_by_division,
    group_by_model,
    metric_number,
    nothing_to_show,
    pool_data_sets,
    published_order,
    set_label,
    set_order,
    source_name,
    with_unique_titles,
)
from .pairs import PREDICTIONS, Columns, read_artifact

MEASURES = {"E-Acc": "e", "C-Acc": "c", "L-Acc": "l"}
STAGES = ("existence", "counting", "logic")  # the questions of the measures
TIMES = 2000
MEANING = (
    "E: is the first category there? C: how many of the second are there? L: are there more of the first than second?",
    "An answer to L counts only where that to C is right, too.",
    BOOTSTRAP.format("images"),
)


@dataclass(frozen=True)
class Samples:
    """The samples of one case: image, set, and whether E, C and L are correct (m, 3), NaN for no answer."""

    images: Ints
    sets: tuple[str, ...]
    correct: Floats

    def in_set(self, name: str) -> tuple[Ints, Ints]:
        """Return the images of a set's samples, and (correct, answered) of each measure (m, 6)."""
        chosen = np.array([set_name == name for set_name in self.sets], bool)
        right = self.correct[chosen]
        rows = np.column_stack((np.nan_to_num(right), ~np.isnan(right))).astype(np.int64)
        return self.images[chosen], rows


def samples_from_columns(columns: Columns) -> Samples:
    """Return the samples of the columns of a CSV file."""
    questions = [np.flatnonzero(np.array(columns["question"]) == stage) for stage in STAGES]
    samples = np.array(columns["sample"])[np.array(questions)]  # raises ValueError if a question is missing
    if (samples != samples[0]).any():
        raise ValueError("a sample has not each question once")
    keys = {key: place for place, key in enumerate(dict.fromkeys(columns["key"]))}
    correct = np.array([float(cell or "nan") for cell in columns["correct"]], np.float64)
    images = np.array([keys[columns["key"][row]] for row in questions[0]], np.int64)
    return Samples(images, tuple(columns["subset"][row] for row in questions[0]), correct[np.array(questions)].T)


def t3(pool: Runs, _: str | None) -> list[Table]:
    """Return Table 3: E-, C- and L-accuracy by model and set, all data sets pooled."""
    groups = pool_data_sets(pool, PROGRESSION)
    if not groups:
        what = "shows how far models come from recognising to comparing"
        raise nothing_to_show(pool, "oodbench-T3", what, 'pytest -k "oodbench and progression"')
    return with_unique_titles([t3_table(entries) for entries in groups], groups)


def t3_table(entries: Sequence[CaseRun]) -> Table:
    """Return the table of one settings with one row per model and set."""
    rows = [row for of in group_by_model(entries).values() for row in pooled_rows(of)]
    names = dict.fromkeys(map(source_name, sorted(entries, key=published_order)))
    pooling_note = (
        "Samples of all data sets are pooled, so that each counts by its size; images are drawn within data sets."
    )
    return Table(
        f"OODBench: progression (%), {' + '.join(names)} pooled",
        ("Model", "Data", "Data Type", *MEASURES),
        tuple(rows),
        (*MEANING, pooling_note, *data_notes(entries)),
        {"asked": entries[0].prompt_settings_without(DATA_OPTIONS)},
    )


def pooled_rows(entries: Sequence[CaseRun]) -> list[Row]:
    """Return the rows of one model; a single data set has the metrics of its record."""
    entries = sorted(entries, key=published_order)
    data = " + ".join(map(source_name, entries))
    if len(entries) == 1:
        return [
            (entries[0].model, data, set_label(name), *recorded_cells(entries[0], name))
            for name in case_sets(entries[0])
        ]
    read_back = [read_artifact(entry.record, entry.folder, PREDICTIONS, samples_from_columns) for entry in entries]
    names = sorted({name for entry in entries for name in case_sets(entry)}, key=set_order)
    return [(entries[0].model, data, set_label(name), *pooled_cells(read_back, name)) for name in names]


def pooled_cells(cases: Sequence[Samples], name: str) -> list[NumberCell]:
    """Return the three measures of a set over several data sets; images are resampled within each data set."""
    parts = [case.in_set(name) for case in cases]
    total = sum((rows.sum(axis=0) for _, rows in parts), np.zeros(2 * len(MEASURES), np.int64))
    seeded = enumerate(parts)
    draws = np.add.reduce(
        [cluster_bootstrap_totals(rows, images, TIMES, seed) for seed, (images, rows) in seeded if len(rows)]
    )
    units = sum(len(np.unique(images)) for images, _ in parts)
    return [pooled_share(total, draws, place, units) for place in range(len(MEASURES))]


def pooled_share(total: Ints, draws: Ints, place: int, units: int) -> NumberCell:
    """Return one share with its bootstrap interval."""
    n = int(total[len(MEASURES) + place])
    if not n:
        return NumberCell(None, 0)
    value = float(total[place] / n)
    with np.errstate(invalid="ignore"):
        low, high = share_interval(draws[:, place] / draws[:, len(MEASURES) + place], value, units)
    return NumberCell(value, n, (low, high))


def case_sets(entry: CaseRun) -> list[str]:
    """Return the sets of a case."""
    return sorted({metric.subset for metric in entry.record.metrics if metric.name == "e_acc"}, key=set_order)


def recorded_cells(entry: CaseRun, name: str) -> list[Cell]:
    """Return the three measures of a set from the record of a case."""
    return [metric_number(entry, f"{measure}_acc", name) for measure in MEASURES.values()]


def source_tables(name: str, wanted: str) -> Callable[[Runs, str | None], list[Table]]:
    """Return the function of Tables 14 to 17: E-, C- and L-accuracy and time by model and set of one data set."""

    def build(pool: Runs, _: str | None) -> list[Table]:
        groups = [group for group in group_by_division(pool, PROGRESSION) if source_name(group.cases[0]) == wanted]
        if not groups:
            what = f"shows how far models come from recognising to comparing on {wanted}"
            command = f'pytest -k "oodbench and progression" --eye-data=ROOT, where ROOT holds {wanted}'
            raise nothing_to_show(pool, name, what, command)
        return with_unique_titles([source_table(group, wanted) for group in groups], [group.cases for group in groups])

    return build


def source_table(group: ComparableCases, wanted: str) -> Table:
    """Return the table of one division of one data set."""
    rows: list[Row] = [
        (entry.model, set_label(name), *recorded_cells(entry, name), set_time(entry, name))
        for entry in group.cases
        for name in case_sets(entry)
    ]
    return Table(
        f"{group.title}: {wanted}, progression (%)",
        ("Model", "Data Type", *MEASURES, "Time"),
        tuple(rows),
        (*MEANING, time_note(group.cases), *data_notes(group.cases)),
        {"split": group.title, "asked": group.cases[0].prompt_settings},
    )


def time_note(entries: Sequence[CaseRun]) -> str:
    """Return a note about the column Time and the devices of the models."""
    devices = {entry.model: entry.record.model.device for entry in entries}
    used = "".join(f" {model} on {device}." for model, device in devices.items() if device)
    meaning = "Time: how long it took to ask, of the set that was asked first with a model's start"
    return f"{meaning}; kept: answers of an earlier run.{used}"


def set_time(entry: CaseRun, name: str) -> str | None:
    """Return the time of a set, "kept" if answers come from an earlier run; None for a replay."""
    usage = entry.record.usage
    timing = usage.sets.get(name) if usage else None
    if timing is None or entry.record.model.backend == "replay":
        return None
    if timing.fresh < timing.answers:
        return "kept"
    minutes, seconds = divmod(round(timing.seconds), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"


TABLES: Mapping[str, Callable[[Runs, str | None], list[Table]]] = {"oodbench-T3": t3} | {
    name: source_tables(name, wanted)
    for name, wanted in {
        "oodbench-T14": "COCO",
        "oodbench-T15": "LVIS",
        "oodbench-T16": "nuScenes",
        "oodbench-T17": "Cityscapes",
    }.items()
}
