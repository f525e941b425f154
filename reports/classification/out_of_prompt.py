"""Answers out of the prompt: Tables 5, 15 and 16 of arXiv 2603.06578."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from eyechart.classification.out_of_prompt import KINDS

from ..answers import CATEGORIES, Bools, proportion, proportion_of_counts
from ..render import Cell, NumberCell, Row, Table
from ..runs import CaseRun, ComparableCases, EmptyTableError, Runs
from .best_variant import prompt_options, select_best
from .categories import WILSON, describe_runs
from .estimators import check_same_images, out_of_prompt_rate, text_columns

CLOSED, PLUS = "closed_world", "closed_world_plus"
CATEGORY_NOTE = (
    "S: one label; M: several; N: none. In S+ and M+ the original label is among them, in S- and M- it is not."
)


def closed_world_groups(runs: Runs, labels: str | None, name: str) -> list[tuple[ComparableCases, str]]:
    """Return the closed-world cases of every group and label set, fewest answers out of the prompt first."""
    result = []
    for group, label_set in runs.iter_labels(labels):
        if cases := group.with_protocols(CLOSED).scored_under(label_set):
            result.append(
                (group.select(sorted(cases, key=lambda case: out_of_prompt_value(case, label_set))), label_set)
            )
    if not result:
        raise EmptyTableError(
            f"{name} needs closed-world answers; these runs have {describe_runs(runs)}. "
            "Make them with: pytest -k closed_world"
        )
    return result


def out_of_prompt_value(case: CaseRun, labels: str) -> float:
    """Return the share of answers out of the prompt."""
    return out_of_prompt_rate(case, (labels, "A")).value or 0.0


def t5(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 5: the rate of answers out of the prompt by label category."""
    return [t5_table(group, label_set) for group, label_set in closed_world_groups(runs, labels, "T5")]


def t5_table(group: ComparableCases, labels: str) -> Table:
    """Return the rates of one group."""
    names = group.model_names()
    rows: list[Row] = [
        (names[id(e)], *(out_of_prompt_rate(e, (labels, cell)) for cell in CATEGORIES)) for e in group.cases
    ]
    return create_table(
        group, labels, "answers out of the prompt (%) on label categories", ("Model", *CATEGORIES), rows, WILSON
    )


def t15(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 15: answers out of the prompt in each category, and how many of them CW+ maps to a right class."""
    groups = {id(e): group for group in runs.groups for e in group.cases}
    return [
        t15_table(group, groups[id(group.cases[0])], label_set)
        for group, label_set in closed_world_groups(runs, labels, "T15")
    ]


def t15_table(group: ComparableCases, everything: ComparableCases, labels: str) -> Table:
    """Return the counts of one group; None where nothing was mapped."""
    mapped = find_mapped_cases(group.cases, everything, labels)
    selected = group.select(case for case in group.cases if not mapped or id(case) in mapped)
    names = selected.model_names()
    rows = [(names[id(case)], *row) for case in selected.cases for row in t15_rows(case, mapped.get(id(case)), labels)]
    with_mapped = selected.select((*selected.cases, *mapped.values()))
    rule = group.cases[0].empty_label_rules.get(labels) or "excluded"
    notes = [
        "OOP: out of the prompt, % of the images with an answer. Mapped: to a right class in CW+, % of the former.",
        f"N needs no mapping: images without a label count as {rule} under {labels}, in A, too.",
    ]
    if missing := [e.record.case for e in group.cases if id(e) not in mapped]:
        notes.append(f"Not mapped: {', '.join(missing)}. Map them with: pytest -k closed_world_plus")
    columns = ("Model", "Category", "Images", "OOP #", "OOP %", "mapped #", "mapped %")
    return create_table(
        with_mapped, labels, "answers out of the prompt by label category", columns, rows, *notes, WILSON
    )


def find_mapped_cases(cases: Iterable[CaseRun], everything: ComparableCases, labels: str) -> Mapping[int, CaseRun]:
    """Return the CW+ case of each closed-world case by its id; of several encoders, the best."""
    best = select_best(
        everything.with_protocols(PLUS).scored_under(labels),
        lambda case: (case.model, prompt_options(case)),
        labels,
        everything.reference,
    )
    by_settings = {(case.model, prompt_options(case)): case for case in best}
    pairs = ((case, by_settings.get((case.model, prompt_options(case)))) for case in cases)
    return {id(case): mapped for case, mapped in pairs if mapped is not None}


def t15_rows(case: CaseRun, mapped_case: CaseRun | None, labels: str) -> Iterable[Row]:
    """Yield the rows of one model, one category each."""
    scored, is_out_of_prompt = case.answers.label_sets[labels], text_columns(case).out_of_prompt == 1
    for category in CATEGORIES:
        rate = out_of_prompt_rate(case, (labels, category))
        mapped = (
            mapped_accuracy(case, mapped_case, labels, is_out_of_prompt & scored.mask(category))
            if mapped_case and category != "N"
            else None
        )
        yield (category, rate.n, *count_and_percentage(rate), *count_and_percentage(mapped))


def mapped_accuracy(case: CaseRun, mapped_case: CaseRun, labels: str, mask: Bools) -> NumberCell:
    """Return the share of some answers that CW+ maps to a right class."""
    _, mapped = check_same_images((case, mapped_case))
    return proportion(mapped.answers.label_sets[labels].correct, mask)


def count_and_percentage(rate: NumberCell | None) -> tuple[Cell, Cell]:
    """Return a proportion as a count and a percentage without n."""
    if rate is None:
        return None, None
    return round((rate.value or 0) * (rate.n or 0)), NumberCell(rate.value, ci=rate.ci)


def t16(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 16: the kinds of answers out of the prompt."""
    return [t16_table(group, label_set) for group, label_set in closed_world_groups(runs, labels, "T16")]


def t16_table(group: ComparableCases, labels: str) -> Table:
    """Return the kinds of one group."""
    names = group.model_names()
    rows: list[Row] = [(names[id(case)], *kind_cells(case, labels)) for case in group.cases]
    note = (
        "Abstain: the model declines. IN: exactly one of OpenAI's class names. Partial: all its words occur in one "
        "class name of the prompt. Wrong: all others. OOP: number of answers out of the prompt."
    )
    columns = ("Model", *KINDS, "OOP")
    return create_table(group, labels, "kinds of answers out of the prompt (%)", columns, rows, note, WILSON)


def kind_cells(case: CaseRun, labels: str) -> list[Cell]:
    """Return the share of each kind, and the number of answers."""
    text = text_columns(case)
    kinds = text.kind[(text.out_of_prompt == 1) & case.answers.label_sets[labels].annotated]
    shares = [proportion_of_counts(int(np.sum(kinds == kind)), len(kinds)) for kind in KINDS]
    return [*(replace(share, n=None) for share in shares), len(kinds)]


def create_table(
    group: ComparableCases, labels: str, subject: str, columns: Sequence[str], rows: Iterable[Row], *notes: str
) -> Table:
    """Return a table with its notes."""
    return Table(
        f"{group.title}: {subject}, {labels}",
        tuple(columns),
        tuple(rows),
        (*notes, CATEGORY_NOTE, *group.notes()),
        {"split": group.title, "labels": labels},
    )
