"""Ablations of the detectors and of their number: Table 9 and Figure 13 of arXiv 2602.18094."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from eyechart.errors import SpecError
from eyechart.metrics.resampling import cluster_bootstrap_totals, percentile_interval
from eyechart.metrics.yes_no import confusion_measures
from eyechart.oodbench.division import OOD_H
from eyechart.protocol.options import SET
from eyechart.spec import parse_spec, split_outside_brackets

from ..answers import Ints
from ..render import NumberCell, NumberFormat, Row
from ..runs import model_name
from .ablations import Ablation, AblationCases
from .measures import HEADS, TIMES, interval_or_none
from .model_cases import ModelCases, measure_cells, model_set_time
from .pages import TIME
from .pairs import Pairs

OPTION = "existence.detectors"
CHOICES = ("detectors", "detector_templates")
DELTA_STYLE = NumberFormat(100, 2, signed=True)
DELTA = (
    "Δ: the value for the first detectors minus that for these, as published; both use the same resamples of images."
)


def detector_specs(block: ModelCases) -> tuple[str, ...]:
    """Return the specifications of a division's detectors."""
    return tuple(split_outside_brackets(block.entries[0].option("detectors"), "+"))


def detectors_label(block: ModelCases) -> str:
    """Return the detectors in the style of Table 9, `A & B`."""
    return " & ".join(map(model_name, detector_specs(block)))


def group_by_count(blocks: Sequence[ModelCases]) -> Iterator[Sequence[ModelCases]]:
    """Yield the cases with each number of detectors, in command order."""
    for count in sorted({len(detector_specs(block)) for block in blocks}):
        yield in_command_order([block for block in blocks if len(detector_specs(block)) == count])


def in_command_order(blocks: Sequence[ModelCases]) -> list[ModelCases]:
    """Return cases in the order of the runs, and within a run in the order of the detectors in its command."""
    runs = list(dict.fromkeys(block.entries[0].folder for block in blocks))
    return sorted(blocks, key=lambda block: (runs.index(block.entries[0].folder), command_position(block)))


def command_position(block: ModelCases) -> int:
    """Return the position of a case's detectors in the command; the end if the command does not name them."""
    values = [
        normalise_specs(value)
        for text in option_values(block.entries[0].record.command)
        for value in split_outside_brackets(text)
    ]
    wanted = "+".join(detector_specs(block))
    known = wanted if wanted in values else "own"
    return values.index(known) if known in values else len(values)


def option_values(command: str) -> list[str]:
    """Return the values of the option, as `--eye-set=existence.detectors=…` or with a space."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    settings = [after for word, after in pairwise(words) if word == SET]
    settings += [word.partition("=")[2] for word in words if word.startswith(f"{SET}=")]
    return [setting.partition("=")[2] for setting in settings if setting.startswith(f"{OPTION}=")]


def normalise_specs(detectors: str) -> str:
    """Return detectors in the spelling of records."""
    try:
        return "+".join(str(parse_spec(spec)) for spec in split_outside_brackets(detectors, "+"))
    except SpecError:
        return detectors


def t9_rows(cases: AblationCases, model: str) -> Iterator[Row]:
    """Yield the OOD-H row of each division, and its difference from the first division."""
    name, (first, *_) = cases.set_label(OOD_H), cases.blocks
    for block in cases.blocks:
        yield (
            model,
            detectors_label(block),
            name + block.suffix,
            *measure_cells(block, name, tuple(HEADS)),
            model_set_time(block, name),
        )
        if block is not first:
            yield model, "Δ", name + block.suffix, None, *difference_cells(first, block, name), None


def difference_cells(first: ModelCases, other: ModelCases, name: str) -> list[NumberCell]:
    """Return the differences of the measures of a set (first minus other), with intervals over the images of both."""
    rows, images = union_tables([block.entries[0].pairs for block in (first, other)], name)
    measures = []
    for totals in (rows.sum(axis=0), cluster_bootstrap_totals(rows, images, TIMES, first.seed)):
        first_measures, other_measures = confusion_measures(totals[..., :4]), confusion_measures(totals[..., 4:])
        measures.append({head: first_measures[head] - other_measures[head] for head in HEADS})
    value, draws = measures
    return [
        NumberCell(float(value[head]), ci=interval_or_none(percentile_interval(draws[head])), style=DELTA_STYLE)
        for head in HEADS
    ]


def union_tables(sides: Sequence[Pairs], name: str) -> tuple[Ints, Ints]:
    """Return the confusion tables of both sides for every pair in either (u, 8), zeros if not in it; its image (u,)."""
    chosen = [(side.in_set(name) & side.answered).nonzero()[0].tolist() for side in sides]
    keys = [[(side.keys[p], int(side.categories[p])) for p in of] for side, of in zip(sides, chosen, strict=True)]
    places = {key: place for place, key in enumerate(dict.fromkeys(key for of in keys for key in of))}
    rows = np.zeros((len(places), 4 * len(sides)), np.int64)
    for start, side, of, named in zip((0, 4), sides, chosen, keys, strict=True):
        np.add.at(rows[:, start : start + 4], [places[key] for key in named], side.tables[of])
    images = {key: place for place, key in enumerate(dict.fromkeys(key for key, _ in places))}
    return rows, np.array([images[key] for key, _ in places], np.int64)


def longest_prefixes(blocks: Sequence[ModelCases]) -> list[Sequence[ModelCases]]:
    """Return the longest series of detectors in which each adds to the one before, the shortest first."""
    rows = [
        [block for block in blocks if detector_specs(block) == detector_specs(whole)[: len(detector_specs(block))]]
        for whole in blocks
    ]
    most = max(map(len, rows))
    row = next(row for row in rows if len(row) == most)
    return [sorted(row, key=lambda block: len(detector_specs(block)))]


def f13_rows(cases: AblationCases, model: str) -> Iterator[Row]:
    """Yield the OOD-H row for each number of detectors."""
    name = cases.set_label(OOD_H)
    for block in cases.blocks:
        label = f"{len(detector_specs(block))}: {detectors_label(block)}"
        yield model, label, name + block.suffix, *measure_cells(block, name, tuple(HEADS))


T9 = Ablation(
    "oodbench-T9",
    CHOICES,
    "OOD Detectors",
    "other detectors",
    "--eye-set=existence.detectors=A+B,B+C,C+D",
    group_by_count,
    t9_rows,
    (DELTA,),
    (TIME,),
)
F13 = Ablation(
    "oodbench-F13",
    CHOICES,
    "OOD Detectors",
    "numbers of detectors",
    "--eye-set=existence.detectors=A,A+B,A+B+C,A+B+C+D",
    longest_prefixes,
    f13_rows,
)
