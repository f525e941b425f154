"""Outcome of a spot check: acceptance rates by set, and the division without the rejected pairs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from eyechart.errors import ReportError
from eyechart.files.atomic import write_atomic
from eyechart.oodbench.division.division_files import DivisionFile, encode_file, read_file
from eyechart.oodbench.spot_check.sheet_files import ACCEPT, REJECT, UNSURE, CheckedSheet, read_checked_sheet
from eyechart.oodbench.spot_check.spot_check import OUT_OF_DISTRIBUTION
from eyechart.reports.tables.render import NumberCell, Row, Table
from eyechart.statistics.intervals import wilson

COLUMNS = ("Set", "pairs", "checked", ACCEPT, REJECT, UNSURE, "accepted (%)")
ALL = "all"


@dataclass(frozen=True)
class _SpotCheckOutcome:
    """A division, the answer files about it, and the verdict on each pair."""

    path: Path
    whole: DivisionFile
    division: str
    files: tuple[CheckedSheet, ...]
    verdicts: Mapping[int, str]
    disputed: int

    @property
    def rejected(self) -> set[int]:
        """Return the indices of the rejected pairs."""
        return {pair for pair, verdict in self.verdicts.items() if verdict == REJECT}


def read_outcome(path: Path, answers: Sequence[Path]) -> _SpotCheckOutcome:
    """Read all files; a pair with different verdicts counts as unsure."""
    division_file, division = read_file(path), sha256(path.read_bytes()).hexdigest()
    files = tuple(read_checked_sheet(file, division, division_file) for file in answers)
    verdicts_by_pair: dict[int, set[str]] = {}
    for file in files:
        for pair, verdict in file.verdicts.items():
            verdicts_by_pair.setdefault(pair, set()).add(verdict)
    verdicts = {pair: UNSURE if len(values) > 1 else min(values) for pair, values in sorted(verdicts_by_pair.items())}
    disputed = sum(len(values) > 1 for values in verdicts_by_pair.values())
    return _SpotCheckOutcome(path, division_file, division, files, verdicts, disputed)


def outcome_table(outcome: _SpotCheckOutcome) -> Table:
    """Return the table of acceptance rates by set and over all."""
    rows = [
        *(_outcome_row(outcome, name, (name,)) for name in OUT_OF_DISTRIBUTION),
        _outcome_row(outcome, ALL, OUT_OF_DISTRIBUTION),
    ]
    title = f"{outcome.whole.benchmark}/{outcome.whole.split}: spot check of the division {outcome.path.name}"
    return Table(title, COLUMNS, tuple(rows), tuple(notes(outcome)), {"split": outcome.whole.split})


def _outcome_row(outcome: _SpotCheckOutcome, title: str, sets: Sequence[str]) -> Row:
    """Return one row; unsure pairs are not part of the acceptance rate."""
    pairs = outcome.whole.pairs
    size = sum(pair.set in sets and pair.main for pair in pairs)
    counts = Counter(verdict for index, verdict in outcome.verdicts.items() if pairs[index].set in sets)
    rate = _acceptance_rate(counts[ACCEPT], counts[ACCEPT] + counts[REJECT])
    return title, size, counts.total(), counts[ACCEPT], counts[REJECT], counts[UNSURE], rate


def _acceptance_rate(accepted: int, n: int) -> NumberCell:
    """Return accepted / n with its Wilson interval; a cell without a value if n is 0."""
    ci = wilson(accepted, n)
    return NumberCell(accepted / n, n, (ci.low, ci.high)) if n else NumberCell(None, 0)


def notes(outcome: _SpotCheckOutcome) -> Iterator[str]:
    """Yield the explanation of the table."""
    yield "Accepted: of the pairs that were accepted or rejected. Brackets: 95 % Wilson intervals."
    yield f"Pairs: those of the main benchmark in the division {outcome.division[:12]}."
    for file in outcome.files:
        unanswered = len(file.answers.pairs) - len(file.verdicts)
        yield (
            f"{file.path.name} ({file.sha256[:12]}): {len(file.verdicts)} of {len(file.answers.pairs)} pairs have a "
            f"verdict, {file.comments} a comment{'; the others are left out' * (unanswered > 0)}."
        )
    if outcome.disputed:
        yield f"{outcome.disputed} pairs have different verdicts in different files; they count as {UNSURE}."


def write_new(outcome: _SpotCheckOutcome, out: Path) -> str:
    """Write the division without the rejected pairs and return the message to print."""
    if out.resolve() == outcome.path.resolve():
        raise ReportError(f"--out={out} is the division that was checked. Give the new one another name.")
    rejected = outcome.rejected
    pairs = tuple(pair for index, pair in enumerate(outcome.whole.pairs) if index not in rejected)
    new = msgspec.structs.replace(
        outcome.whole, pairs=pairs, parameters=parameters(outcome), notes=(*outcome.whole.notes, note(outcome))
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(out, encode_file(new))
    return f"{out}: {len(pairs):,} pairs, without {len(rejected):,} rejected ones."


def note(outcome: _SpotCheckOutcome) -> str:
    """Return the note that the new division carries."""
    rejected, checked = len(outcome.rejected), len(outcome.verdicts)
    return f"{rejected:,} × pair left out of the division: rejected in a spot check of {checked:,}"


def parameters(outcome: _SpotCheckOutcome) -> dict[str, str]:
    """Return the parameters of the new division: how many pairs were checked and rejected, and by which files."""
    values = {
        "checked": str(len(outcome.verdicts)),
        "checked_rejected": str(len(outcome.rejected)),
        "checked_answers": ", ".join(f"{file.path.name} ({file.sha256})" for file in outcome.files),
        "checked_division": outcome.division,
    }
    previous = {name: outcome.whole.parameters[name] for name in values if name in outcome.whole.parameters}
    merged = {name: f"{previous[name]}; {value}" if name in previous else value for name, value in values.items()}
    return dict(sorted({**outcome.whole.parameters, **merged}.items()))
