"""Rows of OODBench's tables: a model that was asked in one way, about one data set or about several pooled."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eyechart.oodbench.divisions import HARD, SETS, SIMPLE

from ..answers import Bools, Ints
from ..render import Table
from ..runs import CaseRun, Runs, collect_notes
from .cases import EXISTENCE, as_published, distinct, nothing, source
from .pairs import INITIAL

APART = ("source", "division", "names", "benchmark", "hard")  # what a data set brings along, or only adds pairs
COT, SAMPLE = "^CoT", "sample-"
MARKED = ("reasoning",)  # stands behind a set's name
OUT = (SIMPLE, HARD)
WIDE = (SIMPLE + INITIAL, HARD + INITIAL)
MEANING = (
    "Num: answers, two opposite questions a pair. Accuracy to MCC, in %, positive is yes: an answer that cannot be "
    "read is wrong, a pair with an error counts nowhere. Yes and Unparsed: shares of the answers. "
    "Brackets: 95 % intervals, bootstrap over images with all their pairs, within each data set."
)


@dataclass(frozen=True)
class Block:
    """The cases of one model that were asked in one way, one a data set."""

    entries: tuple[CaseRun, ...]

    @property
    def model(self) -> str:
        """The model's name."""
        return self.entries[0].model

    def worded(self, without: Collection[str] = ()) -> str:
        """How the pairs were divided and the questions put, but for the choices that a table compares."""
        return self.entries[0].prompt_settings_without((*APART, *without))

    @property
    def mark(self) -> str:
        """What stands behind a set's name where the model was to reason first."""
        return COT if self.entries[0].option("reasoning") == "cot" else ""

    @property
    def seed(self) -> int:
        """The seed of the resamples, as in the records."""
        return self.entries[0].record.seed

    @property
    def initial(self) -> bool:
        """Whether all that was flagged was asked about."""
        return all(entry.option("benchmark") == "initial" for entry in self.entries)

    @cached_property
    def about(self) -> tuple[tuple[str, str], ...]:
        """Which pairs of which split: blocks with the same stand in one table."""
        return tuple((entry.record.split, entry.pairs.identity) for entry in self.entries)

    def rows(self, name: str) -> tuple[Ints, Ints, Ints, Bools]:
        """Of a set's pairs, in one order for all: `Pairs.counts`, the data set, the image in it, answered."""
        found = [(number, entry.pairs, entry.pairs.places(name)) for number, entry in enumerate(self.entries)]
        counts = np.concatenate([pairs.counts[places] for _, pairs, places in found])
        strata = np.concatenate([np.full(len(places), number, np.int64) for number, _, places in found])
        images = np.concatenate([pairs.images[places] for _, pairs, places in found])
        return counts, strata, images, np.concatenate([pairs.answered[places] for _, pairs, places in found])

    def counts(self, name: str) -> Ints:
        """(m, 7) of the pairs of a set that have both answers, as `Pairs.counts`, data set by data set."""
        counts, _, _, answered = self.rows(name)
        return counts[answered]

    def strata(self, name: str) -> Ints:
        """(m,) which data set each of them is of."""
        _, strata, _, answered = self.rows(name)
        return strata[answered]

    def images(self, name: str) -> Ints:
        """(m,) which image of its data set each of them is about."""
        _, _, images, answered = self.rows(name)
        return images[answered]

    def sets(self) -> Iterator[str]:
        """The sets that hold a pair, those of the initial benchmark where it was asked."""
        wanted = (*SETS, *WIDE) if self.initial else SETS
        yield from (name for name in wanted if len(self.rows(name)[0]))


def asked(pool: Runs, name: str) -> list[Block]:
    """Every model, way of asking and data set; of two cases that asked the same, the one that asked about more."""
    found: dict[tuple[object, ...], Block] = {}
    for group in pool.groups:
        for entry in group.with_protocols(EXISTENCE).cases:
            block = Block((entry,))
            key = (block.model, block.worded(), block.about)
            found[key] = max(found.get(key, block), block, key=size)
    if not found:
        what = "shows how well models see what is there and what is not"
        raise nothing(pool, name, what, 'pytest -k "oodbench and existence"')
    return list(found.values())


def size(block: Block) -> int:
    """How many pairs were asked about."""
    return sum(len(entry.pairs.numbers) for entry in block.entries)


def pooled(singles: Sequence[Block]) -> list[Block]:
    """The data sets that a model was asked about in one way together; of two divisions of one, the larger.

    Packaged pictures are pooled with one another alone.
    """
    found: dict[tuple[str, str, bool], dict[str, Block]] = {}
    for block in singles:
        split = block.entries[0].record.split
        home = found.setdefault((block.model, block.worded(), split.startswith(SAMPLE)), {})
        home[split] = max(home.get(split, block), block, key=size)
    return [
        Block(tuple(sorted((block.entries[0] for block in home.values()), key=as_published))) for home in found.values()
    ]


def tabled(blocks: Sequence[Block]) -> list[list[Block]]:
    """The blocks about the same pairs together, those about most data sets first; models by name, CoT last."""
    found: dict[object, list[Block]] = {}
    for block in blocks:
        found.setdefault(block.about, []).append(block)
    tables = sorted(found.values(), key=lambda of: (-len(of[0].entries), *map(as_published, of[0].entries)))
    return [sorted(of, key=lambda block: (block.model, block.mark, block.worded())) for of in tables]


def made_of(found: Sequence[Sequence[Block]], make: Callable[[Sequence[Block]], Table]) -> list[Table]:
    """A table of each, no two with the same title."""
    return distinct(list(map(make, found)), [entries_of(blocks) for blocks in found], MARKED)


def entries_of(blocks: Sequence[Block]) -> list[CaseRun]:
    """Every case of some blocks."""
    return [entry for block in blocks for entry in block.entries]


def called(blocks: Sequence[Block], without: Collection[str] = ()) -> Mapping[int, str]:
    """What stands in the column Model, by the block's identity: a letter where there are several ways of asking."""
    ways = ways_of(blocks, without)
    return {
        id(b): f"{b.model} ({letter(found.index(b.worded(without)))})" if len(found := ways[b.mark]) > 1 else b.model
        for b in blocks
    }


def ways_of(blocks: Sequence[Block], without: Collection[str]) -> dict[str, list[str]]:
    """How models were asked, without reasoning first and with."""
    pairs = dict.fromkeys(sorted((block.mark, block.worded(without)) for block in blocks))
    return {mark: [way for of, way in pairs if of == mark] for mark, _ in pairs}


def letter(place: int) -> str:
    """A, b, c, and so on, then numbers."""
    return chr(ord("a") + place) if place < 26 else str(place)


def notes(blocks: Sequence[Block], without: Collection[str] = ()) -> Iterator[str]:
    """What the numbers mean, which data they come from and how the questions were put."""
    yield MEANING
    yield from dict.fromkeys(described(entry) for block in blocks for entry in block.entries)
    for mark, ways in ways_of(blocks, without).items():
        for place, way in enumerate(ways):
            which = f" ({letter(place)})" if len(ways) > 1 else ""
            yield f"Set{mark}{which}: {way or 'no choices'}."
    yield from collect_notes(entries_of(blocks))


def described(entry: CaseRun) -> str:
    """One data set: its images, its main benchmark's pairs and how many there are of each set."""
    record, pairs = entry.record, entry.pairs
    sizes = ", ".join(f"{name} {int(pairs.of(name).sum()):,}" for name in SETS)
    chosen = "" if record.limit is None else f" (a choice with seed {record.seed})"
    return (
        f"{source(entry)}: {record.benchmark}/{record.split}, {record.data.n:,} images{chosen}, fingerprint "
        f"{record.data.fingerprint[:12]}; pairs {sizes} ({pairs.identity[:12]})."
    )
