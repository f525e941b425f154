"""What a case is compared with: what another run answered, or what a baseline kept of its outcomes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.gate.comparing import title
from eyechart.gate.evidence import Evidence, Floats, Proof
from eyechart.gate.headlines import ANSWERED

from ..evidence_io import is_run, read_case_evidence, read_cases
from ..runs import CaseRun, Runs, load
from .samples import RIGHT, UNSCORED, WRONG, Codes, LabelOutcomes, Samples

Key = tuple[str, str, str]  # a number's name, labels and category
PreviousCase = CaseRun | Evidence
PreviousCases = Mapping[int, PreviousCase]  # by the identity of the entry that is compared
WHOLE = ("acc1", "A")
Rows = NDArray[np.intp]
KnownCases = Mapping[tuple[str, str], PreviousCase]  # what is known of cases, by case and protocol


def find_previous(pool: Runs, baseline: Path | None, runs: Sequence[Path]) -> PreviousCases:
    """What each case is compared with: what is named as the baseline, else the last of the runs before its own."""
    if baseline is not None:
        held = read_known_cases(baseline)
        return {id(entry): held[case_key(entry)] for entry in pool.cases if case_key(entry) in held}
    before: dict[Path, KnownCases] = {}
    gathered: KnownCases = {}
    for path in runs if len(runs) > 1 else ():
        before.setdefault(run_folder(path), gathered)
        gathered = {**gathered, **read_known_cases(path)}
    return {id(entry): old for entry in pool.cases if (old := before.get(entry.folder, {}).get(case_key(entry)))}


def read_known_cases(place: Path) -> KnownCases:
    """The cases of a run, or of a file or folder of baselines."""
    if place.exists() and is_run(place):
        return {case_key(entry): entry for entry in load([place]).cases}
    return read_cases(place)


def run_folder(run: Path) -> Path:
    """A run's folder."""
    return run.parent if run.suffix == ".json" else run


def case_key(entry: CaseRun) -> tuple[str, str]:
    """What a case and its earlier self have in common."""
    return entry.record.case, entry.record.protocol


def samples_from_evidence(old: Evidence, entry: CaseRun, now: Samples) -> Samples | None:
    """What a baseline kept, as far as it is about the same items; it has no answers, only whether they were right."""
    if old.samples != len(now.items):
        return None
    proofs = {proof.key: proof for proof in old.proofs}
    own = read_case_evidence(entry.record, entry.folder)
    keys = {name: metric_keys(name, held, now, own) for name, held in now.truths.items()}
    found = {
        name: LabelOutcomes(
            held.labels, held.categories, merge_outcomes(old, [proofs[key] for key in keys[name] if key in proofs])
        )
        for name, held in now.truths.items()
    }
    known = {name: held for name, held in found.items() if (held.outcomes != UNSCORED).any()}
    return Samples(now.items, known, answers=(), errors=("",) * len(now.items)) if known else None


@dataclass(frozen=True)
class SampleChanges:
    """The items that a number lost, right before and wrong now, and those that it gained."""

    lost: Rows
    gained: Rows


def sample_changes(old: PreviousCase | None, entry: CaseRun, keys: Sequence[str]) -> Mapping[str, SampleChanges]:
    """What every number lost and gained that is told item by item, by the name that the gate gives it."""
    before, now = (
        read_case_evidence(one.record, one.folder) if isinstance(one, CaseRun) else one for one in (old, entry)
    )
    if before is None or now is None or now.keys != tuple(keys) or before.samples != now.samples:
        return {}
    was, known = per_sample_outcomes(before), per_sample_outcomes(now)
    return {name: compare_outcomes(was[name], known[name]) for name in known if name in was}


def per_sample_outcomes(evidence: Evidence) -> dict[str, Floats]:
    """The numbers that are told item by item."""
    found = {title(proof): evidence.outcomes(proof) for proof in evidence.proofs}
    return {name: outcomes for name, outcomes in found.items() if outcomes is not None}


def compare_outcomes(one: Floats, other: Floats) -> SampleChanges:
    """Where outcomes are others than before."""
    return SampleChanges(np.flatnonzero((one == 1) & (other == 0)), np.flatnonzero((one == 0) & (other == 1)))


def metric_keys(name: str, held: LabelOutcomes, now: Samples, evidence: Evidence | None) -> list[Key]:
    """The numbers whose outcomes are those of a ground truth: its accuracy, or all that agree with it item by item."""
    if evidence is None or evidence.samples != len(now.items):
        return [(WHOLE[0], name, WHOLE[1])]
    made = [
        (proof, evidence.outcomes(proof))
        for proof in evidence.proofs
        if proof.name != ANSWERED and (len(now.truths) == 1 or proof.labels == name)
    ]
    return [proof.key for proof, found in made if found is not None and agrees(held, found)]


def agrees(held: LabelOutcomes, outcomes: Floats) -> bool:
    """Whether outcomes say the same wherever they say something."""
    told = ~np.isnan(outcomes)
    return bool((held.outcomes[told] == np.where(outcomes[told] == 1, RIGHT, WRONG)).all())


def merge_outcomes(old: Evidence, proofs: Iterable[Proof]) -> Codes:
    """The outcomes of numbers about different items, put together."""
    codes = np.full(old.samples, UNSCORED, np.uint8)
    for proof in proofs:
        outcomes = old.outcomes(proof)
        if outcomes is not None:
            codes = np.where(np.isnan(outcomes), codes, np.where(outcomes == 1, RIGHT, WRONG)).astype(np.uint8)
    return codes
