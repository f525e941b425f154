"""What became of every number since the baseline, or since the run before: the verdicts of `compare`, for the page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eyechart.gate.comparing import VERDICTS, Verdict, title
from eyechart.gate.evidence import Evidence, Proof
from eyechart.gate.headlines import LABELLED, WHOLE

from ..proven import evidence_of
from ..render import one_line
from ..runs import Entry, Pool
from ..verdicts import Key, Outcome, Rule, cells, changed, gone, judge, listed, refusals
from .albums import Exhibit
from .before import Old, Previous
from .exhibits import cell
from .kinds import STAGES
from .said import RIGHT, WRONG, Held
from .summary import first_metric

Places = Mapping[int, tuple[str, int, Exhibit]]  # by the identity of an entry: its album, its place there, its items
ASKED = {f"{mark}_acc": f"{stage}:" for stage, mark in STAGES.items()}  # how the questions of a number begin
ALONE, APART = "no baseline", "not comparable"


@dataclass(frozen=True)
class Since:
    """Every number's verdict, what the cases are compared with, and the cases with nothing to be compared with."""

    against: str
    rule: Rule
    outcome: Outcome
    previous: Previous
    alone: tuple[Key, ...] = ()

    @cached_property
    def by_case(self) -> Mapping[Key, list[Verdict]]:
        """The verdicts of each case, what matters first."""
        found: dict[Key, list[Verdict]] = {}
        for key, verdict in self.outcome.verdicts:
            found.setdefault(key, []).append(verdict)
        return found

    @property
    def any(self) -> bool:
        """Whether there is anything to say."""
        return bool(self.outcome.verdicts or self.outcome.refused or self.alone)

    def summary(self) -> dict[str, Any]:
        """What the index says of it."""
        words = [verdict.word for _, verdict in self.outcome.verdicts]
        return {
            "against": one_line(self.against),
            "rule": str(self.rule),
            "counts": {word: words.count(word) for word in VERDICTS if word in words},
            "apart": [*map(one_line, self.apart())],
            "notes": [*map(one_line, changed(self.outcome.kept))],
        }

    def apart(self) -> Iterator[str]:
        """What is not compared, and why."""
        yield from refusals(self.outcome)
        if self.alone:
            yield f"{self.against} has no baseline for {listed(self.alone)}."
        yield from gone(self.outcome.kept)

    def of_case(self, entry: Entry, places: Places) -> dict[str, Any]:
        """What a case's row says: the word that matters most, of how many numbers, and how its first number moved."""
        key, first = key_of(entry), first_metric(entry)
        if key in self.alone or key in self.outcome.refused:
            return {"held": {"word": ALONE if key in self.alone else APART, "count": 0, "of": 0}}
        mine = self.by_case.get(key, [])
        if not mine:
            return {}
        words = [verdict.word for verdict in mine]
        held = {"word": words[0], "count": words.count(words[0]), "of": len(mine)}
        named = first and (first.name, first.labels, first.category)
        moved = next((each for each in mine if each.found.proof.key == named), None)
        return {"held": held} | ({"change": self.row(moved, entry, places)} if moved else {})

    def rows(self, pool: Pool, places: Places) -> list[dict[str, Any]]:
        """A row a number, what matters first; `case` is the number of its case's row."""
        entries = {key_of(entry): (number, entry) for number, entry in enumerate(pool.entries)}
        told = ((entries[key], verdict) for key, verdict in self.outcome.verdicts)
        return [{"case": number} | self.row(verdict, entry, places) for (number, entry), verdict in told]

    def row(self, verdict: Verdict, entry: Entry, places: Places) -> dict[str, Any]:
        """A number as `compare` writes it, and where its samples are."""
        name, labels, category = map(one_line, verdict.found.proof.key)
        where = samples(verdict.found.proof, places[id(entry)][2]) if id(entry) in places else {}
        return {
            "name": name,
            "labels": labels,
            "category": category,
            "cells": [*map(cell, cells(verdict))],
            "samples": where,
        }


def since(pool: Pool, known: Mapping[int, Old], against: str, rule: Rule, *, named: bool) -> Since:
    """Hold every case against what is known of it; where a baseline was named, each should have one."""
    pairs = {key_of(entry): (made_of(old), made_of(entry)) for entry in pool.entries if (old := known.get(id(entry)))}
    outcome = judge(pairs, rule)
    alone = [key_of(entry) for entry in pool.entries if named and id(entry) not in known]
    kept = {id(entry): known[id(entry)] for entry in pool.entries if key_of(entry) in outcome.kept}
    return Since(against, rule, outcome, kept, tuple(alone))


def made_of(found: Old) -> Evidence:
    """What the numbers of a case are made of."""
    return evidence_of(found.record, found.folder) if isinstance(found, Entry) else found


def key_of(entry: Entry) -> Key:
    """What tells a case from others, of the same run and of other runs."""
    return entry.record.case, entry.record.protocol, str(entry.folder)


def samples(proof: Proof, exhibit: Exhibit) -> dict[str, Any]:
    """How the list of samples is filtered down to what a number lost and gained, and how many these are.

    A share's own; of any other number the samples of its ground truth and set whose outcome changed.
    """
    labels = {"labels": proof.labels} if proof.labels in exhibit.said.truths else {}
    if own := exhibit.moved.get(title(proof)):
        return labels | {"of": title(proof), "lost": len(own.lost), "gained": len(own.gained)}
    before, now = (said.truths.get(proof.labels) if said else None for said in (exhibit.before, exhibit.said))
    found = {
        "category": "" if proof.category in (*WHOLE, LABELLED) else proof.category,
        "find": ASKED.get(proof.name, ""),
    }
    if before is None or now is None:
        return {}
    counts = {
        how: sum(fits(exhibit, now, row, **found) for row in rows.tolist())
        for how, rows in (("lost", turned(before, now, RIGHT, WRONG)), ("gained", turned(before, now, WRONG, RIGHT)))
    }
    return labels | found | counts | {"unit": exhibit.said.unit} if any(counts.values()) else {}


def turned(before: Held, now: Held, was: int, became: int) -> Any:
    """The items that turned from one outcome to another."""
    return np.flatnonzero((before.outcomes == was) & (now.outcomes == became))


def fits(exhibit: Exhibit, held: Held, row: int, *, category: str, find: str) -> bool:
    """Whether an item is of a set, and its question begins as is wanted."""
    return held.categories[row].startswith(category) and exhibit.said.items[row][1].startswith(find)
