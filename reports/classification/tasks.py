"""Closed world, closed world with mapping and open world: Table 6 of arXiv 2603.06578."""

from collections import Counter
from collections.abc import Sequence

from ..render import Cell, Table
from ..runs import CaseRun, ComparableCases, EmptyTableError, Runs
from .best_variant import TEXT_PROTOCOLS, accuracy, non_default_flags, prompt_options, select_best
from .estimators import COVERED_BY_BLOCK, accuracy_cell, accuracy_change, block_images, column_keys, coverage_note
from .pages import INTERVALS

ORDER = ("open_world", "closed_world_plus", "closed_world")
CLOSED = "closed_world"


def t6(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 6: accuracy in CW, CW+ and OW by label category, and the change from CW."""
    selected = [
        (group, label_set) for group, name in runs.iter_labels(labels) for group, label_set in select_cases(group, name)
    ]
    if not selected:
        raise EmptyTableError(
            f"T6 puts CW, CW+ and OW side by side; these runs have {runs.describe()}. "
            'Make them with: pytest -k "closed_world or open_world"'
        )
    return [t6_table(group, label_set) for group, label_set in selected]


def select_cases(group: ComparableCases, labels: str) -> list[tuple[ComparableCases, str]]:
    """Return the text answers of a group if they are of two or more tasks; of several encoders, the best."""
    text_cases = group.with_protocols(*TEXT_PROTOCOLS).scored_under(group.reference, labels)
    best = select_best(text_cases, lambda e: (e.model, e.record.protocol, prompt_options(e)), labels, group.reference)
    if len({case.record.protocol for case in best}) < 2:
        return []
    selected = sort_cases(with_common_settings(best), group.reference)
    note = (
        f"Of several encoders the most accurate under {labels} is shown, and of several prompt settings those with "
        f"more than one task; {len(text_cases) - len(selected)} more are left out: T11 to T14 and T18 compare them."
    )
    return [(group.select(selected, *[note] * (len(selected) < len(text_cases))), labels)]


def with_common_settings(cases: Sequence[CaseRun]) -> list[CaseRun]:
    """Return the prompt settings of a model that have several tasks; all cases of a model without such settings."""
    tasks: dict[tuple[str, tuple[str, ...]], int] = Counter((case.model, prompt_options(case)) for case in cases)
    several = {model for (model, _), count in tasks.items() if count > 1}
    return [case for case in cases if tasks[case.model, prompt_options(case)] > 1 or case.model not in several]


def sort_cases(cases: list[CaseRun], reference: str) -> list[CaseRun]:
    """Return models by best accuracy; of each, default prompt settings first; then OW, CW+, CW."""
    top: dict[str, float] = {}
    for case in cases:
        top[case.model] = max(top.get(case.model, -1.0), accuracy(case, reference))
    return sorted(
        cases,
        key=lambda e: (top[e.model], e.model, non_default_flags(e), prompt_options(e), ORDER.index(e.record.protocol)),
    )


def t6_table(group: ComparableCases, labels: str) -> Table:
    """Return the table of one group."""
    tasks = group.task_names()
    ways: dict[tuple[str, tuple[str, ...]], list[CaseRun]] = {}
    for case in group.cases:
        ways.setdefault((case.model, prompt_options(case)), []).append(case)
    heads = [head for name in column_keys(group.reference, labels) for head in (name, f"{name} Δ")]
    rows = [
        (
            case.model,
            tasks[id(case)],
            *row_cells(case, ways[case.model, prompt_options(case)], group.reference, labels),
        )
        for case in group.cases
    ]
    notes = (
        f"{group.reference}: original labels. A to M-: label categories of {labels}.",
        "Δ: change from the CW row of the same model, with the same prompt settings, over the same images.",
        f"{coverage_note((group.reference, labels))} {COVERED_BY_BLOCK}",
        "CW+ maps CW's answers out of the prompt to the nearest class; OW maps all of its answers.",
        INTERVALS,
    )
    return Table(
        f"{group.title}: accuracy (%) in closed and open world, {group.reference} and {labels}",
        ("Model", "Task", *heads),
        tuple(rows),
        (*notes, *group.notes()),
        {"split": group.title, "labels": labels},
    )


def row_cells(case: CaseRun, block: Sequence[CaseRun], reference: str, labels: str) -> list[Cell]:
    """Return the cells of one row, each with its change from closed world, over the images common to the block."""
    closed = next((row for row in block if row.record.protocol == CLOSED), None)
    images = block_images(block, (reference, labels))
    values: list[Cell] = []
    for key in column_keys(reference, labels).values():
        change = accuracy_change(closed, case, key, images) if closed and closed is not case else None
        values += [accuracy_cell(case, key, images), change]
    return values
