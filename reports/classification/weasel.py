"""The weasel study, Tables 9 and 10 of arXiv 2603.06578: four look-alike classes under two ground truths."""

from collections.abc import Sequence

import numpy as np

from eyechart.errors import ReportError
from eyechart.spec import did_you_mean

from ..answers import Bools, Floats, ImageAnswers, paired_change, proportion
from ..render import CHANGE, Cell, NumberCell, Table
from ..runs import CaseRun, ComparableCases, Runs
from .categories import INTERVALS
from .estimators import coverage_note, scored_by_all

NAME = "WeaselGT"
# "domestic ferret" is the study's name for ImageNet's class 359, black-footed ferret.
FAMILY = {356: "weasel", 357: "mink", 358: "polecat", 359: "domestic ferret"}
LABELS_TASK = "labels"  # what stands under Task where the original labels answer


def weasel_notes(group: ComparableCases) -> list[str]:
    """What a reader of both tables must know."""
    return [f"The row {group.reference} treats the original labels as predictions.", INTERVALS]


def weasel_mask(entry: CaseRun, labels: str) -> Bools:
    """The images of the family: the original label or one of the new ones is among the four classes."""
    answers = entry.answers
    truth = answers.label_sets[labels]
    return truth.annotated & (truth.has_any([*FAMILY]) | np.isin(answers.original, [*FAMILY]))


def weasel_groups(pool: Runs, labels: str | None, name: str) -> list[tuple[ComparableCases, str]]:
    """The groups that were scored under the study's ground truth and have images of the family."""
    wanted = labels or NAME
    pool.select_labels(labels)
    found = [
        (group, wanted)
        for group in pool.groups
        if (entries := group.scored_under(group.reference, wanted)) and weasel_mask(entries[0], wanted).any()
    ]
    known = list(dict.fromkeys(name for group in pool.groups for name in group.labels))
    if not found:
        raise ReportError(
            f"{name} needs images of the classes 356–359 under the ground truth '{wanted}'; these runs were scored "
            f"under {', '.join(known) or 'nothing'}{did_you_mean(wanted, [n for n in known if n != wanted])} "
            f"Make them with: pytest -k imagenet/val --eye-data=ROOT --eye-labels={wanted}=FILE"
        )
    return found


def correctness(answers: ImageAnswers, labels: str, *, originals: bool) -> Floats:
    """How right the model was, or the original labels would be, on every image."""
    return answers.score_original_labels(labels) if originals else answers.label_sets[labels].correct


def t9(pool: Runs, labels: str | None) -> list[Table]:
    """Table 9: accuracy on everything and on the weasel family, under the original and the new labels."""
    return [t9_table(group, name) for group, name in weasel_groups(pool, labels, "T9")]


def t9_table(group: ComparableCases, labels: str) -> Table:
    """One group: the original labels as a model of their own, then every model."""
    entries, others = (
        group.scored_under(group.reference, labels),
        [name for name in group.other_labels if name != labels],
    )
    tasks = group.task_names()
    originals = (group.reference, LABELS_TASK, *t9_cells(entries[0], group, labels, others, originals=True))
    models = [
        (entry.model, tasks[id(entry)], *t9_cells(entry, group, labels, others, originals=False)) for entry in entries
    ]
    heads = [head for name in others for head in (f"{name} all", f"{name} all Δ")]
    mine = [f"{labels} {what}" for what in ("weasels", "weasels Δ", "S+", "S-")]
    return Table(
        f"{group.title}: weasel family, accuracy (%) under {group.reference} and {labels}",
        ("Model", "Task", f"{group.reference} all", f"{group.reference} weasels", *heads, *mine),
        (originals, *models),
        (
            f"Weasels: images of the classes 356–359 that {labels} speaks of.",
            coverage_note((group.reference, *others), "Columns of all"),
            coverage_note((group.reference, labels), "Columns of weasels"),
            *weasel_notes(group),
            *group.notes(),
        ),
        {"split": group.title},
    )


def t9_cells(
    entry: CaseRun, group: ComparableCases, labels: str, others: Sequence[str], *, originals: bool
) -> list[Cell]:
    """One row's numbers, each block of columns over the images that all of its ground truths score."""
    answers = entry.answers
    names = [name for name in (group.reference, *others, labels) if name in answers.label_sets]
    outcomes = {name: correctness(answers, name, originals=originals) for name in names}
    before, after = outcomes[group.reference], outcomes[labels]
    everything = scored_by_all(found for name, found in outcomes.items() if name != labels)
    family = weasel_mask(entry, labels) & scored_by_all((before, after))
    cells: list[Cell] = [proportion(before, everything), proportion(before, family)]
    for name in others:
        cells += accuracy_and_change(before, outcomes.get(name), everything)
    truth = answers.label_sets[labels]
    parts = [proportion(after, family & truth.mask(part)) for part in ("S+", "S-")]
    return [*cells, proportion(after, family), paired_change(before, after, family), *parts]


def accuracy_and_change(before: Floats, after: Floats | None, images: Bools) -> list[Cell]:
    """Accuracy under one more ground truth and its change; nothing where the case was not scored under it."""
    if after is None:
        return [None, None]
    return [proportion(after, images), paired_change(before, after, images)]


def t10(pool: Runs, labels: str | None) -> list[Table]:
    """Table 10: the recall of each class of the family under the original and the new labels."""
    return [t10_table(group, name) for group, name in weasel_groups(pool, labels, "T10")]


def t10_table(group: ComparableCases, labels: str) -> Table:
    """One group: the original labels as a model of their own, then every model."""
    entries, tasks = group.scored_under(group.reference, labels), group.task_names()
    heads = [f"{kind} {what}" for kind in FAMILY.values() for what in (group.reference, labels, "Δ")]
    originals = (group.reference, LABELS_TASK, *t10_cells(entries[0], group.reference, labels, originals=True))
    models = [
        (entry.model, tasks[id(entry)], *t10_cells(entry, group.reference, labels, originals=False))
        for entry in entries
    ]
    return Table(
        f"{group.title}: weasel family, recall (%) under {group.reference} and {labels}",
        ("Model", "Task", *heads),
        (originals, *models),
        (
            "Domestic ferret is class 359. Each ground truth has its own images of a class: Δ has no paired interval.",
            *weasel_notes(group),
            *group.notes(),
        ),
        {"split": group.title},
    )


def t10_cells(entry: CaseRun, reference: str, labels: str, *, originals: bool) -> list[Cell]:
    """Recall under both ground truths and the difference, class by class."""
    cells: list[Cell] = []
    for kind in FAMILY:
        before, after = (recall(entry.answers, name, kind, originals=originals) for name in (reference, labels))
        cells += [before, after, NumberCell(difference(before.value, after.value), style=CHANGE)]
    return cells


def difference(before: float | None, after: float | None) -> float | None:
    """The change between two values that both are there."""
    return None if before is None or after is None else after - before


def recall(answers: ImageAnswers, labels: str, kind: int, *, originals: bool) -> NumberCell:
    """The share of a class's single-label images that are right."""
    return proportion(
        correctness(answers, labels, originals=originals), answers.label_sets[labels].single_label == kind
    )
