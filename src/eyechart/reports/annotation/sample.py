"""Write the sheet of a sample of images, whose answers estimate the accuracy of every model under new labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from eyechart.errors import ReportError
from eyechart.files.folders import STORE
from eyechart.messages.plurals import count_of
from eyechart.messages.suggestions import did_you_mean
from eyechart.reports.annotation.answer_files import LABELS, ORIGINAL, Item, SampleDraw, SampleKey
from eyechart.reports.annotation.disputed import open_data, select_part, write_files
from eyechart.reports.annotation.disputed_items import EquivalentClasses, create_candidates, first_classes, read_names
from eyechart.reports.runs import CaseRun, ComparableCases, Runs
from eyechart.statistics.array_types import Ints

DRAWS = UNIFORM, STRATIFIED = "uniform", "stratified"
NOT_SCORED = "-"  # in the strata of a draw: an image that the labels do not score
NAMES = ("all right", "some right", "none right")  # of the strata: which models the published labels score as right
SHARED = 0.5  # of a stratified sample, divided equally among the strata; the rest in proportion to their sizes


@dataclass(frozen=True)
class SampleOptions:
    """The options of `eyechart annotate --sample`."""

    sample: int
    labels: str
    split: str | None = None
    draw: str = UNIFORM
    sequential: bool = False
    names: str | None = None
    data: str | None = None
    store: Path = STORE
    part: str = "1/1"
    seed: int = 42


@dataclass(frozen=True)
class ScoredCase:
    """A case with the class that it answered (n,) and its outcome (n,) under the published labels, NaN for none."""

    case: CaseRun
    classes: Ints
    outcomes: np.ndarray


def write_sample(runs: Runs, options: SampleOptions, out: Path) -> str:
    """Draw a sample, write its sheet and key, and return the message to print."""
    if options.sequential and (options.draw != UNIFORM or options.part != "1/1"):
        raise ReportError(
            "--sequential needs one sheet of a uniform draw: its answers count in the order of the draw. Leave out "
            "--draw and --part, or leave out --sequential."
        )
    group = _find_group(runs, options)
    scored = [*score_cases(group, options.labels)]
    strata = _find_strata(scored)
    rows = _draw(strata, options)
    case = scored[0].case
    dataset = open_data(case, options.data, options.store)
    names = read_names(dataset, options.names)
    equivalent_classes = EquivalentClasses(case.record.variant.get("equivalences", "none"), dataset)
    published = case.samples(["key", "label", f"{options.labels}.labels"])
    items: dict[int, Item] = {}
    for row in rows:
        key, label, labels = published.iloc[row]
        suggested = {LABELS: {int(text) for text in labels.split(";") if text}, ORIGINAL: {int(label or -1)}}
        for one in scored:
            suggested.setdefault(f"{one.case.record.case} ({one.case.record.protocol})", set()).add(
                int(one.classes[row])
            )
        valid = {source: classes - {-1} for source, classes in suggested.items()}
        candidates = tuple(create_candidates(valid, names, equivalent_classes, f"{options.seed}|{key}"))
        items[row] = Item(key=key, category=strata[row], candidates=candidates)
    offered = sorted({candidate.label for item in items.values() for candidate in item.candidates})
    equivalents = {label: tuple(sorted(equivalent_classes(label) - {label})) for label in offered}
    part = select_part(rows, options.part)
    key = SampleKey(
        draw=SampleDraw(
            split=group.benchmark,
            fingerprint=case.record.data.fingerprint,
            labels=options.labels,
            labels_sha256=case.record.data.labels.get(options.labels, ""),
            size=len(rows),
            seed=options.seed,
            strata=strata
            if options.draw == STRATIFIED
            else "".join(NOT_SCORED if one == NOT_SCORED else "0" for one in strata),
            sequential=options.sequential,
            equivalents={str(label): others for label, others in equivalents.items() if others},
        ),
        names=options.names or ("split" if dataset.names else "mill"),
        items=tuple(items[row] for row in part),
    )
    drawn = f"drawn from {len(strata) - strata.count(NOT_SCORED):,}, {options.draw}"
    return write_files(key, dataset, part, out, drawn, "reannotated")


def score_cases(group: ComparableCases, labels: str) -> Iterator[ScoredCase]:
    """Yield the cases that answer each image with one class, with what they answered."""
    column = f"{labels}.correct"
    for case in group.scored_under(labels):
        columns = case.samples().columns
        if {"top1", column} <= {*columns}:
            yield ScoredCase(case, first_classes(case), case.samples([column])[column].to_numpy(np.float64))


def _find_group(runs: Runs, options: SampleOptions) -> ComparableCases:
    """Return the cases of the split to draw from."""
    runs.select_labels(options.labels)  # refuses a ground truth that no record has
    groups = {group.title: group for group in runs.groups if any(score_cases(group, options.labels))}
    names = [*dict.fromkeys(group.benchmark for group in groups.values())]
    if not groups:
        raise ReportError(
            f"No case answers each image with a class under the ground truth '{options.labels}'. A sample is drawn "
            "from the images of a classification."
        )
    chosen = [group for group in groups.values() if options.split in (None, group.benchmark, group.title)]
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        near = did_you_mean(options.split or "", names)
        raise ReportError(f"--split is '{options.split}'{near} The runs have: {', '.join(groups)}.")
    raise ReportError(
        f"The runs have {count_of(len(chosen), 'split')}: {', '.join(group.title for group in chosen)}. A sheet is "
        "about one of them: add --split=NAME."
    )


def _find_strata(scored: Sequence[ScoredCase]) -> str:
    """Return the stratum of each image: whether all, some or none of the models are right as published."""
    outcomes = np.array([one.outcomes for one in scored])
    known = ~np.isnan(outcomes)
    right = (outcomes == 1).sum(axis=0)
    stratum = np.where(right == known.sum(axis=0), 0, np.where(right > 0, 1, 2))
    return "".join(str(one) if some else NOT_SCORED for one, some in zip(stratum, known.any(axis=0), strict=True))


def _draw(strata: str, options: SampleOptions) -> list[int]:
    """Return the drawn images in random order."""
    random = Random(f"{options.seed}|sample|{options.labels}")
    members = {
        name: [row for row, one in enumerate(strata) if one == name] for name in sorted({*strata} - {NOT_SCORED})
    }
    total = sum(map(len, members.values()))
    if not 1 <= options.sample <= total:
        raise ReportError(
            f"--sample is {options.sample}, expected a number from 1 to {total:,}, the images that {options.labels} "
            "scores."
        )
    if options.draw == UNIFORM:
        return random.sample(sorted(row for rows in members.values() for row in rows), options.sample)
    sizes = allocate([len(rows) for rows in members.values()], options.sample)
    rows = [row for size, own in zip(sizes, members.values(), strict=True) for row in random.sample(own, size)]
    return random.sample(rows, len(rows))


def allocate(sizes: Sequence[int], n: int) -> list[int]:
    """Return how many of n images are drawn from each stratum: half of them in equal parts, half by the sizes.

    >>> allocate([900, 60, 40], 60), allocate([96, 4], 60)
    ([37, 12, 11], [56, 4])
    """
    total = sum(sizes)
    wanted = [n * (SHARED / len(sizes) + (1 - SHARED) * size / total) for size in sizes]
    drawn = [min(size, int(one)) for size, one in zip(sizes, wanted, strict=True)]
    while sum(drawn) < n:  # one at a time, where most is missing and an image is left
        room = [index for index, size in enumerate(sizes) if drawn[index] < size]
        drawn[max(room, key=lambda index: wanted[index] - drawn[index])] += 1
    return drawn
