"""Rows of OODBench's tables: a model that was asked in one way, about one data set or about several pooled."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eyechart.oodbench.division import OOD_H, OOD_S, SETS

from ..answers import Bools, Ints
from ..render import Table
from ..runs import CaseRun, Runs, collect_notes
from .cases import EXISTENCE, nothing_to_show, published_order, source_name, with_unique_titles
from .pairs import INITIAL

IGNORED_OPTIONS = (
    "source",
    "division",
    "names",
    "division_scope",
    "hard_samples",
)  # what a data set brings along, or only adds pairs
COT, SAMPLE = "^CoT", "sample-"
SUFFIX_OPTIONS = ("reasoning",)  # stands behind a set's name
OOD_SETS = (OOD_S, OOD_H)
INITIAL_SETS = (OOD_S + INITIAL, OOD_H + INITIAL)
MEANING = (
    "Num: answers, two opposite questions a pair. Accuracy to MCC, in %, positive is yes: an answer that cannot be "
    "read is wrong, a pair with an error counts nowhere. Yes and Unparsed: shares of the answers. "
    "Brackets: 95 % intervals, bootstrap over images with all their pairs, within each data set."
)


@dataclass(frozen=True)
class ModelCases:
    """The cases of one model that were asked in one way, one a data set."""

    entries: tuple[CaseRun, ...]

    @property
    def model(self) -> str:
        """The model's name."""
        return self.entries[0].model

    def prompt_settings(self, without: Collection[str] = ()) -> str:
        """How the pairs were divided and the questions put, but for the choices that a table compares."""
        return self.entries[0].prompt_settings_without((*IGNORED_OPTIONS, *without))

    @property
    def suffix(self) -> str:
        """What stands behind a set's name where the model was to reason first."""
        return COT if self.entries[0].option("reasoning") == "cot" else ""

    @property
    def seed(self) -> int:
        """The seed of the resamples, as in the records."""
        return self.entries[0].record.seed

    @property
    def initial(self) -> bool:
        """Whether all that was flagged was asked about."""
        return all(entry.option("division_scope") == "initial" for entry in self.entries)

    @cached_property
    def pairs_key(self) -> tuple[tuple[str, str], ...]:
        """Which pairs of which split: blocks with the same stand in one table."""
        return tuple((entry.record.split, entry.pairs.identity) for entry in self.entries)

    def rows(self, name: str) -> tuple[Ints, Ints, Ints, Bools]:
        """Of a set's pairs, in one order for all: `Pairs.counts`, the data set, the image in it, answered."""
        found = [(number, entry.pairs, entry.pairs.sorted_indices(name)) for number, entry in enumerate(self.entries)]
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
        wanted = (*SETS, *INITIAL_SETS) if self.initial else SETS
        yield from (name for name in wanted if len(self.rows(name)[0]))


def existence_cases(pool: Runs, name: str) -> list[ModelCases]:
    """Every model, way of asking and data set; of two cases that asked the same, the one that asked about more."""
    found: dict[tuple[object, ...], ModelCases] = {}
    for group in pool.groups:
        for entry in group.with_protocols(EXISTENCE).cases:
            block = ModelCases((entry,))
            key = (block.model, block.prompt_settings(), block.pairs_key)
            found[key] = max(found.get(key, block), block, key=count_pairs)
    if not found:
        what = "shows how well models see what is there and what is not"
        raise nothing_to_show(pool, name, what, 'pytest -k "oodbench and existence"')
    return list(found.values())


def count_pairs(block: ModelCases) -> int:
    """How many pairs were asked about."""
    return sum(len(entry.pairs.numbers) for entry in block.entries)


def pool_data_sets(singles: Sequence[ModelCases]) -> list[ModelCases]:
    """The data sets that a model was asked about in one way together; of two divisions of one, the larger.

    Packaged pictures are pooled with one another alone.
    """
    found: dict[tuple[str, str, bool], dict[str, ModelCases]] = {}
    for block in singles:
        split = block.entries[0].record.split
        home = found.setdefault((block.model, block.prompt_settings(), split.startswith(SAMPLE)), {})
        home[split] = max(home.get(split, block), block, key=count_pairs)
    return [
        ModelCases(tuple(sorted((block.entries[0] for block in home.values()), key=published_order)))
        for home in found.values()
    ]


def group_by_pairs(blocks: Sequence[ModelCases]) -> list[list[ModelCases]]:
    """The blocks about the same pairs together, those about most data sets first; models by name, CoT last."""
    found: dict[object, list[ModelCases]] = {}
    for block in blocks:
        found.setdefault(block.pairs_key, []).append(block)
    tables = sorted(found.values(), key=lambda of: (-len(of[0].entries), *map(published_order, of[0].entries)))
    return [sorted(of, key=lambda block: (block.model, block.suffix, block.prompt_settings())) for of in tables]


def build_tables(found: Sequence[Sequence[ModelCases]], make: Callable[[Sequence[ModelCases]], Table]) -> list[Table]:
    """A table of each, no two with the same title."""
    return with_unique_titles(list(map(make, found)), [all_entries(blocks) for blocks in found], SUFFIX_OPTIONS)


def all_entries(blocks: Sequence[ModelCases]) -> list[CaseRun]:
    """Every case of some blocks."""
    return [entry for block in blocks for entry in block.entries]


def model_labels(blocks: Sequence[ModelCases], without: Collection[str] = ()) -> Mapping[int, str]:
    """What stands in the column Model, by the block's identity: a letter where there are several ways of asking."""
    ways = settings_by_suffix(blocks, without)
    return {
        id(b): f"{b.model} ({index_letter(found.index(b.prompt_settings(without)))})"
        if len(found := ways[b.suffix]) > 1
        else b.model
        for b in blocks
    }


def settings_by_suffix(blocks: Sequence[ModelCases], without: Collection[str]) -> dict[str, list[str]]:
    """How models were asked, without reasoning first and with."""
    pairs = dict.fromkeys(sorted((block.suffix, block.prompt_settings(without)) for block in blocks))
    return {mark: [way for of, way in pairs if of == mark] for mark, _ in pairs}


def index_letter(place: int) -> str:
    """A, b, c, and so on, then numbers."""
    return chr(ord("a") + place) if place < 26 else str(place)


def table_notes(blocks: Sequence[ModelCases], without: Collection[str] = ()) -> Iterator[str]:
    """What the numbers mean, which data they come from and how the questions were put."""
    yield MEANING
    yield from dict.fromkeys(data_set_note(entry) for block in blocks for entry in block.entries)
    for mark, ways in settings_by_suffix(blocks, without).items():
        for place, way in enumerate(ways):
            which = f" ({index_letter(place)})" if len(ways) > 1 else ""
            yield f"Set{mark}{which}: {way or 'no choices'}."
    yield from collect_notes(all_entries(blocks))


def data_set_note(entry: CaseRun) -> str:
    """One data set: its images, its main benchmark's pairs and how many there are of each set."""
    record, pairs = entry.record, entry.pairs
    sizes = ", ".join(f"{name} {int(pairs.in_set(name).sum()):,}" for name in SETS)
    chosen = "" if record.limit is None else f" (a choice with seed {record.seed})"
    return (
        f"{source_name(entry)}: {record.benchmark}/{record.split}, {record.data.n:,} images{chosen}, fingerprint "
        f"{record.data.fingerprint[:12]}; pairs {sizes} ({pairs.identity[:12]})."
    )
