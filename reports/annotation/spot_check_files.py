"""What a spot check of a division hands out and gets back: which pairs, and a verdict on each."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from eyechart.errors import ReportError
from eyechart.oodbench.division_files import File

from .files import read

ACCEPT, REJECT, UNSURE = "accept", "reject", "unsure"
AGAIN = "Download the answers from the sheet again."


class PairVerdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Somebody's word on one pair; nothing said where there is a comment alone."""

    said: Literal["accept", "reject", "unsure", ""] = ""
    comment: str = ""


class VerdictsFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a sheet's button writes: verdicts by the number of the picture, and the pairs by the division's numbers."""

    schema: int
    sheet: str
    division: str
    pairs: tuple[int, ...]
    answers: dict[str, PairVerdict]


class CheckedSheet(msgspec.Struct, frozen=True, kw_only=True):
    """A file of verdicts."""

    path: Path
    sha256: str
    answers: VerdictsFile

    @property
    def verdicts(self) -> dict[int, str]:
        """What was said, by the pair's number in the division."""
        answers = self.answers.answers.items()
        return {self.answers.pairs[int(number) - 1]: verdict.said for number, verdict in answers if verdict.said}

    @property
    def comments(self) -> int:
        """How many pairs have a comment."""
        return sum(bool(verdict.comment.strip()) for verdict in self.answers.answers.values())


def sheet_id(division: str, pairs: Sequence[int]) -> str:
    """The id of a sheet about these pairs of a division, which goes by its sha256."""
    return sha256(msgspec.json.encode([division, pairs])).hexdigest()[:16]


def read_checked_sheet(path: Path, division: str, division_file: File) -> CheckedSheet:
    """Read verdicts on pairs of a division; those on another one, or on pairs that it does not have, are refused."""
    answers = read(path, VerdictsFile, "the answers to a sheet of a spot check", AGAIN)
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
