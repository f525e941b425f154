"""Changes of every metric since the baseline or the previous run: the verdicts of `compare`, for the page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.gate.baselines.stored_cases import read_drifts_of
from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.gate.session.compare_cases import CasePair, Key, compare_cases
from eyechart.gate.slices.slice_messages import describe_slice
from eyechart.gate.verdicts.decide import VERDICTS, Rule, Verdict
from eyechart.reports.comparison.verdict_cells import (
    SIDES,
    RunComparison,
    difference_notes,
    join_labels,
    one_sided_notes,
    refusal_notes,
    verdict_cells,
)
from eyechart.reports.page.case_rows import first_metric
from eyechart.reports.page.page_tables import cell_data
from eyechart.reports.page.previous import PreviousCase, PreviousCases, find_missing
from eyechart.reports.page.sample_groups import CaseSamples
from eyechart.reports.page.samples import RIGHT, WRONG, LabelOutcomes
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.render import one_line
from eyechart.results.evidence import Evidence, MetricEvidence
from eyechart.results.metric_definitions import define
from eyechart.results.records import LABELLED, WHOLE
from eyechart.results.run_folder import evidence_folder

# By the id of a case: its sample group, its position there, its samples.
SamplePositions = Mapping[int, tuple[str, int, CaseSamples]]
_NAMED_SLICES = 3  # in the sentence on slices
_NO_BASELINE, _NOT_COMPARABLE = "no baseline", "not comparable"


@dataclass(frozen=True)
class Changes:
    """The verdicts, the previous cases, the cases without a baseline, and those that only a named baseline has."""

    against: str
    rule: Rule
    outcome: RunComparison
    previous: PreviousCases
    without_baseline: tuple[Key, ...] = ()
    missing: tuple[Key, ...] = ()

    @cached_property
    def by_case(self) -> Mapping[Key, list[Verdict]]:
        """Return the verdicts of each case, most important first."""
        verdicts: dict[Key, list[Verdict]] = {}
        for key, verdict in self.outcome.verdicts:
            verdicts.setdefault(key, []).append(verdict)
        return verdicts

    @property
    def has_content(self) -> bool:
        """Return whether there is anything to show."""
        return bool(self.outcome.verdicts or self.outcome.refused or self.without_baseline)

    def summary(self) -> dict[str, Any]:
        """Return the entry of the index."""
        decisions = [verdict.decision for _, verdict in self.outcome.verdicts]
        return {
            "baseline": one_line(self.against),
            "rule": str(self.rule),
            "counts": {word: decisions.count(word) for word in VERDICTS if word in decisions},
            "slices": self.describe_slices() if self.outcome.slice_changes else "",
            "notCompared": [*map(one_line, self.not_compared())],
            "notes": [*map(one_line, difference_notes(self.outcome.compared))],
        }

    def describe_slices(self) -> str:
        """Return how many slices lost and gained, with the most certain ones."""
        most_certain = [
            one_line(f"{verdict.comparison.model}, {describe_slice(verdict)}")
            for _, verdict in self.outcome.slices[:_NAMED_SLICES]
        ]
        return "; ".join([self.outcome.describe_slices(self.rule.alpha), *most_certain])

    def not_compared(self) -> Iterator[str]:
        """Yield what is not compared, and why."""
        yield from refusal_notes(self.outcome)
        if self.without_baseline:
            yield f"{self.against} has no baseline for {join_labels(self.without_baseline)}."
        if self.missing:
            yield f"Only {self.against} has {join_labels(self.missing)}."
        yield from one_sided_notes(self.outcome.compared)

    def case_summary(self, case: CaseRun, positions: SamplePositions) -> dict[str, Any]:
        """Return the entry of a case: its main decision, how many metrics have it, and its first metric's change."""
        key, metric = case_key(case), first_metric(case)
        if key in self.without_baseline or key in self.outcome.refused:
            return {
                "verdict": {
                    "decision": _NO_BASELINE if key in self.without_baseline else _NOT_COMPARABLE,
                    "count": 0,
                    "of": 0,
                }
            }
        verdicts = self.by_case.get(key, [])
        if not verdicts:
            return {}
        decisions = [verdict.decision for verdict in verdicts]
        summary = {"decision": decisions[0], "count": decisions.count(decisions[0]), "of": len(verdicts)}
        key_of_metric = metric and metric.key
        moved = next(
            (first_verdict for first_verdict in verdicts if first_verdict.comparison.metric.key == key_of_metric), None
        )
        return {"verdict": summary} | ({"change": self.row(moved, case, positions)} if moved else {})

    def rows(self, runs: Runs, positions: SamplePositions) -> dict[str, list[dict[str, Any]]]:
        """Return one row per metric and one per slice that changed, most important first.

        `case` of a row is the index of its case.
        """
        cases = {case_key(case): (number, case) for number, case in enumerate(runs.cases)}
        return {
            name: [{"case": cases[key][0]} | self.row(verdict, cases[key][1], positions) for key, verdict in verdicts]
            for name, verdicts in (("metrics", self.outcome.verdicts), ("slices", self.outcome.slices))
        }

    @cached_property
    def slices_by_case(self) -> Mapping[Key, list[MetricComparison]]:
        """The slices of each case that changed."""
        slices: dict[Key, list[MetricComparison]] = {}
        for key, verdict in self.outcome.slices:
            slices.setdefault(key, []).append(verdict.comparison)
        return slices

    def slices_of(self, case: CaseRun) -> Sequence[MetricComparison]:
        """Return the slices of a case that changed."""
        return self.slices_by_case.get(case_key(case), ())

    def row(self, verdict: Verdict, case: CaseRun, positions: SamplePositions) -> dict[str, Any]:
        """Return a metric as `compare` writes it, and the filter of its samples."""
        metric = verdict.comparison.metric
        conditions = sample_filter(verdict.comparison.metric, positions[id(case)][2]) if id(case) in positions else {}
        return {
            "name": one_line(metric.name),
            "labels": one_line(metric.labels),
            "subset": one_line(metric.subset_text),
            "cells": [*map(cell_data, verdict_cells(verdict))],
            "samples": conditions,
        }


def compare_with_previous(
    runs: Runs, previous: Mapping[int, PreviousCase], against: str, rule: Rule, baseline: Path | None, store: Path
) -> Changes:
    """Compare every case with its previous one; with a named baseline, list the cases that have none."""
    pairs = {
        case_key(case): CasePair(_to_evidence(old), _to_evidence(case), evidence_folder(case.folder), store=store)
        for case in runs.cases
        if (old := previous.get(id(case)))
    }
    drifts = None if baseline is None else read_drifts_of(baseline)
    outcome = RunComparison(compare_cases(pairs.items(), rule, SIDES, drifts))
    alone = [case_key(case) for case in runs.cases if baseline is not None and id(case) not in previous]
    same = {key for key in outcome.compared if pairs[key].has_same_samples}  # indices are equal
    compared = {id(case): previous[id(case)] for case in runs.cases if case_key(case) in same}
    missing = () if baseline is None else tuple(find_missing(runs, baseline))
    return Changes(against, rule, outcome, compared, tuple(alone), missing)


def _to_evidence(case: PreviousCase) -> Evidence:
    """Return the evidence of a case."""
    return case.evidence if isinstance(case, CaseRun) else case


def case_key(case: CaseRun) -> Key:
    """Return what identifies a case, also among several runs."""
    return case.record.case, case.record.protocol, str(case.folder)


def sample_filter(proof: MetricEvidence, case_samples: CaseSamples) -> dict[str, Any]:
    """Return the filter of the sample list for what a metric lost and gained, with the counts.

    A proportion has its own samples. For other metrics they are the samples of its label set and subset whose outcome
    changed.
    """
    labels = {"labels": proof.labels} if proof.labels in case_samples.samples.label_sets else {}
    if changes := case_samples.changes.get(proof.full_name):
        return labels | {"of": proof.full_name, "lost": len(changes.lost), "gained": len(changes.gained)}
    before, now = (
        side.label_sets.get(proof.labels) if side else None for side in (case_samples.previous, case_samples.samples)
    )
    question = define(proof.name).question
    conditions = {
        "category": "" if proof.subset_text in (WHOLE, LABELLED) else proof.subset_text,
        "find": f"{question}:" if question else "",
    }
    if before is None or now is None:
        return {}
    counts = {
        direction: sum(matches(case_samples, now, row, **conditions) for row in rows.tolist())
        for direction, rows in (
            ("lost", _changed_rows(before, now, RIGHT, WRONG)),
            ("gained", _changed_rows(before, now, WRONG, RIGHT)),
        )
    }
    return labels | conditions | counts | {"unit": case_samples.samples.unit} if any(counts.values()) else {}


def _changed_rows(before: LabelOutcomes, now: LabelOutcomes, was: int, became: int) -> Any:
    """Return the items that changed from one outcome to another."""
    return np.flatnonzero((before.outcomes == was) & (now.outcomes == became))


def matches(case_samples: CaseSamples, outcomes: LabelOutcomes, row: int, *, category: str, find: str) -> bool:
    """Return whether an item is of a category and its question has a prefix."""
    return outcomes.categories[row].startswith(category) and case_samples.samples.items[row][1].startswith(find)
