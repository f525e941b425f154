"""What became of every number since the baseline, or since the run before: the verdicts of `compare`, for the page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eyechart.gate.comparing import VERDICTS, Verdict, title
from eyechart.gate.evidence import Evidence, Proof
from eyechart.gate.headlines import LABELLED, WHOLE

from ..evidence_io import case_evidence
from ..render import one_line
from ..runs import CaseRun, Runs
from ..verdicts import (
    Key,
    Rule,
    RunComparison,
    compare_cases,
    difference_notes,
    join_labels,
    one_sided_notes,
    refusal_notes,
    verdict_cells,
)
from .previous import PreviousCase, PreviousCases
from .published import cell_data
from .sample_groups import CaseSamples
from .sample_readers import STAGES
from .samples import RIGHT, WRONG, LabelOutcomes
from .summary import first_metric

SamplePlaces = Mapping[
    int, tuple[str, int, CaseSamples]
]  # by the identity of an entry: its album, its place there, its items
QUESTION_PREFIXES = {
    f"{mark}_acc": f"{stage}:" for stage, mark in STAGES.items()
}  # how the questions of a number begin
NO_BASELINE, NOT_COMPARABLE = "no baseline", "not comparable"


@dataclass(frozen=True)
class Changes:
    """Every number's verdict, what the cases are compared with, and the cases with nothing to be compared with."""

    against: str
    rule: Rule
    outcome: RunComparison
    previous: PreviousCases
    without_baseline: tuple[Key, ...] = ()

    @cached_property
    def by_case(self) -> Mapping[Key, list[Verdict]]:
        """The verdicts of each case, what matters first."""
        found: dict[Key, list[Verdict]] = {}
        for key, verdict in self.outcome.verdicts:
            found.setdefault(key, []).append(verdict)
        return found

    @property
    def has_content(self) -> bool:
        """Whether there is anything to say."""
        return bool(self.outcome.verdicts or self.outcome.refused or self.without_baseline)

    def summary(self) -> dict[str, Any]:
        """What the index says of it."""
        words = [verdict.word for _, verdict in self.outcome.verdicts]
        return {
            "against": one_line(self.against),
            "rule": str(self.rule),
            "counts": {word: words.count(word) for word in VERDICTS if word in words},
            "apart": [*map(one_line, self.not_compared())],
            "notes": [*map(one_line, difference_notes(self.outcome.compared))],
        }

    def not_compared(self) -> Iterator[str]:
        """What is not compared, and why."""
        yield from refusal_notes(self.outcome)
        if self.without_baseline:
            yield f"{self.against} has no baseline for {join_labels(self.without_baseline)}."
        yield from one_sided_notes(self.outcome.compared)

    def case_summary(self, entry: CaseRun, places: SamplePlaces) -> dict[str, Any]:
        """What a case's row says: the word that matters most, of how many numbers, and how its first number moved."""
        key, first = case_key(entry), first_metric(entry)
        if key in self.without_baseline or key in self.outcome.refused:
            return {
                "held": {"word": NO_BASELINE if key in self.without_baseline else NOT_COMPARABLE, "count": 0, "of": 0}
            }
        mine = self.by_case.get(key, [])
        if not mine:
            return {}
        words = [verdict.word for verdict in mine]
        held = {"word": words[0], "count": words.count(words[0]), "of": len(mine)}
        named = first and (first.name, first.labels, first.category)
        moved = next((each for each in mine if each.found.proof.key == named), None)
        return {"held": held} | ({"change": self.row(moved, entry, places)} if moved else {})

    def rows(self, pool: Runs, places: SamplePlaces) -> list[dict[str, Any]]:
        """A row a number, what matters first; `case` is the number of its case's row."""
        entries = {case_key(entry): (number, entry) for number, entry in enumerate(pool.cases)}
        told = ((entries[key], verdict) for key, verdict in self.outcome.verdicts)
        return [{"case": number} | self.row(verdict, entry, places) for (number, entry), verdict in told]

    def row(self, verdict: Verdict, entry: CaseRun, places: SamplePlaces) -> dict[str, Any]:
        """A number as `compare` writes it, and where its samples are."""
        name, labels, category = map(one_line, verdict.found.proof.key)
        where = sample_filter(verdict.found.proof, places[id(entry)][2]) if id(entry) in places else {}
        return {
            "name": name,
            "labels": labels,
            "category": category,
            "cells": [*map(cell_data, verdict_cells(verdict))],
            "samples": where,
        }


def compare_with_previous(
    pool: Runs, known: Mapping[int, PreviousCase], against: str, rule: Rule, *, named: bool
) -> Changes:
    """Hold every case against what is known of it; where a baseline was named, each should have one."""
    pairs = {
        case_key(entry): (to_evidence(old), to_evidence(entry)) for entry in pool.cases if (old := known.get(id(entry)))
    }
    outcome = compare_cases(pairs, rule)
    alone = [case_key(entry) for entry in pool.cases if named and id(entry) not in known]
    kept = {id(entry): known[id(entry)] for entry in pool.cases if case_key(entry) in outcome.compared}
    return Changes(against, rule, outcome, kept, tuple(alone))


def to_evidence(found: PreviousCase) -> Evidence:
    """What the numbers of a case are made of."""
    return case_evidence(found.record, found.folder) if isinstance(found, CaseRun) else found


def case_key(entry: CaseRun) -> Key:
    """What tells a case from others, of the same run and of other runs."""
    return entry.record.case, entry.record.protocol, str(entry.folder)


def sample_filter(proof: Proof, exhibit: CaseSamples) -> dict[str, Any]:
    """How the list of samples is filtered down to what a number lost and gained, and how many these are.

    A share's own; of any other number the samples of its ground truth and set whose outcome changed.
    """
    labels = {"labels": proof.labels} if proof.labels in exhibit.samples.truths else {}
    if own := exhibit.changes.get(title(proof)):
        return labels | {"of": title(proof), "lost": len(own.lost), "gained": len(own.gained)}
    before, now = (said.truths.get(proof.labels) if said else None for said in (exhibit.previous, exhibit.samples))
    found = {
        "category": "" if proof.category in (*WHOLE, LABELLED) else proof.category,
        "find": QUESTION_PREFIXES.get(proof.name, ""),
    }
    if before is None or now is None:
        return {}
    counts = {
        how: sum(matches(exhibit, now, row, **found) for row in rows.tolist())
        for how, rows in (
            ("lost", changed_rows(before, now, RIGHT, WRONG)),
            ("gained", changed_rows(before, now, WRONG, RIGHT)),
        )
    }
    return labels | found | counts | {"unit": exhibit.samples.unit} if any(counts.values()) else {}


def changed_rows(before: LabelOutcomes, now: LabelOutcomes, was: int, became: int) -> Any:
    """The items that turned from one outcome to another."""
    return np.flatnonzero((before.outcomes == was) & (now.outcomes == became))


def matches(exhibit: CaseSamples, held: LabelOutcomes, row: int, *, category: str, find: str) -> bool:
    """Whether an item is of a set, and its question begins as is wanted."""
    return held.categories[row].startswith(category) and exhibit.samples.items[row][1].startswith(find)
