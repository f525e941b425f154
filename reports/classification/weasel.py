"""The weasel study, Tables 9 and 10 of arXiv 2603.06578: four similar classes under two label sets."""

from collections.abc import Sequence

import numpy as np

from eyechart.errors import ReportError
from eyechart.spec import did_you_mean

from ..answers import Bools, Floats, ImageAnswers, paired_change, proportion
from ..render import CHANGE, Cell, NumberCell, Table
from ..runs import CaseRun, ComparableCases, Runs
from .estimators import coverage_note, scored_by_all
from .pages import INTERVALS

NAME = "WeaselGT"
# "domestic ferret" is the study's name for ImageNet's class 359, black-footed ferret.
FAMILY = {356: "weasel", 357: "mink", 358: "polecat", 359: "domestic ferret"}
LABELS_TASK = "labels"  # what stands under Task where the original labels answer


def weasel_notes(group: ComparableCases) -> list[str]:
    """Return the explanation of both tables."""
    return [f"The row {group.reference} treats the original labels as predictions.", INTERVALS]


def weasel_mask(case: CaseRun, labels: str) -> Bools:
    """Return the mask (n,) of the images whose original or new labels include one of the four classes."""
    answers = case.answers
    scored = answers.label_sets[labels]
    return scored.annotated & (scored.has_any([*FAMILY]) | np.isin(answers.original, [*FAMILY]))


def weasel_groups(runs: Runs, labels: str | None, name: str) -> list[tuple[ComparableCases, str]]:
    """Return the groups that were scored under the study's label set and have images of the family."""
    label_set = labels or NAME
    runs.select_labels(labels)
    selected = [
        (group, label_set)
        for group in runs.groups
        if (cases := group.scored_under(group.reference, label_set)) and weasel_mask(cases[0], label_set).any()
    ]
    label_sets = list(dict.fromkeys(name for group in runs.groups for name in group.labels))
    if not selected:
        suggestion = did_you_mean(label_set, [name for name in label_sets if name != label_set])
        raise ReportError(
            f"{name} needs images of the classes 356–359 under the ground truth '{label_set}'; these runs were scored "
            f"under {', '.join(label_sets) or 'nothing'}{suggestion} "
            f"Make them with: pytest -k imagenet/val --eye-data=ROOT --eye-labels={label_set}=FILE"
        )
    return selected


def correctness(answers: ImageAnswers, labels: str, *, originals: bool) -> Floats:
    """Return the correctness (n,) of the model, or of the original labels as predictions."""
    return answers.score_original_labels(labels) if originals else answers.label_sets[labels].correct


def t9(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 9: accuracy on all images and on the weasel family, under the original and the new labels."""
    return [t9_table(group, name) for group, name in weasel_groups(runs, labels, "T9")]


def t9_table(group: ComparableCases, labels: str) -> Table:
    """Return the table of one group: the original labels as a model, then every model."""
    cases, other_labels = (
        group.scored_under(group.reference, labels),
        [name for name in group.other_labels if name != labels],
    )
    tasks = group.task_names()
    originals = (group.reference, LABELS_TASK, *t9_cells(cases[0], group, labels, other_labels, originals=True))
    models = [
        (case.model, tasks[id(case)], *t9_cells(case, group, labels, other_labels, originals=False)) for case in cases
    ]
    heads = [head for name in other_labels for head in (f"{name} all", f"{name} all Δ")]
    label_columns = [f"{labels} {column}" for column in ("weasels", "weasels Δ", "S+", "S-")]
    return Table(
        f"{group.title}: weasel family, accuracy (%) under {group.reference} and {labels}",
        ("Model", "Task", f"{group.reference} all", f"{group.reference} weasels", *heads, *label_columns),
        (originals, *models),
        (
            f"Weasels: images of the classes 356–359 that {labels} annotates.",
            coverage_note((group.reference, *other_labels), "Columns of all"),
            coverage_note((group.reference, labels), "Columns of weasels"),
            *weasel_notes(group),
            *group.notes(),
        ),
        {"split": group.title},
    )


def t9_cells(
    case: CaseRun, group: ComparableCases, labels: str, other_labels: Sequence[str], *, originals: bool
) -> list[Cell]:
    """Return the cells of one row, each block of columns over the images that all its label sets score."""
    answers = case.answers
    names = [name for name in (group.reference, *other_labels, labels) if name in answers.label_sets]
    outcomes = {name: correctness(answers, name, originals=originals) for name in names}
    before, after = outcomes[group.reference], outcomes[labels]
    all_images = scored_by_all(correct for name, correct in outcomes.items() if name != labels)
    family = weasel_mask(case, labels) & scored_by_all((before, after))
    cells: list[Cell] = [proportion(before, all_images), proportion(before, family)]
    for name in other_labels:
        cells += accuracy_and_change(before, outcomes.get(name), all_images)
    scored = answers.label_sets[labels]
    parts = [proportion(after, family & scored.mask(part)) for part in ("S+", "S-")]
    return [*cells, proportion(after, family), paired_change(before, after, family), *parts]


def accuracy_and_change(before: Floats, after: Floats | None, images: Bools) -> list[Cell]:
    """Return accuracy and change under one more label set; None if the case was not scored under it."""
    if after is None:
        return [None, None]
    return [proportion(after, images), paired_change(before, after, images)]


def t10(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 10: the recall of each class of the family under the original and the new labels."""
    return [t10_table(group, name) for group, name in weasel_groups(runs, labels, "T10")]


def t10_table(group: ComparableCases, labels: str) -> Table:
    """Return the table of one group: the original labels as a model, then every model."""
    cases, tasks = group.scored_under(group.reference, labels), group.task_names()
    heads = [f"{kind} {column}" for kind in FAMILY.values() for column in (group.reference, labels, "Δ")]
    originals = (group.reference, LABELS_TASK, *t10_cells(cases[0], group.reference, labels, originals=True))
    models = [
        (case.model, tasks[id(case)], *t10_cells(case, group.reference, labels, originals=False)) for case in cases
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


def t10_cells(case: CaseRun, reference: str, labels: str, *, originals: bool) -> list[Cell]:
    """Return recall under both label sets and the difference, by class."""
    cells: list[Cell] = []
    for kind in FAMILY:
        before, after = (recall(case.answers, name, kind, originals=originals) for name in (reference, labels))
        cells += [before, after, NumberCell(difference(before.value, after.value), style=CHANGE)]
    return cells


def difference(before: float | None, after: float | None) -> float | None:
    """Return after - before, or None if one is missing."""
    return None if before is None or after is None else after - before


def recall(answers: ImageAnswers, labels: str, kind: int, *, originals: bool) -> NumberCell:
    """Return the share of a class's single-label images that are right."""
    return proportion(
        correctness(answers, labels, originals=originals), answers.label_sets[labels].single_label == kind
    )
