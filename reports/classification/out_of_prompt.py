"""Answers out of the prompt's list, as the published Tables 5, 15 and 16 of arXiv 2603.06578 have them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from eyechart.classification.out_of_prompt import KINDS

from ..answers import COLUMNS, Bools, portion, share
from ..render import Cell, Number, Row, Table
from ..runs import Entry, Group, NothingToShowError, Pool
from .categories import WILSON, listed
from .chosen import asked, best
from .columns import aligned, out_of_prompt, words

CLOSED, PLUS = "closed_world", "closed_world_plus"
CATEGORIES = "S: one label; M: several; N: none. In S+ and M+ the original label is among them, in S- and M- it is not."


def outside(pool: Pool, labels: str | None, name: str) -> list[tuple[Group, str]]:
    """The closed-world answers of every group under every ground truth, the model with the fewest outside first."""
    found = []
    for group, truth in pool.each(labels):
        if entries := group.of(CLOSED).under(truth):
            found.append((group.only(sorted(entries, key=lambda entry: rate(entry, truth))), truth))
    if not found:
        raise NothingToShowError(
            f"{name} looks at answers out of a closed world's list of classes; these runs have {listed(pool)}. "
            "Make them with: pytest -k closed_world"
        )
    return found


def rate(entry: Entry, labels: str) -> float:
    """The share of answers out of the prompt."""
    return out_of_prompt(entry, (labels, "A")).value or 0.0


def t5(pool: Pool, labels: str | None) -> list[Table]:
    """Table 5: the rate of answers out of the prompt by label category."""
    return [t5_table(group, truth) for group, truth in outside(pool, labels, "T5")]


def t5_table(group: Group, labels: str) -> Table:
    """One group's rates."""
    names = group.names()
    rows: list[Row] = [(names[id(e)], *(out_of_prompt(e, (labels, cell)) for cell in COLUMNS)) for e in group.entries]
    return made(group, labels, "answers out of the prompt (%) on label categories", ("Model", *COLUMNS), rows, WILSON)


def t15(pool: Pool, labels: str | None) -> list[Table]:
    """Table 15: how many answers are out of the prompt in each category, and how many of them CW+ maps rightly."""
    groups = {id(e): group for group in pool.groups for e in group.entries}
    return [t15_table(group, groups[id(group.entries[0])], truth) for group, truth in outside(pool, labels, "T15")]


def t15_table(group: Group, everything: Group, labels: str) -> Table:
    """One group's counts; where nothing was mapped, dashes stand for it."""
    mapped = mappings(group.entries, everything, labels)
    chosen = group.only(entry for entry in group.entries if not mapped or id(entry) in mapped)
    names = chosen.names()
    rows = [
        (names[id(entry)], *row) for entry in chosen.entries for row in t15_rows(entry, mapped.get(id(entry)), labels)
    ]
    shown = chosen.only((*chosen.entries, *mapped.values()))
    rule = group.entries[0].empties.get(labels) or "excluded"
    notes = [
        "OOP: out of the prompt, % of the images with an answer. Mapped: to a right class in CW+, % of the former.",
        f"N needs no mapping: images without a label count as {rule} under {labels}, in A, too.",
    ]
    if missing := [e.record.case for e in group.entries if id(e) not in mapped]:
        notes.append(f"Not mapped: {', '.join(missing)}. Map them with: pytest -k closed_world_plus")
    columns = ("Model", "Category", "Images", "OOP #", "OOP %", "mapped #", "mapped %")
    return made(shown, labels, "answers out of the prompt by label category", columns, rows, *notes, WILSON)


def mappings(entries: Iterable[Entry], everything: Group, labels: str) -> Mapping[int, Entry]:
    """The CW+ that re-scored each closed world's answers; of several encoders, the best."""
    chosen = best(
        everything.of(PLUS).under(labels), lambda entry: (entry.model, asked(entry)), labels, everything.reference
    )
    found = {(entry.model, asked(entry)): entry for entry in chosen}
    pairs = ((entry, found.get((entry.model, asked(entry)))) for entry in entries)
    return {id(entry): plus for entry, plus in pairs if plus is not None}


def t15_rows(entry: Entry, plus: Entry | None, labels: str) -> Iterable[Row]:
    """One model's rows, a category each."""
    truth, off = entry.answers.truths[labels], words(entry).outside == 1
    for cell in COLUMNS:
        found = out_of_prompt(entry, (labels, cell))
        mapped = to_right_class(entry, plus, labels, off & truth.mask(cell)) if plus and cell != "N" else None
        yield (cell, found.n, *pair(found), *pair(mapped))


def to_right_class(entry: Entry, plus: Entry, labels: str, mask: Bools) -> Number:
    """The share of some answers that CW+ maps to a right class."""
    _, mapped = aligned((entry, plus))
    return share(mapped.answers.truths[labels].correct, mask)


def pair(found: Number | None) -> tuple[Cell, Cell]:
    """A share as a count and a percentage, whose n stands elsewhere in the row."""
    if found is None:
        return None, None
    return round((found.value or 0) * (found.n or 0)), Number(found.value, ci=found.ci)


def t16(pool: Pool, labels: str | None) -> list[Table]:
    """Table 16: of which kind the answers out of the prompt are."""
    return [t16_table(group, truth) for group, truth in outside(pool, labels, "T16")]


def t16_table(group: Group, labels: str) -> Table:
    """One group's kinds."""
    names = group.names()
    rows: list[Row] = [(names[id(entry)], *kinds(entry, labels)) for entry in group.entries]
    said = (
        "Abstain: declines. IN: exactly one of OpenAI's class names. Partial: its words are among those of one class "
        "name of the prompt. Wrong: all others. OOP: how many answers are out of the prompt."
    )
    columns = ("Model", *KINDS, "OOP")
    return made(group, labels, "kinds of answers out of the prompt (%)", columns, rows, said, WILSON)


def kinds(entry: Entry, labels: str) -> list[Cell]:
    """The share of each kind, and of how many answers."""
    said = words(entry)
    found = said.kind[(said.outside == 1) & entry.answers.truths[labels].annotated]
    shares = [portion(int(np.sum(found == kind)), len(found)) for kind in KINDS]
    return [*(replace(each, n=None) for each in shares), len(found)]


def made(group: Group, labels: str, what: str, columns: Sequence[str], rows: Iterable[Row], *notes: str) -> Table:
    """A table with everything that belongs beneath it."""
    return Table(
        f"{group.title}: {what}, {labels}",
        tuple(columns),
        tuple(rows),
        (*notes, CATEGORIES, *group.notes()),
        {"split": group.title, "labels": labels},
    )
