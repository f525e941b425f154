"""Accuracy by label category: Tables 2 and 4 and Figure 3 of arXiv 2603.06578."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from eyechart.errors import ReportError

from ..answers import CATEGORIES, paired_change, proportion, proportion_of_counts
from ..render import NumberCell, Row, Table
from ..runs import CaseRun, ComparableCases, Runs
from .best_variant import best_variants
from .estimators import compared_images, coverage_note

CASES = "Make them with: pytest -k imagenet"
BEFORE, AFTER, CHANGED, BOTH = "before", "after", "Δ", "both"
WILSON = "Brackets: 95 % intervals, Wilson."
INTERVALS = "Brackets: 95 % intervals, Wilson for shares, Bonett and Price for Δ, whose images are paired."
RANKED = (BEFORE, *(name for name in CATEGORIES if name != "N"))


@dataclass(frozen=True)
class CategoryRow:
    """The row of a model: accuracy under the reference, under other labels by category, and under both."""

    model: str
    task: str
    cells: Mapping[str, NumberCell]


def category_row(case: CaseRun, task: str, reference: str, labels: str) -> CategoryRow:
    """Return the accuracies of one case by category, over the images that both label sets score."""
    before, after = (case.answers.label_sets[name] for name in (reference, labels))
    compared = compared_images([case.answers], (reference, labels))
    numbers = {name: proportion(after.correct, after.mask(name) & compared) for name in CATEGORIES}
    numbers[BEFORE], numbers[AFTER] = proportion(before.correct, compared), numbers["A"]
    numbers[CHANGED] = paired_change(before.correct, after.correct)
    numbers[BOTH] = proportion(before.correct * after.correct, compared)
    return CategoryRow(case.model, task, numbers)


def category_rows(group: ComparableCases, labels: str) -> list[CategoryRow]:
    """Return a row for every case that was scored under the reference and these labels."""
    tasks = group.task_names()
    return [
        category_row(case, tasks[id(case)], group.reference, labels)
        for case in group.scored_under(group.reference, labels)
    ]


def add_ranks(numbers: Sequence[NumberCell]) -> list[NumberCell]:
    """Return the numbers with ranks, 1 for the highest; equal numbers share a rank, without gaps."""
    values = [round(number.value, 12) if number.is_defined and number.value is not None else None for number in numbers]
    levels = sorted({value for value in values if value is not None}, reverse=True)
    return [
        number if value is None else replace(number, rank=levels.index(value) + 1)
        for number, value in zip(numbers, values, strict=True)
    ]


def category_table(rows: Sequence[CategoryRow], group: str, reference: str, labels: str, notes: Sequence[str]) -> Table:
    """Return Table 4: values in per cent, ranks in parentheses."""
    names = (BEFORE, "A", CHANGED, *CATEGORIES[1:], BOTH)
    columns = {name: [row.cells[name] for row in rows] for name in names}
    columns |= {name: add_ranks(columns[name]) for name in RANKED}
    heads = {BEFORE: reference, BOTH: f"{reference} ∩ {labels}"}
    table = Table(
        f"{group}: accuracy (%) on label categories, {reference} and {labels}",
        ("Model", "Task", *(heads.get(name, name) for name in names)),
        tuple((row.model, row.task, *(columns[name][index] for name in names)) for index, row in enumerate(rows)),
        tuple(notes),
        {"split": group, "labels": labels},
    )
    return replace(table, data=replace(table, columns=("Model", "Task", reference, *names[1:])))


def category_notes(reference: str, labels: str) -> list[str]:
    """Return the explanation of Table 4."""
    return [
        f"{reference}: original labels. A to N: label categories of {labels}.",
        "S: one label; M: several; N: none. In S+ and M+ the original label is among them, in S- and M- it is not.",
        coverage_note((reference, labels)),
        INTERVALS + " Parentheses: rank, 1 for the highest; equal values share one.",
    ]


def t4(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 4: models × label categories, with ranks, the change from the original labels, and both."""
    tables = []
    for group, name in groups_with_second_labels(runs, labels, "T4"):
        rows = category_rows(group, name)
        notes = [*category_notes(group.reference, name), *group.notes()]
        tables.append(category_table(rows, group.title, group.reference, name, notes))
    return tables


def f3(runs: Runs, labels: str | None) -> list[Table]:
    """Return Figure 3 as a table: accuracy under the original and the new labels, and the change."""
    return [f3_table(group, name) for group, name in groups_with_second_labels(runs, labels, "F3")]


def f3_table(group: ComparableCases, labels: str) -> Table:
    """Return the accuracies of one group."""
    rows = category_rows(group, labels)
    table = Table(
        f"{group.title}: accuracy (%), change from {group.reference} to {labels}",
        ("Model", "Task", group.reference, labels, CHANGED),
        tuple((row.model, row.task, *(row.cells[name] for name in (BEFORE, AFTER, CHANGED))) for row in rows),
        (coverage_note((group.reference, labels)), INTERVALS, *group.notes()),
        {"split": group.title, "labels": labels},
    )
    return replace(table, data=replace(table, columns=("Model", "Task", BEFORE, AFTER, CHANGED)))


def t2(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 2: the number of images of each category under each label set."""
    selected = runs.select_labels(labels) if labels else [(group, group.labels) for group in runs.groups]
    scored = [(group, [name for name in names if group.scored_under(name)]) for group, names in selected]
    if not any(names for _, names in scored):
        raise ReportError(f"T2 counts images by label category; these runs have {describe_runs(runs)}. {CASES}")
    return [t2_table(group, names) for group, names in scored if names]


def t2_table(group: ComparableCases, labels: Sequence[str]) -> Table:
    """Return the counts and shares of one group."""
    rows = tuple(row for name in labels for row in t2_rows(group, name))
    note = "Shares of the images that the label set annotates. Brackets: 95 % Wilson intervals."
    return Table(
        f"{group.title}: images per label category",
        ("Labels", "", *CATEGORIES),
        rows,
        (note, *group.notes()),
        {"split": group.title},
    )


def t2_rows(group: ComparableCases, labels: str) -> list[Row]:
    """Return a row of counts and a row of shares."""
    scored = group.scored_under(labels)[0].answers.label_sets[labels]
    counts = [int(scored.mask(name).sum()) for name in CATEGORIES]
    shares = [replace(proportion_of_counts(count, counts[0]), n=None) for count in counts]
    return [(labels, "#", *counts), (labels, "%", *shares)]


def groups_with_second_labels(runs: Runs, labels: str | None, name: str) -> list[tuple[ComparableCases, str]]:
    """Return every group with each label set besides the original labels; of each model the best variant."""
    result = [
        (selected, second)
        for group, names in runs.select_labels(labels)
        for second in names
        if second != group.reference
        and (selected := best_variants(group, second)).scored_under(group.reference, second)
    ]
    if not result:
        raise ReportError(
            f"{name} compares a second label set with the original labels, over answers from all classes;"
            f" these runs have {describe_runs(runs)}. Make it with: pytest -k imagenet --eye-labels=ReaL=FILE"
        )
    return result


def describe_runs(runs: Runs) -> str:
    """Return which protocols and label sets the runs have: `zero_shot under ImGT`."""
    cases = [case for group in runs.groups for case in group.cases]
    return "; ".join(dict.fromkeys(f"{e.record.protocol} under {', '.join(e.labels) or 'no labels'}" for e in cases))
