"""Answers out of the prompt's list, as the published Tables 5, 15 and 16 of arXiv 2603.06578 have them."""

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


def closed_world_groups(pool: Runs, labels: str | None, name: str) -> list[tuple[ComparableCases, str]]:
    """The closed-world answers of every group under every ground truth, the model with the fewest outside first."""
    found = []
    for group, truth in pool.iter_labels(labels):
        if entries := group.with_protocols(CLOSED).scored_under(truth):
            found.append((group.select(sorted(entries, key=lambda entry: out_of_prompt_value(entry, truth))), truth))
    if not found:
        raise EmptyTableError(
            f"{name} looks at answers out of a closed world's list of classes; these runs have {describe_runs(pool)}. "
            "Make them with: pytest -k closed_world"
        )
    return found


def out_of_prompt_value(entry: CaseRun, labels: str) -> float:
    """The share of answers out of the prompt."""
    return out_of_prompt_rate(entry, (labels, "A")).value or 0.0


def t5(pool: Runs, labels: str | None) -> list[Table]:
    """Table 5: the rate of answers out of the prompt by label category."""
    return [t5_table(group, truth) for group, truth in closed_world_groups(pool, labels, "T5")]


def t5_table(group: ComparableCases, labels: str) -> Table:
    """One group's rates."""
    names = group.model_names()
    rows: list[Row] = [
        (names[id(e)], *(out_of_prompt_rate(e, (labels, cell)) for cell in CATEGORIES)) for e in group.cases
    ]
    return create_table(
        group, labels, "answers out of the prompt (%) on label categories", ("Model", *CATEGORIES), rows, WILSON
    )


def t15(pool: Runs, labels: str | None) -> list[Table]:
    """Table 15: how many answers are out of the prompt in each category, and how many of them CW+ maps rightly."""
    groups = {id(e): group for group in pool.groups for e in group.cases}
    return [
        t15_table(group, groups[id(group.cases[0])], truth) for group, truth in closed_world_groups(pool, labels, "T15")
    ]


def t15_table(group: ComparableCases, everything: ComparableCases, labels: str) -> Table:
    """One group's counts; where nothing was mapped, dashes stand for it."""
    mapped = find_mapped_cases(group.cases, everything, labels)
    chosen = group.select(entry for entry in group.cases if not mapped or id(entry) in mapped)
    names = chosen.model_names()
    rows = [
        (names[id(entry)], *row) for entry in chosen.cases for row in t15_rows(entry, mapped.get(id(entry)), labels)
    ]
    shown = chosen.select((*chosen.cases, *mapped.values()))
    rule = group.cases[0].empty_label_rules.get(labels) or "excluded"
    notes = [
        "OOP: out of the prompt, % of the images with an answer. Mapped: to a right class in CW+, % of the former.",
        f"N needs no mapping: images without a label count as {rule} under {labels}, in A, too.",
    ]
    if missing := [e.record.case for e in group.cases if id(e) not in mapped]:
        notes.append(f"Not mapped: {', '.join(missing)}. Map them with: pytest -k closed_world_plus")
    columns = ("Model", "Category", "Images", "OOP #", "OOP %", "mapped #", "mapped %")
    return create_table(shown, labels, "answers out of the prompt by label category", columns, rows, *notes, WILSON)


def find_mapped_cases(entries: Iterable[CaseRun], everything: ComparableCases, labels: str) -> Mapping[int, CaseRun]:
    """The CW+ that re-scored each closed world's answers; of several encoders, the best."""
    chosen = select_best(
        everything.with_protocols(PLUS).scored_under(labels),
        lambda entry: (entry.model, prompt_options(entry)),
        labels,
        everything.reference,
    )
    found = {(entry.model, prompt_options(entry)): entry for entry in chosen}
    pairs = ((entry, found.get((entry.model, prompt_options(entry)))) for entry in entries)
    return {id(entry): plus for entry, plus in pairs if plus is not None}


def t15_rows(entry: CaseRun, plus: CaseRun | None, labels: str) -> Iterable[Row]:
    """One model's rows, a category each."""
    truth, off = entry.answers.label_sets[labels], text_columns(entry).out_of_prompt == 1
    for cell in CATEGORIES:
        found = out_of_prompt_rate(entry, (labels, cell))
        mapped = mapped_accuracy(entry, plus, labels, off & truth.mask(cell)) if plus and cell != "N" else None
        yield (cell, found.n, *count_and_percentage(found), *count_and_percentage(mapped))


def mapped_accuracy(entry: CaseRun, plus: CaseRun, labels: str, mask: Bools) -> NumberCell:
    """The share of some answers that CW+ maps to a right class."""
    _, mapped = check_same_images((entry, plus))
    return proportion(mapped.answers.label_sets[labels].correct, mask)


def count_and_percentage(found: NumberCell | None) -> tuple[Cell, Cell]:
    """A share as a count and a percentage, whose n stands elsewhere in the row."""
    if found is None:
        return None, None
    return round((found.value or 0) * (found.n or 0)), NumberCell(found.value, ci=found.ci)


def t16(pool: Runs, labels: str | None) -> list[Table]:
    """Table 16: of which kind the answers out of the prompt are."""
    return [t16_table(group, truth) for group, truth in closed_world_groups(pool, labels, "T16")]


def t16_table(group: ComparableCases, labels: str) -> Table:
    """One group's kinds."""
    names = group.model_names()
    rows: list[Row] = [(names[id(entry)], *kind_cells(entry, labels)) for entry in group.cases]
    said = (
        "Abstain: declines. IN: exactly one of OpenAI's class names. Partial: its words are among those of one class "
        "name of the prompt. Wrong: all others. OOP: how many answers are out of the prompt."
    )
    columns = ("Model", *KINDS, "OOP")
    return create_table(group, labels, "kinds of answers out of the prompt (%)", columns, rows, said, WILSON)


def kind_cells(entry: CaseRun, labels: str) -> list[Cell]:
    """The share of each kind, and of how many answers."""
    said = text_columns(entry)
    found = said.kind[(said.out_of_prompt == 1) & entry.answers.label_sets[labels].annotated]
    shares = [proportion_of_counts(int(np.sum(found == kind)), len(found)) for kind in KINDS]
    return [*(replace(each, n=None) for each in shares), len(found)]


def create_table(
    group: ComparableCases, labels: str, what: str, columns: Sequence[str], rows: Iterable[Row], *notes: str
) -> Table:
    """A table with everything that belongs beneath it."""
    return Table(
        f"{group.title}: {what}, {labels}",
        tuple(columns),
        tuple(rows),
        (*notes, CATEGORY_NOTE, *group.notes()),
        {"split": group.title, "labels": labels},
    )
