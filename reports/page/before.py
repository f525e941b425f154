"""What a case is compared with: what another run answered, or what a baseline kept of its outcomes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.gate.comparing import title
from eyechart.gate.evidence import Evidence, Floats, Proof
from eyechart.gate.headlines import ANSWERED

from ..proven import cases, is_run, kept
from ..runs import Entry, Pool, load
from .said import RIGHT, UNSCORED, WRONG, Codes, Held, Said

Key = tuple[str, str, str]  # a number's name, labels and category
Old = Entry | Evidence
Previous = Mapping[int, Old]  # by the identity of the entry that is compared
WHOLE = ("acc1", "A")
Rows = NDArray[np.intp]
Known = Mapping[tuple[str, str], Old]  # what is known of cases, by case and protocol


def earlier(pool: Pool, baseline: Path | None, runs: Sequence[Path]) -> Previous:
    """What each case is compared with: what is named as the baseline, else the last of the runs before its own."""
    if baseline is not None:
        held = known(baseline)
        return {id(entry): held[name(entry)] for entry in pool.entries if name(entry) in held}
    before: dict[Path, Known] = {}
    gathered: Known = {}
    for path in runs if len(runs) > 1 else ():
        before.setdefault(home(path), gathered)
        gathered = {**gathered, **known(path)}
    return {id(entry): old for entry in pool.entries if (old := before.get(entry.folder, {}).get(name(entry)))}


def known(place: Path) -> Known:
    """The cases of a run, or of a file or folder of baselines."""
    if place.exists() and is_run(place):
        return {name(entry): entry for entry in load([place]).entries}
    return cases(place)


def home(run: Path) -> Path:
    """A run's folder."""
    return run.parent if run.suffix == ".json" else run


def name(entry: Entry) -> tuple[str, str]:
    """What a case and its earlier self have in common."""
    return entry.record.case, entry.record.protocol


def kept_outcomes(old: Evidence, entry: Entry, now: Said) -> Said | None:
    """What a baseline kept, as far as it is about the same items; it has no answers, only whether they were right."""
    if old.samples != len(now.items):
        return None
    proofs = {proof.key: proof for proof in old.proofs}
    own = kept(entry.record, entry.folder)
    keys = {name: keys_of(name, held, now, own) for name, held in now.truths.items()}
    found = {
        name: Held(held.labels, held.categories, filled(old, [proofs[key] for key in keys[name] if key in proofs]))
        for name, held in now.truths.items()
    }
    known = {name: held for name, held in found.items() if (held.outcomes != UNSCORED).any()}
    return Said(now.items, known, answers=(), errors=("",) * len(now.items)) if known else None


@dataclass(frozen=True)
class Moved:
    """The items that a number lost, right before and wrong now, and those that it gained."""

    lost: Rows
    gained: Rows


def moved(old: Old | None, entry: Entry, keys: Sequence[str]) -> Mapping[str, Moved]:
    """What every number lost and gained that is told item by item, by the name that the gate gives it."""
    before, now = (kept(one.record, one.folder) if isinstance(one, Entry) else one for one in (old, entry))
    if before is None or now is None or now.keys != tuple(keys) or before.samples != now.samples:
        return {}
    was, known = told(before), told(now)
    return {name: changed(was[name], known[name]) for name in known if name in was}


def told(evidence: Evidence) -> dict[str, Floats]:
    """The numbers that are told item by item."""
    found = {title(proof): evidence.outcomes(proof) for proof in evidence.proofs}
    return {name: outcomes for name, outcomes in found.items() if outcomes is not None}


def changed(one: Floats, other: Floats) -> Moved:
    """Where outcomes are others than before."""
    return Moved(np.flatnonzero((one == 1) & (other == 0)), np.flatnonzero((one == 0) & (other == 1)))


def keys_of(name: str, held: Held, now: Said, evidence: Evidence | None) -> list[Key]:
    """The numbers whose outcomes are those of a ground truth: its accuracy, or all that agree with it item by item."""
    if evidence is None or evidence.samples != len(now.items):
        return [(WHOLE[0], name, WHOLE[1])]
    made = [
        (proof, evidence.outcomes(proof))
        for proof in evidence.proofs
        if proof.name != ANSWERED and (len(now.truths) == 1 or proof.labels == name)
    ]
    return [proof.key for proof, found in made if found is not None and agrees(held, found)]


def agrees(held: Held, outcomes: Floats) -> bool:
    """Whether outcomes say the same wherever they say something."""
    told = ~np.isnan(outcomes)
    return bool((held.outcomes[told] == np.where(outcomes[told] == 1, RIGHT, WRONG)).all())


def filled(old: Evidence, proofs: Iterable[Proof]) -> Codes:
    """The outcomes of numbers about different items, put together."""
    codes = np.full(old.samples, UNSCORED, np.uint8)
    for proof in proofs:
        outcomes = old.outcomes(proof)
        if outcomes is not None:
            codes = np.where(np.isnan(outcomes), codes, np.where(outcomes == 1, RIGHT, WRONG)).astype(np.uint8)
    return codes
