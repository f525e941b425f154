"""What cases about birds in words write down: everything that was said, and what was made of it."""

from collections.abc import Iterator, Sequence

from eyechart.gate.evidence import Given
from eyechart.gate.pairing import paired
from eyechart.protocol.result import Rows, served, truncation_note
from eyechart.realbirdid.free_form import FreeForm
from eyechart.realbirdid.recording import BIRD, BirdRecording
from eyechart.realbirdid.word_scoring import (
    free_form_draws,
    free_form_metrics,
    free_form_outcomes,
    free_form_shares,
    free_form_units,
)
from eyechart.records import Metric, Outcomes, Served


class FreeFormRecording(BirdRecording[FreeForm]):
    """Collects the numbers of a case of free form."""

    def free_form(self, found: FreeForm) -> None:
        """Score what was said."""
        self.scored.extend(free_form_metrics(found, self.settings.seed))

    def given(self, metrics: Sequence[Metric]) -> Iterator[Given]:
        """Shares with each bird's outcome; the harmonic mean with its draws."""
        shares, draws = free_form_shares(self.found), free_form_draws(self.found, self.settings.seed)
        yield from paired(metrics, shares, draws, free_form_units(self.found))

    def outcomes(self) -> Outcomes:
        """What became of the answers."""
        return free_form_outcomes(self.found)

    def served(self) -> Served:
        """What the answers took, extraction included."""
        return served(self.found.requests, self.found.usage, self.found.cost)

    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        unread, case = self.outcomes().unparsed, f"{self.case} ({self.case.protocol})"
        silent = f"{case}: {unread} of {self.asked} got an answer that could not be read; it counts as wrong."
        shared = self.found.names.shared
        among = f"{case}: common names of several species were not looked for: {', '.join(shared)}."
        cut = truncation_note(case, self.outcomes().truncated, self.asked)
        return (*super().notes(), *((silent,) if unread else ()), *cut, *((among,) if shared else ()))

    def answer_rows(self) -> Rows:
        """Every bird: what was said, the name that it means, how deep it goes, and whether it is right."""
        yield [*BIRD, "error", "said", "extracted", "level", "correct", "truncated"]
        found = self.found
        for row in range(len(found.keys)):
            correct = int(found.right[row]) if found.told[row] else ""
            told = [
                found.errors.get(row, ""),
                found.said[row],
                found.extracted(row),
                found.level(row),
                correct,
                int(row in found.truncated),
            ]
            yield [*self.bird_cells(row), *told]
