"""The place of an image in its request, as Table 13 of arXiv 2603.06578 has it."""

from collections.abc import Iterator

from ..answers import Bools, change, share
from ..render import Cell, Table
from ..runs import Entry, Group, NothingToShowError, Pool
from .ablations import BATCHES, batch, compared, more_outside
from .categories import INTERVALS, listed
from .columns import COVERED_BY_BLOCK, aligned, block_images, counted, coverage_note, words

RANDOM = "random"


def t13(pool: Pool, labels: str | None) -> list[Table]:
    """Table 13: the same images in requests of one, five and ten, by their place in the largest."""
    found = [(group, truth) for group, truth in pool.each(labels) if blocks(group, truth)]
    if not found:
        raise NothingToShowError(
            "T13 looks at images by their place in requests of several sizes, in random order; these runs have "
            f"{listed(pool)}. Make them with: {BATCHES.remedy}"
        )
    return [t13_table(group, truth) for group, truth in found]


def blocks(group: Group, labels: str) -> list[list[Entry]]:
    """The models with requests of several sizes."""
    mixed = [entry for entry in group.entries if entry.choice("order", RANDOM) == RANDOM]
    return compared(BATCHES, group.only(mixed), labels)


def t13_table(group: Group, labels: str) -> Table:
    """One group's rows."""
    found = blocks(group, labels)
    shown = group.only(entry for block in found for entry in block)
    names = shown.names(BATCHES.choices)
    rows = [row for block in found for row in block_rows(names[id(block[0])], block, group.reference, labels)]
    said = (
        "Img Pos.: the place of an image in the largest requests; all rows of a place are about the same images.",
        f"{coverage_note((group.reference, labels))} {COVERED_BY_BLOCK}",
        "Batch: images a request. OOP: how many answers are out of the prompt. Δ: change from the smallest requests.",
        INTERVALS,
    )
    return Table(
        f"{group.title}: places in a request, accuracy (%), {group.reference} and {labels}",
        tuple(rows[0]),
        tuple(tuple(row.values()) for row in rows),
        (*said, *shown.notes(BATCHES.choices)),
        {"split": group.title, "labels": labels},
    )


def block_rows(name: str, block: list[Entry], reference: str, labels: str) -> Iterator[dict[str, Cell]]:
    """One model's rows: the images at each place, in requests of every size."""
    largest, images = words(aligned(block)[-1]).place, block_images(block, (reference, labels))
    for place in map(batch, block):
        for entry in block:
            who: dict[str, Cell] = {"Model": name, "Img Pos.": str(place), "Batch": str(batch(entry))}
            yield who | dict(numbers(entry, block[0], reference, labels, images & (largest == place)))


def numbers(entry: Entry, first: Entry, reference: str, labels: str, chosen: Bools) -> Iterator[tuple[str, Cell]]:
    """One row's numbers, each with its change from the smallest requests."""
    for head, name in {reference: reference, "A": labels}.items():
        one, other = (each.answers.truths[name] for each in (first, entry))
        yield head, share(other.correct, chosen)
        yield f"{head} Δ", change(one.correct, other.correct, chosen) if entry is not first else None
    yield "OOP", counted(share(words(entry).outside, chosen))
    yield "OOP Δ", more_outside(first, entry, chosen) if entry is not first else None
