"""Closed world, closed world with mapping and open world side by side, as Table 6 of arXiv 2603.06578 has them."""

from collections.abc import Mapping

from eyechart.errors import ReportError

from .categories import INTERVALS, listed
from .chosen import IN_WORDS, accuracy, asked, best, oddity
from .columns import moved, right, spots
from .render import Cell, Table
from .runs import Entry, Group, Pool

ORDER = ("open_world", "closed_world_plus", "closed_world")
CLOSED = "closed_world"


def t6(pool: Pool, labels: str | None) -> list[Table]:
    """Table 6: accuracy in CW, CW+ and OW by label category, and the change from CW."""
    found = [(group, truth) for group, name in pool.each(labels) for group, truth in compared(group, name)]
    if not found:
        raise ReportError(
            f"T6 puts CW, CW+ and OW side by side; these runs have {listed(pool)}. "
            'Make them with: pytest -k "closed_world or open_world"'
        )
    return [t6_table(group, truth) for group, truth in found]


def compared(group: Group, labels: str) -> list[tuple[Group, str]]:
    """The answers in words of a group, if they are of two tasks or more; of several encoders, the best."""
    words = group.of(*IN_WORDS)
    found = best(words.under(group.reference, labels), lambda e: (e.model, e.record.protocol, asked(e)), labels)
    if len({entry.record.protocol for entry in found}) < 2:
        return []
    fewer = len(words.under(group.reference, labels)) - len(found)
    said = f"Of several encoders the most accurate under {labels} is shown; {fewer} more are left out: T18 has them."
    return [(group.only(ordered(found, group.reference), *[said] * bool(fewer)), labels)]


def ordered(entries: list[Entry], reference: str) -> list[Entry]:
    """Models by their best accuracy; of each, the usual way of asking first; then OW, CW+, CW."""
    top: dict[str, float] = {}
    for entry in entries:
        top[entry.model] = max(top.get(entry.model, -1.0), accuracy(entry, reference))
    return sorted(entries, key=lambda e: (top[e.model], e.model, oddity(e), asked(e), ORDER.index(e.record.protocol)))


def t6_table(group: Group, labels: str) -> Table:
    """One group's table."""
    tasks = group.tasks()
    base = {(entry.model, asked(entry)): entry for entry in group.of(CLOSED).entries}
    heads = [head for name in spots(group.reference, labels) for head in (name, f"{name} Δ")]
    rows = [(entry.model, tasks[id(entry)], *cells(entry, base, group.reference, labels)) for entry in group.entries]
    said = (
        f"{group.reference}: original labels. A to M-: label categories of {labels}.",
        "Δ: change from the CW row of the same model, asked in the same way about the same images; a dash for none.",
        "CW+ maps CW's answers out of the prompt to the nearest class; OW maps all of its answers.",
        INTERVALS,
    )
    return Table(
        f"{group.title}: accuracy (%) in closed and open world, {group.reference} and {labels}",
        ("Model", "Task", *heads),
        tuple(rows),
        (*said, *group.notes()),
        {"split": group.title, "labels": labels},
    )


def cells(entry: Entry, base: Mapping[tuple[str, tuple[str, ...]], Entry], reference: str, labels: str) -> list[Cell]:
    """One row's numbers, each with its change from closed world."""
    closed = base.get((entry.model, asked(entry)))
    found: list[Cell] = []
    for spot in spots(reference, labels).values():
        found += [right(entry, spot), moved(closed, entry, spot) if closed and closed is not entry else None]
    return found
