"""The cases behind a row of OODBench's tables: one model and prompt, on one data set or several pooled data sets."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eyechart.oodbench.division import SETS

from ..answers import Bools, Ints
from ..render import Cell, Table
from ..runs import CaseRun, Runs, collect_notes
from .cases import nothing_to_show, with_unique_titles
from .measures import HEADS, MEANING, RATES, measure_numbers
from .pages import COT, EXISTENCE, IGNORED_OPTIONS, SAMPLE, SHOWN_OPTIONS, published_order, set_time, source_name
from .pair_frames import INITIAL, INITIAL_SETS, OOD_SETS


@dataclass(frozen=True)
class ModelCases:
    """The cases of one model with the same settings, one per data set."""

    entries: tuple[CaseRun, ...]

    @property
    def model(self) -> str:
        """The model's name."""
        return self.entries[0].model

    def prompt_settings(self, without: Collection[str] = ()) -> str:
        """Return the settings of division and prompts, without the options that a table compares."""
        return self.entries[0].prompt_settings_without((*IGNORED_OPTIONS, *without))

    @property
    def suffix(self) -> str:
        """The suffix of a set's name for chain-of-thought prompts."""
        return COT if self.entries[0].option("reasoning") == "cot" else ""

    @property
    def seed(self) -> int:
        """The seed of the bootstrap, as in the records."""
        return self.entries[0].record.seed

    @property
    def initial(self) -> bool:
        """Whether all flagged pairs were asked about."""
        return all(entry.option("division_scope") == "initial" for entry in self.entries)

    @cached_property
    def pairs_key(self) -> tuple[tuple[str, str], ...]:
        """The split and the hash of the pairs of each case; cases with the same key are in one table."""
        return tuple((entry.record.split, entry.pairs.identity) for entry in self.entries)

    def rows(self, name: str) -> tuple[Ints, Ints, Ints, Bools]:
        """Return for each pair of a set: `Pairs.counts`, data set index, image index, and whether it is answered.

        The order of pairs is the same for all models.
        """
        indices = [(number, entry.pairs, entry.pairs.sorted_indices(name)) for number, entry in enumerate(self.entries)]
        counts = np.concatenate([pairs.counts[places] for _, pairs, places in indices])
        strata = np.concatenate([np.full(len(places), number, np.int64) for number, _, places in indices])
        images = np.concatenate([pairs.images[places] for _, pairs, places in indices])
        return counts, strata, images, np.concatenate([pairs.answered[places] for _, pairs, places in indices])

    def counts(self, name: str) -> Ints:
        """Return `Pairs.counts` (m, 7) of the answered pairs of a set, data set by data set."""
        counts, _, _, answered = self.rows(name)
        return counts[answered]

    def strata(self, name: str) -> Ints:
        """Return the data set index (m,) of each answered pair of a set."""
        _, strata, _, answered = self.rows(name)
        return strata[answered]

    def images(self, name: str) -> Ints:
        """Return the image index (m,) of each answered pair of a set."""
        _, _, images, answered = self.rows(name)
        return images[answered]

    def sets(self) -> Iterator[str]:
        """Yield the non-empty sets, including those of the initial benchmark if it was asked about."""
        wanted = (*SETS, *INITIAL_SETS) if self.initial else SETS
        yield from (name for name in wanted if len(self.rows(name)[0]))


def existence_cases(pool: Runs, name: str) -> list[ModelCases]:
    """Return the existence cases of every model, settings and data set; of duplicates the one with more pairs."""
    largest: dict[tuple[object, ...], ModelCases] = {}
    for group in pool.groups:
        for entry in group.with_protocols(EXISTENCE).cases:
            block = ModelCases((entry,))
            key = (block.model, block.prompt_settings(), block.pairs_key)
            largest[key] = max(largest.get(key, block), block, key=count_pairs)
    if not largest:
        what = "shows how well models recognise present and absent categories"
        raise nothing_to_show(pool, name, what, 'pytest -k "oodbench and existence"')
    return list(largest.values())


def count_pairs(block: ModelCases) -> int:
    """Return the number of pairs of all cases."""
    return sum(len(entry.pairs.numbers) for entry in block.entries)


def pool_data_sets(singles: Sequence[ModelCases]) -> list[ModelCases]:
    """Return the cases of each model and settings pooled over data sets; of two divisions of one, the larger.

    Packaged samples are not pooled with other data.
    """
    groups: dict[tuple[str, str, bool], dict[str, ModelCases]] = {}
    for block in singles:
        split = block.entries[0].record.split
        home = groups.setdefault((block.model, block.prompt_settings(), split.startswith(SAMPLE)), {})
        home[split] = max(home.get(split, block), block, key=count_pairs)
    return [
        ModelCases(tuple(sorted((block.entries[0] for block in home.values()), key=published_order)))
        for home in groups.values()
    ]


def group_by_pairs(blocks: Sequence[ModelCases]) -> list[list[ModelCases]]:
    """Return the cases grouped by pairs, those of most data sets first; models by name, chain of thought last."""
    groups: dict[object, list[ModelCases]] = {}
    for block in blocks:
        groups.setdefault(block.pairs_key, []).append(block)
    tables = sorted(groups.values(), key=lambda of: (-len(of[0].entries), *map(published_order, of[0].entries)))
    return [sorted(of, key=lambda block: (block.model, block.suffix, block.prompt_settings())) for of in tables]


def build_tables(groups: Sequence[Sequence[ModelCases]], make: Callable[[Sequence[ModelCases]], Table]) -> list[Table]:
    """Return one table per group, all with different titles."""
    return with_unique_titles(list(map(make, groups)), [all_entries(blocks) for blocks in groups], SHOWN_OPTIONS)


def all_entries(blocks: Sequence[ModelCases]) -> list[CaseRun]:
    """Return the entries of all cases."""
    return [entry for block in blocks for entry in block.entries]


def model_labels(blocks: Sequence[ModelCases], without: Collection[str] = ()) -> Mapping[int, str]:
    """Return the text of the column Model by the identity of the cases; a letter marks different settings."""
    ways = settings_by_suffix(blocks, without)
    return {
        id(b): f"{b.model} ({index_letter(settings.index(b.prompt_settings(without)))})"
        if len(settings := ways[b.suffix]) > 1
        else b.model
        for b in blocks
    }


def settings_by_suffix(blocks: Sequence[ModelCases], without: Collection[str]) -> dict[str, list[str]]:
    """Return the different settings, by suffix of the set's name."""
    pairs = dict.fromkeys(sorted((block.suffix, block.prompt_settings(without)) for block in blocks))
    return {mark: [way for of, way in pairs if of == mark] for mark, _ in pairs}


def index_letter(place: int) -> str:
    """Return a, b, c, … for an index, or its number from 26 on."""
    return chr(ord("a") + place) if place < 26 else str(place)


def table_notes(blocks: Sequence[ModelCases], without: Collection[str] = ()) -> Iterator[str]:
    """Yield the notes of a table: the meaning of its columns, the data sets, and the settings."""
    yield MEANING
    yield from dict.fromkeys(data_set_note(entry) for block in blocks for entry in block.entries)
    for mark, ways in settings_by_suffix(blocks, without).items():
        for place, way in enumerate(ways):
            which = f" ({index_letter(place)})" if len(ways) > 1 else ""
            yield f"Set{mark}{which}: {way or 'no choices'}."
    yield from collect_notes(all_entries(blocks))


def data_set_note(entry: CaseRun) -> str:
    """Return a note about a data set: its images, its fingerprint, and the pairs of each set."""
    record, pairs = entry.record, entry.pairs
    sizes = ", ".join(f"{name} {int(pairs.in_set(name).sum()):,}" for name in SETS)
    chosen = "" if record.limit is None else f" (a choice with seed {record.seed})"
    return (
        f"{source_name(entry)}: {record.benchmark}/{record.split}, {record.data.n:,} images{chosen}, fingerprint "
        f"{record.data.fingerprint[:12]}; pairs {sizes} ({pairs.identity[:12]})."
    )


def data_sets_label(block: ModelCases) -> str:
    """Return the data sets of a table, such as `COCO + LVIS`."""
    return " + ".join(map(source_name, block.entries))


def measure_cells(block: ModelCases, name: str, heads: Sequence[str] = (*HEADS, *RATES)) -> list[Cell]:
    """Return the number of answers, then each measure with its interval."""
    counts = block.counts(name)
    numbers = measure_numbers(counts, block.strata(name), block.images(name), block.seed)
    return [int(counts[:, :4].sum()), *(numbers[head] for head in heads)]


def model_set_time(block: ModelCases, name: str) -> str | None:
    """Return the time of a set; for the initial benchmark only its whole sets are timed."""
    if name in INITIAL_SETS:
        return set_time(block.entries[0], name.removesuffix(INITIAL))
    return None if block.initial and name in OOD_SETS else set_time(block.entries[0], name)
