"""Overlap of OODBench's pairs with the models' own OOD sets: Figure 6 of arXiv 2602.18094."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eyechart.oodbench.division import OOD_H, OOD_S

from ..answers import Bools, Ints, clustered_proportion
from ..render import NumberCell, Row, Table
from ..runs import Runs, collect_notes
from .cases import nothing_to_show, with_unique_titles
from .model_cases import ModelCases, all_entries, data_set_note, existence_cases, group_by_pairs

SETS = {"OOD": (OOD_S, OOD_H), OOD_S: (OOD_S,), OOD_H: (OOD_H,)}
MEANING = "A pair is in a model's own OOD set if one of its two answers is wrong. Additional: in none of those above."


@dataclass(frozen=True)
class Coverage:
    """The pairs of one set that each model answers wrongly (models, pairs), and their images (pairs,).

    `incomplete` is the number of pairs that lack an answer of some model and are left out.
    """

    kind: str
    blocks: tuple[ModelCases, ...]
    wrong: Bools
    images: Ints
    incomplete: int

    @property
    def n(self) -> int:
        """The number of pairs."""
        return int(self.wrong.shape[1])

    @property
    def split(self) -> str:
        """The benchmark and split."""
        record = self.blocks[0].entries[0].record
        return f"{record.benchmark}/{record.split}"

    @cached_property
    def shares(self) -> list[tuple[NumberCell, NumberCell, NumberCell]]:
        """Per model the shares of its own wrong pairs, of those no earlier model has, and of all so far."""
        covered = np.logical_or.accumulate(self.wrong, axis=0)
        added = np.diff(covered.astype(np.int64), axis=0, prepend=0) > 0
        own, more, every = (
            [clustered_proportion(row, self.images) for row in of] for of in (self.wrong, added, covered)
        )
        return list(zip(own, more, every, strict=True))


def coverages(pool: Runs) -> list[list[Coverage]]:
    """Return the sets of each division and settings, with the models in descending order of their own shares."""
    divisions = [
        compute_coverages(blocks)
        for of in group_by_pairs(existence_cases(pool, "oodbench-F6"))
        for blocks in group_by_settings(of)
    ]
    if not any(divisions):
        what = "compares OODBench's pairs with those that models answer wrongly"
        raise nothing_to_show(
            pool, "oodbench-F6", what, 'pytest -k "oodbench and existence" --eye-model=A --eye-model=B'
        )
    return [sets for sets in divisions if sets]


def group_by_settings(blocks: Sequence[ModelCases]) -> Iterator[list[ModelCases]]:
    """Yield the cases of each settings."""
    for way in dict.fromkeys(block.prompt_settings() for block in blocks):
        yield [block for block in blocks if block.prompt_settings() == way]


def compute_coverages(blocks: Sequence[ModelCases]) -> list[Coverage]:
    """Return the non-empty sets of one division."""
    parts = {name: [wrong_and_incomplete(block, name) for block in blocks] for name in (OOD_S, OOD_H)}
    every = np.concatenate([np.array(masks).swapaxes(0, 1) for masks in parts.values()], axis=2)
    order = np.argsort(-every[0].sum(axis=1), kind="stable")
    sets = []
    for kind, names in SETS.items():
        wrong, lost = np.concatenate([np.array(parts[name]).swapaxes(0, 1) for name in names], axis=2)
        kept = ~lost.any(axis=0)
        chosen = tuple(blocks[place] for place in order)
        images = np.concatenate([image_ids(blocks[0], name) for name in names])[kept]
        sets.append(Coverage(kind, chosen, wrong[order][:, kept], images, int((~kept).sum())))
    return [coverage for coverage in sets if coverage.n]


def image_ids(block: ModelCases, name: str) -> Ints:
    """Return the image of each pair of a set (pairs,), with different numbers for different data sets."""
    _, strata, images, _ = block.rows(name)
    return images * len(block.entries) + strata


def wrong_and_incomplete(block: ModelCases, name: str) -> tuple[Bools, Bools]:
    """Return the pairs of a set with a wrong answer, and those without a wrong answer that lack an answer."""
    counts, *_, answered = block.rows(name)
    wrong: Bools = counts[:, 1:3].sum(axis=1) > 0
    return wrong, ~(wrong | answered)


def f6(pool: Runs, _: str | None) -> list[Table]:
    """Return Figure 6 as a table: the share of pairs that models answer wrongly, model by model."""
    divisions = coverages(pool)
    return with_unique_titles(list(map(coverage_table, divisions)), [all_entries(of[0].blocks) for of in divisions])


def coverage_table(sets: Sequence[Coverage]) -> Table:
    """Return the table of one division."""
    blocks = sets[0].blocks
    rows: list[Row] = [
        (coverage.kind, block.model, *numbers)
        for coverage in sets
        for block, numbers in zip(coverage.blocks, coverage.shares, strict=True)
    ]
    notes = [MEANING, "Brackets: 95 % intervals, Wilson over images with all their pairs."]
    if lost := sets[0].incomplete:
        notes.append(f"{lost:,} pairs are left out: not every model has answered them.")
    notes += [
        *dict.fromkeys(map(data_set_note, all_entries(blocks))),
        f"Set: {blocks[0].prompt_settings() or 'no choices'}.",
    ]
    notes += collect_notes(all_entries(blocks))
    return Table(
        f"{sets[0].split}: overlap of OODBench's pairs with models' own OOD sets (%)",
        ("Data Type", "Model", "Own", "Additional", "Covered"),
        tuple(rows),
        tuple(notes),
        {"split": sets[0].split, "pairs": blocks[0].pairs_key[0][1][:12], "asked": blocks[0].prompt_settings()},
    )
