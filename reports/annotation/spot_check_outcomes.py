"""What a spot check found: how many pairs of each set were accepted, and the division without the rejected ones."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from eyechart.atomic import write_atomic
from eyechart.errors import ReportError
from eyechart.oodbench.division_files import File, encoded, read_file

from ..answers import proportion_of_counts
from ..render import Row, Table
from .spot_check import OUT_OF_DISTRIBUTION
from .spot_check_files import ACCEPT, REJECT, UNSURE, CheckedSheet, read_checked_sheet

COLUMNS = ("Set", "pairs", "checked", ACCEPT, REJECT, UNSURE, "accepted (%)")
ALL = "all"


@dataclass(frozen=True)
class SpotCheckOutcome:
    """A division, the files of answers about it, and the verdict on each pair."""

    path: Path
    whole: File
    division: str
    files: tuple[CheckedSheet, ...]
    verdicts: Mapping[int, str]
    disputed: int

    @property
    def rejected(self) -> set[int]:
        """The places of the rejected pairs."""
        return {pair for pair, said in self.verdicts.items() if said == REJECT}


def read_outcome(path: Path, answers: Sequence[Path]) -> SpotCheckOutcome:
    """Read everything; a pair on which files differ counts as one that nobody is sure of."""
    whole, division = read_file(path), sha256(path.read_bytes()).hexdigest()
    files = tuple(read_checked_sheet(file, division, whole) for file in answers)
    said: dict[int, set[str]] = {}
    for file in files:
        for pair, verdict in file.verdicts.items():
            said.setdefault(pair, set()).add(verdict)
    verdicts = {pair: UNSURE if len(every) > 1 else min(every) for pair, every in sorted(said.items())}
    disputed = sum(len(every) > 1 for every in said.values())
    return SpotCheckOutcome(path, whole, division, files, verdicts, disputed)


def outcome_table(found: SpotCheckOutcome) -> Table:
    """The rates of acceptance, set by set and over all."""
    rows = [
        *(outcome_row(found, name, (name,)) for name in OUT_OF_DISTRIBUTION),
        outcome_row(found, ALL, OUT_OF_DISTRIBUTION),
    ]
    title = f"{found.whole.benchmark}/{found.whole.split}: spot check of the division {found.path.name}"
    return Table(title, COLUMNS, tuple(rows), tuple(notes(found)), {"split": found.whole.split})


def outcome_row(found: SpotCheckOutcome, title: str, sets: Sequence[str]) -> Row:
    """One row; those that nobody is sure of count neither way."""
    pairs = found.whole.pairs
    size = sum(pair.set in sets and pair.main for pair in pairs)
    said = Counter(verdict for place, verdict in found.verdicts.items() if pairs[place].set in sets)
    rate = proportion_of_counts(said[ACCEPT], said[ACCEPT] + said[REJECT])
    return title, size, said.total(), said[ACCEPT], said[REJECT], said[UNSURE], rate


def notes(found: SpotCheckOutcome) -> Iterator[str]:
    """What a reader must know."""
    yield "Accepted: of the pairs that were accepted or rejected. Brackets: 95 % Wilson intervals."
    yield f"Pairs: those of the main benchmark in the division {found.division[:12]}."
    for file in found.files:
        left = len(file.answers.pairs) - len(file.verdicts)
        yield (
            f"{file.path.name} ({file.sha256[:12]}): {len(file.verdicts)} of {len(file.answers.pairs)} pairs have a "
            f"verdict, {file.comments} a comment{'; the others are left out' * (left > 0)}."
        )
    if found.disputed:
        yield f"{found.disputed} pairs have different verdicts in different files; they count as {UNSURE}."


def write_new(found: SpotCheckOutcome, out: Path) -> str:
    """Write the division without the rejected pairs; return what there is to say."""
    if out.resolve() == found.path.resolve():
        raise ReportError(f"--out={out} is the division that was checked. Give the new one another name.")
    rejected = found.rejected
    pairs = tuple(pair for place, pair in enumerate(found.whole.pairs) if place not in rejected)
    new = msgspec.structs.replace(
        found.whole, pairs=pairs, parameters=parameters(found), notes=(*found.whole.notes, note(found))
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(out, encoded(new))
    return f"{out}: {len(pairs):,} pairs, without {len(rejected):,} rejected ones."


def note(found: SpotCheckOutcome) -> str:
    """What a reader of numbers about the new division must know."""
    return (
        f"{len(found.rejected):,} × pair left out of the division: rejected in a spot check of {len(found.verdicts):,}"
    )


def parameters(found: SpotCheckOutcome) -> dict[str, str]:
    """How the new division was made: how many were rejected, of how many, by which answers to sheets of which one."""
    told = {
        "checked": str(len(found.verdicts)),
        "checked_rejected": str(len(found.rejected)),
        "checked_answers": ", ".join(f"{file.path.name} ({file.sha256})" for file in found.files),
        "checked_division": found.division,
    }
    before = {name: found.whole.parameters[name] for name in told if name in found.whole.parameters}
    both = {name: f"{before[name]}; {value}" if name in before else value for name, value in told.items()}
    return dict(sorted({**found.whole.parameters, **both}.items()))
