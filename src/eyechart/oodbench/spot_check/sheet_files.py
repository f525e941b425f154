"""The files of a spot check of a division: the selected pairs, and a verdict on each."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from eyechart.errors import ReportError
from eyechart.oodbench.division.division_files import DivisionFile
from eyechart.reports.annotation.answer_files import read

ACCEPT, REJECT, UNSURE = "accept", "reject", "unsure"
AGAIN = "Download the answers from the sheet again."


class _PairVerdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The verdict on one pair; "" if there is only a comment."""

    verdict: Literal["accept", "reject", "unsure", ""] = ""
    comment: str = ""


class _VerdictsFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file that a sheet's button writes: verdicts by picture number, and the pairs' indices in the division."""

    schema: int
    sheet: str
    division: str
    pairs: tuple[int, ...]
    answers: dict[str, _PairVerdict]


class CheckedSheet(msgspec.Struct, frozen=True, kw_only=True):
    """A file of verdicts with its sha256."""

    path: Path
    sha256: str
    answers: _VerdictsFile

    @property
    def verdicts(self) -> dict[int, str]:
        """Return the verdicts by the index of the pair in the division."""
        answers = self.answers.answers.items()
        return {self.answers.pairs[int(number) - 1]: answer.verdict for number, answer in answers if answer.verdict}

    @property
    def comments(self) -> int:
        """Return the number of pairs with a comment."""
        return sum(bool(verdict.comment.strip()) for verdict in self.answers.answers.values())


def sheet_id(division: str, pairs: Sequence[int]) -> str:
    """Return the id of a sheet about these pairs of the division with this sha256."""
    return sha256(msgspec.json.encode([division, pairs])).hexdigest()[:16]


def read_checked_sheet(path: Path, division: str, division_file: DivisionFile) -> CheckedSheet:
    """Return verdicts on pairs of a division; raise ReportError for another division or unknown pairs."""
    answers = read(path, _VerdictsFile, "the answers to a sheet of a spot check", AGAIN)
    if answers.division != division:
        raise ReportError(
            f"{path} answers a sheet about the division {answers.division[:12]}…, and this one is {division[:12]}…. "
            "Give the division that the sheet was made from."
        )
    if answers.sheet != sheet_id(division, answers.pairs) or not all(
        0 <= pair < len(division_file.pairs) for pair in answers.pairs
    ):
        raise ReportError(f"{path} names other pairs than its sheet {answers.sheet} has. {AGAIN}")
    numbers = {str(number) for number in range(1, len(answers.pairs) + 1)}
    if unknown := {*answers.answers} - numbers:
        raise ReportError(f"{path} answers a picture {min(unknown)!r}, and its sheet has 1 to {len(numbers)}. {AGAIN}")
    return CheckedSheet(path=path, sha256=sha256(path.read_bytes()).hexdigest(), answers=answers)
