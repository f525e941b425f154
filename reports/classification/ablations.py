"""One choice changed and all else equal: the published Tables 11 to 14 and 18 of arXiv 2603.06578."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..answers import Bools, change
from ..render import Cell, Number, Table
from ..runs import Entry, Group, NothingToShowError, Pool
from .categories import INTERVALS, WILSON, listed
from .chosen import accuracy
from .columns import (
    CELLS,
    COVERED_BY_BLOCK,
    aligned,
    block_images,
    counted,
    coverage_note,
    moved,
    out_of_prompt,
    right,
    spots,
    words,
)

BARE, USUAL = "none", "80"  # templates; the published ones are marked by the dagger alone
ORDERS = {"random": "Random", "same_class": "Same-Class"}
RESPONSES = {"id": "ID", "name": "Class name"}


@dataclass(frozen=True)
class Ablation:
    """What a table compares: a choice with those that follow from it, and how its values are called and sorted."""

    table: str
    protocol: str
    choices: tuple[str, ...]
    head: str
    what: str
    remedy: str
    shown: Callable[[Entry], str]
    order: Callable[[Entry], Any]
    cells: tuple[str, ...] = CELLS
    changes: Literal["", "accuracy", "all"] = ""  # which numbers stand with their change from the first row
    outside: bool = True  # whether answers out of the prompt are counted


def listed_as(choice: str, names: Mapping[str, str]) -> tuple[Callable[[Entry], str], Callable[[Entry], Any]]:
    """How the values of a choice are called, and their order, as the published table has them."""
    places = [*names]

    def order(entry: Entry) -> tuple[int, str]:
        value = entry.choice(choice)
        return places.index(value) if value in places else len(places), value

    return lambda entry: names.get(entry.choice(choice), entry.choice(choice)), order


def batch(entry: Entry) -> int:
    """How many images a request showed."""
    return int(entry.choice("images", "1"))


def space(entry: Entry) -> str:
    """The text embedding space, with a dagger for templates; text inclusion has none."""
    if entry.choice("mapping") == "inclusion":
        return "text inclusion"
    mark = {BARE: "", USUAL: "†"}.get(templates := entry.choice("text_templates", BARE), f"† ({templates})")
    return f"{entry.choice('encoder')}{mark}"


def space_order(entry: Entry) -> tuple[bool, str, bool, str]:
    """Text inclusion first, then encoder by encoder, without templates and with."""
    templates = entry.choice("text_templates", BARE)
    return entry.choice("mapping") != "inclusion", entry.choice("encoder"), templates != BARE, templates


CLOSED = "pytest -k closed_world"
BATCHES = Ablation(
    "T11", "closed_world", ("images",), "Batch", "images a request",
    f"{CLOSED} --eye-set=closed_world.images=1,5,10", lambda e: e.choice("images"), batch,
)  # fmt: skip
ORDERINGS = Ablation(
    "T12", "closed_world", ("order",), "In-Batch Ordering", "the order of images",
    f"{CLOSED} --eye-set=closed_world.images=10 --eye-set=closed_world.order=random,same_class",
    *listed_as("order", ORDERS),
    cells=("A",), changes="all",
)  # fmt: skip
ANSWERS = Ablation(
    "T14", "closed_world", ("answer", "prompt", "parser"), "Response", "answers by class id and by class name",
    f"{CLOSED} --eye-set=closed_world.answer=name,id", *listed_as("answer", RESPONSES), changes="accuracy",
)  # fmt: skip
ENCODERS = Ablation(
    "T18", "open_world", ("encoder", "mapping", "text_templates"), "Emb. Space", "text embedding spaces",
    "pytest -k open_world --eye-set=open_world.encoder=A,B --eye-set=open_world.text_templates=none,80", space,
    space_order, outside=False,
)  # fmt: skip


def t11(pool: Pool, labels: str | None) -> list[Table]:
    """Table 11: one, five and ten images a request."""
    return [table(BATCHES, group, truth) for group, truth in ablated(BATCHES, pool, labels)]


def t12(pool: Pool, labels: str | None) -> list[Table]:
    """Table 12: requests that mix classes, and requests of one class each."""
    return [table(ORDERINGS, group, truth) for group, truth in ablated(ORDERINGS, pool, labels)]


def t14(pool: Pool, labels: str | None) -> list[Table]:
    """Table 14: class ids and class names as answers."""
    return [table(ANSWERS, group, truth) for group, truth in ablated(ANSWERS, pool, labels)]


def t18(pool: Pool, labels: str | None) -> list[Table]:
    """Table 18: the text encoders that map an open world's answers, without templates and with."""
    return [table(ENCODERS, group, truth) for group, truth in ablated(ENCODERS, pool, labels)]


def ablated(what: Ablation, pool: Pool, labels: str | None) -> list[tuple[Group, str]]:
    """The groups with a model that answered under several values of the choice, and those answers alone."""
    found = [
        (group.of(what.protocol).only(entry for block in blocks for entry in block), truth)
        for group, truth in pool.each(labels)
        if (blocks := compared(what, group, truth))
    ]
    if not found:
        raise NothingToShowError(
            f"{what.table} compares {what.what} of one model, all else equal; these runs have {listed(pool)}. "
            f"Make them with: {what.remedy}"
        )
    return found


def compared(what: Ablation, group: Group, labels: str) -> list[list[Entry]]:
    """The answers that differ in the choice alone, in the order of its values; models by their best accuracy."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in group.of(what.protocol).under(group.reference, labels):
        found.setdefault((entry.model, entry.worded(what.choices)), []).append(entry)
    blocks = [sorted(block, key=what.order) for block in found.values() if len(block) > 1]
    return sorted(blocks, key=lambda block: max(accuracy(entry, group.reference) for entry in block))


def table(what: Ablation, group: Group, labels: str) -> Table:
    """One group's blocks, a value a row."""
    names = group.names(what.choices)
    rows = [
        {"Model": names[id(entry)], what.head: what.shown(entry), **dict(numbers(what, entry, block, group, labels))}
        for block in compared(what, group, labels)
        for entry in block
    ]
    return Table(
        f"{group.title}: {what.what}, accuracy (%), {group.reference} and {labels}",
        tuple(rows[0]),
        tuple(tuple(row.values()) for row in rows),
        (
            *explained(what, group.entries),
            f"{coverage_note((group.reference, labels))} {COVERED_BY_BLOCK}",
            *group.notes(what.choices),
        ),
        {"split": group.title, "labels": labels},
    )


def numbers(
    what: Ablation, entry: Entry, block: Sequence[Entry], group: Group, labels: str
) -> Iterator[tuple[str, Cell]]:
    """One row's numbers, those over all images with their change from the block's first row."""
    first, images = block[0], block_images(block, (group.reference, labels))
    for head, spot in spots(group.reference, labels, what.cells).items():
        yield head, right(entry, spot, images)
        if what.changes and spot[1] == "A":
            yield f"{head} Δ", moved(first, entry, spot, images) if entry is not first else None
    if what.outside:
        yield "OOP", counted(out_of_prompt(entry, (labels, "A"), images))
    if what.outside and what.changes == "all":
        yield "OOP Δ", more_outside(first, entry, images) if entry is not first else None


def more_outside(before: Entry, after: Entry, images: Bools) -> Number:
    """How many more answers are out of the prompt, over the same images."""
    one, other = (words(entry).outside for entry in aligned((before, after)))
    return counted(change(one, other, images), signed=True)


def explained(what: Ablation, entries: Sequence[Entry]) -> Iterator[str]:
    """What a reader must know, and what goes with each value."""
    if len(what.choices) > 1:
        yield from dict.fromkeys(
            f"{what.shown(entry)}: {', '.join(f'{name} {entry.choice(name)}' for name in what.choices)}."
            for entry in sorted(entries, key=what.order)
        )
    if what.outside:
        yield "OOP: how many answers are out of the prompt."
    if what.changes:
        yield "Δ: change from the first row of the model, over the same images."
    if what.protocol == "open_world":
        yield "†: class names and answers in templates, the mean of their embeddings."
    yield INTERVALS if what.changes else WILSON
