"""Find the previous results of a case: those of another run, or the outcomes in a baseline."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import SliceVariable
from eyechart.gate.baselines.baseline_files import BaselineIndex, case_key
from eyechart.gate.baselines.stored_cases import is_run, read_case_evidence, read_cases
from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.reports.page.columns import Column
from eyechart.reports.page.samples import NO_TEXTS, RIGHT, UNSCORED, WRONG, Codes, LabelOutcomes, Samples
from eyechart.reports.runs import CaseRun, Runs, load
from eyechart.results.evidence import Evidence, Floats, MetricEvidence
from eyechart.results.headlines import ANSWERED
from eyechart.results.records import WHOLE
from eyechart.results.run_folder import evidence_folder, run_folder
from eyechart.results.slices import read_slices

PreviousCase = CaseRun | Evidence
PreviousCases = Mapping[int, PreviousCase]  # by the identity of the entry that is compared
Rows = NDArray[np.intp]
_KnownCases = Mapping[tuple[str, str], PreviousCase]  # what is known of cases, by case and protocol


def find_previous(runs: Runs, baseline: Path | None, paths: Sequence[Path]) -> PreviousCases:
    """Return what each case is compared with: the named baseline, else the last run before its own."""
    if baseline is not None:
        known = _read_known_cases(baseline)
        return {id(case): known[case_key(case.record)] for case in runs.cases if case_key(case.record) in known}
    known_before: dict[Path, _KnownCases] = {}
    known_so_far: _KnownCases = {}
    for path in paths if len(paths) > 1 else ():
        known_before.setdefault(run_folder(path), known_so_far)
        known_so_far = {**known_so_far, **_read_known_cases(path)}
    return {
        id(case): old for case in runs.cases if (old := known_before.get(case.folder, {}).get(case_key(case.record)))
    }


def find_missing(runs: Runs, baseline: Path) -> list[tuple[str, str]]:
    """Return the cases of a run or baseline that the page lacks, by case and protocol, of the models that it has."""
    here, models = {case_key(case.record) for case in runs.cases}, {case.record.model.title for case in runs.cases}
    if is_run(baseline):
        known = {case_key(case.record): case.record.model.title for case in load([baseline]).cases}
    else:
        known = {key: evidence.model for key, evidence in BaselineIndex(baseline).heads.items()}
    return [key for key, model in sorted(known.items()) if model in models and key not in here]


def _read_known_cases(path: Path) -> _KnownCases:
    """Return the cases of a run, or of a file or folder of baselines."""
    if path.exists() and is_run(path):
        return {case_key(case.record): case for case in load([path]).cases}
    return read_cases(path)


def samples_from_evidence(old: Evidence, case: CaseRun, now: Samples) -> Samples | None:
    """Return the outcomes in a baseline as samples without answers; None if the items differ."""
    if old.samples != len(now.items):
        return None
    proofs = {proof.key: proof for proof in old.metrics}
    own_evidence = read_case_evidence(case.record, case.folder)
    keys = {
        name: [(case.accuracy_name, name, WHOLE, "", "")]
        if own_evidence is None or own_evidence.samples != len(now.items)
        else _metric_keys(name, label_outcomes, now, own_evidence)
        for name, label_outcomes in now.label_sets.items()
    }
    merged = {
        name: LabelOutcomes(
            label_outcomes.labels,
            label_outcomes.categories,
            _merge_outcomes(old, [proofs[key] for key in keys[name] if key in proofs]),
        )
        for name, label_outcomes in now.label_sets.items()
    }
    scored = {
        name: label_outcomes for name, label_outcomes in merged.items() if (label_outcomes.outcomes != UNSCORED).any()
    }
    no_errors = Column.repeat("", len(now.items))
    return Samples(now.items, scored, answers=NO_TEXTS, errors=no_errors) if scored else None


@dataclass(frozen=True)
class SampleChanges:
    """The items that a metric lost (right before, wrong now) and gained."""

    lost: Rows
    gained: Rows


def sample_changes(
    old: PreviousCase | None, case: CaseRun, keys: Sequence[str], slices: Sequence[MetricComparison] = ()
) -> Mapping[str, SampleChanges]:
    """Return the lost and gained items of every metric with per-sample outcomes, and of slices of one of them.

    The key is the gate's title of the metric or slice.
    """
    if old is None:
        return {}
    before, now = (
        read_case_evidence(source.record, source.folder) if isinstance(source, CaseRun) else source
        for source in (old, case)
    )
    if before is None or now is None or now.keys != tuple(keys) or before.samples != now.samples:
        return {}
    outcomes_before, outcomes_now = _per_sample_outcomes(before), _per_sample_outcomes(now)
    changes = {
        name: _compare_outcomes(outcomes_before[name], outcomes_now[name])
        for name in outcomes_now
        if name in outcomes_before
    }
    variables = read_slices(now, evidence_folder(case.folder)) if slices else ()
    codes = {f"{part.name}={value}": (part, code) for part in variables for code, value in enumerate(part.values)}
    return changes | {
        part.name: _select_slice(changes[part.whole.name], *codes[part.metric.subset])
        for part in slices
        if part.whole is not None
    }


def _select_slice(changes: "SampleChanges", variable: SliceVariable, code: int) -> "SampleChanges":
    """Return the items that changed and have a value of a variable."""
    lost, gained = (rows[variable.codes[rows] == code] for rows in (changes.lost, changes.gained))
    return SampleChanges(lost, gained)


def _per_sample_outcomes(evidence: Evidence) -> dict[str, Floats]:
    """Return the metrics that have per-sample outcomes."""
    by_title = {proof.full_name: evidence.sample_outcomes(proof) for proof in evidence.metrics}
    return {name: outcomes for name, outcomes in by_title.items() if outcomes is not None}


def _compare_outcomes(before: Floats, after: Floats) -> SampleChanges:
    """Return the items whose outcome changed."""
    return SampleChanges(np.flatnonzero((before == 1) & (after == 0)), np.flatnonzero((before == 0) & (after == 1)))


def _metric_keys(name: str, label_outcomes: LabelOutcomes, now: Samples, evidence: Evidence) -> list[tuple[str, ...]]:
    """Return the metrics with the same per-sample outcomes as a label set."""
    candidates = [
        (proof, evidence.sample_outcomes(proof))
        for proof in evidence.metrics
        if proof.name != ANSWERED and (len(now.label_sets) == 1 or proof.labels == name)
    ]
    return [proof.key for proof, outcomes in candidates if outcomes is not None and agrees(label_outcomes, outcomes)]


def agrees(label_outcomes: LabelOutcomes, outcomes: Floats) -> bool:
    """Return whether outcomes are equal wherever they are defined."""
    is_scored = ~np.isnan(outcomes)
    return bool((label_outcomes.outcomes[is_scored] == np.where(outcomes[is_scored] == 1, RIGHT, WRONG)).all())


def _merge_outcomes(old: Evidence, proofs: Iterable[MetricEvidence]) -> Codes:
    """Return the outcomes of metrics about different items as one array."""
    codes = np.full(old.samples, UNSCORED, np.uint8)
    for proof in proofs:
        outcomes = old.sample_outcomes(proof)
        if outcomes is not None:
            codes = np.where(np.isnan(outcomes), codes, np.where(outcomes == 1, RIGHT, WRONG)).astype(np.uint8)
    return codes
