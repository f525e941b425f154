"""Which of OODBench's pairs are out of distribution for the models themselves: Figure 6 of arXiv 2602.18094."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eyechart.oodbench.divisions import HARD, SIMPLE

from ..answers import Bools, Ints, clustered_proportion
from ..render import NumberCell, Row, Table
from ..runs import Runs, collect_notes
from .blocks import Block, asked, described, entries_of, tabled
from .cases import distinct, nothing

SETS = {"OOD": (SIMPLE, HARD), SIMPLE: (SIMPLE,), HARD: (HARD,)}
MEANING = "A pair is in a model's own OOD set if one of its two answers is wrong. Additional: in none of those above."


@dataclass(frozen=True)
class Covered:
    """The pairs of one set that each model answers wrongly (models, pairs), and their images (pairs,).

    `lost` is the number of pairs without all models' answers.
    """

    kind: str
    blocks: tuple[Block, ...]
    wrong: Bools
    images: Ints
    lost: int

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return int(self.wrong.shape[1])

    @property
    def split(self) -> str:
        """The data set."""
        record = self.blocks[0].entries[0].record
        return f"{record.benchmark}/{record.split}"

    @cached_property
    def shares(self) -> list[tuple[NumberCell, NumberCell, NumberCell]]:
        """Of each model: its own pairs, those that no model before it has, and those that it or one before it has."""
        covered = np.logical_or.accumulate(self.wrong, axis=0)
        added = np.diff(covered.astype(np.int64), axis=0, prepend=0) > 0
        own, more, every = (
            [clustered_proportion(row, self.images) for row in of] for of in (self.wrong, added, covered)
        )
        return list(zip(own, more, every, strict=True))


def covered(pool: Runs) -> list[list[Covered]]:
    """Each division's sets, asked in one way, with the models in the order of their own shares."""
    found = [of_blocks(blocks) for of in tabled(asked(pool, "oodbench-F6")) for blocks in in_one_way(of)]
    if not any(found):
        what = "compares OODBench's pairs with those that models answer wrongly"
        raise nothing(pool, "oodbench-F6", what, 'pytest -k "oodbench and existence" --eye-model=A --eye-model=B')
    return [each for each in found if each]


def in_one_way(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """The models that were asked in one way."""
    for way in dict.fromkeys(block.worded() for block in blocks):
        yield [block for block in blocks if block.worded() == way]


def of_blocks(blocks: Sequence[Block]) -> list[Covered]:
    """The sets of one division that have pairs."""
    parts = {name: [wrong_or_lost(block, name) for block in blocks] for name in (SIMPLE, HARD)}
    every = np.concatenate([np.array(each).swapaxes(0, 1) for each in parts.values()], axis=2)
    order = np.argsort(-every[0].sum(axis=1), kind="stable")
    found = []
    for kind, names in SETS.items():
        wrong, lost = np.concatenate([np.array(parts[name]).swapaxes(0, 1) for name in names], axis=2)
        kept = ~lost.any(axis=0)
        chosen = tuple(blocks[place] for place in order)
        images = np.concatenate([images_of(blocks[0], name) for name in names])[kept]
        found.append(Covered(kind, chosen, wrong[order][:, kept], images, int((~kept).sum())))
    return [each for each in found if each.n]


def images_of(block: Block, name: str) -> Ints:
    """Return the image of each of a set's pairs (pairs,), images of two data sets with numbers of their own."""
    _, strata, images, _ = block.rows(name)
    return images * len(block.entries) + strata


def wrong_or_lost(block: Block, name: str) -> tuple[Bools, Bools]:
    """Of a set's pairs, those with a wrong answer, and those with none that is wrong and not both."""
    counts, *_, answered = block.rows(name)
    wrong: Bools = counts[:, 1:3].sum(axis=1) > 0
    return wrong, ~(wrong | answered)


def f6(pool: Runs, _: str | None) -> list[Table]:
    """Figure 6 as a table: the share of pairs that models answer wrongly, model by model."""
    found = covered(pool)
    return distinct(list(map(coverage_table, found)), [entries_of(of[0].blocks) for of in found])


def coverage_table(found: Sequence[Covered]) -> Table:
    """One division."""
    blocks = found[0].blocks
    rows: list[Row] = [
        (each.kind, block.model, *numbers)
        for each in found
        for block, numbers in zip(each.blocks, each.shares, strict=True)
    ]
    said = [MEANING, "Brackets: 95 % intervals, Wilson over images with all their pairs."]
    if lost := found[0].lost:
        said.append(f"{lost:,} pairs are left out: not every model has answered them.")
    said += [*dict.fromkeys(map(described, entries_of(blocks))), f"Set: {blocks[0].worded() or 'no choices'}."]
    said += collect_notes(entries_of(blocks))
    return Table(
        f"{found[0].split}: overlap of OODBench's pairs with models' own OOD sets (%)",
        ("Data Type", "Model", "Own", "Additional", "Covered"),
        tuple(rows),
        tuple(said),
        {"split": found[0].split, "pairs": blocks[0].about[0][1][:12], "asked": blocks[0].worded()},
    )
