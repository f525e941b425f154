"""What cases of abstention write down: every answer to every wording, the reasons given for each, and the rates."""

from collections.abc import Iterator

import numpy as np

from eyechart.data.observations import REASONS
from eyechart.gate.evidence import Floats
from eyechart.metrics.clusters import clustered_wilson
from eyechart.protocol.result import Rows, answered_images, named, served, truncation_note
from eyechart.realbirdid.abstention import Abstention
from eyechart.realbirdid.abstention_scoring import (
    abstention_estimates,
    abstention_outcomes,
    clusters_of,
)
from eyechart.realbirdid.reason_words import ANSWERED, CHOICES
from eyechart.realbirdid.recording import BirdRecording
from eyechart.realbirdid.wordings import number
from eyechart.records import Outcomes, Served

GIVEN = tuple(reason for reason in CHOICES if reason != ANSWERED)


class AbstentionRecording(BirdRecording[Abstention]):
    """Collects the numbers of a case of abstention."""

    @property
    def errors(self) -> list[str]:
        """Every error, with its picture."""
        rows = self.found.rows
        return [named(self.found.keys[rows[place % len(rows)]], error) for place, error in self.found.errors.items()]

    @property
    def asked(self) -> str:
        """How many answers were wanted."""
        return f"{self.found.places.size} answers"

    def answered(self) -> Floats:
        """Whether each picture was answered, to all wordings."""
        images = np.tile(self.found.rows, len(self.found.places))
        return answered_images(images, self.found.errors, len(self.found.keys))

    def abstention(self, found: Abstention) -> None:
        """Score what was said."""
        self.scored.extend(abstention_estimates(found, self.settings.seed))

    def outcomes(self) -> Outcomes:
        """What became of the answers."""
        return abstention_outcomes(self.found)

    def served(self) -> Served:
        """What the answers took, extraction included."""
        return served(self.found.requests, self.found.usage, self.found.cost)

    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        unread, case = self.outcomes().unparsed, f"{self.case} ({self.case.protocol})"
        silent = f"{case}: {unread} of {self.asked} could not be read; they do not count as abstentions."
        nothing = f"{case}: no bird of the split is unanswerable, so that there is nothing to abstain from."
        empty = bool(self.found.answerable.all())
        cut = truncation_note(case, self.outcomes().truncated, self.asked)
        return (*super().notes(), *((silent,) if unread else ()), *cut, *((nothing,) if empty else ()))

    def answer_rows(self) -> Rows:
        """Every answer: the wording, what was said, the reason that it means, and whether it is an abstention."""
        about = ("key", "observation", "answerable", "reason")
        yield ["level", "wording", *about, "error", "said", "extracted", "abstained", "truncated"]
        found = self.found
        for wording, level, name in self.numbered():
            for place, row in enumerate(found.rows.tolist()):
                key, observation, _, _, answerable, reason = self.bird_cells(row)
                chosen = int(found.places[wording, place])
                at = wording * len(found.rows) + place
                told = [found.errors.get(at, ""), found.said[at], CHOICES[chosen] if chosen >= 0 else ""]
                declined = int(found.abstained[wording, place]) if found.told[wording, place] else ""
                yield [level, name, key, observation, answerable, reason, *told, declined, int(at in found.truncated)]

    def numbered(self) -> Iterator[tuple[int, str, str]]:
        """The place, the level and the number of every wording."""
        for level, part in self.found.levels.items():
            count = part.stop - part.start
            yield from ((part.start + place, level, number(place, count)) for place in range(count))

    def artifact_rows(self) -> dict[str, Rows]:
        """The reasons given for each, and the rates of the wordings."""
        return {**super().artifact_rows(), "confusion": self.confusion_rows(), "wordings": self.wording_rows()}

    def confusion_rows(self) -> Rows:
        """How often which reason was given, by why the bird cannot be told."""
        yield ["level", "issue", "reason", "count"]
        found = self.found
        for level, part in found.levels.items():
            for issue, name in enumerate(REASONS):
                birds = found.reason == issue
                given = found.places[part][:, birds][found.abstained[part][:, birds]]
                counts = np.bincount(given, minlength=len(GIVEN)).tolist()
                yield from ([level, name, reason, count] for reason, count in zip(GIVEN, counts, strict=True))

    def wording_rows(self) -> Rows:
        """Every wording: how many unanswerable birds it was put about, and how often the model abstained."""
        yield ["level", "wording", "text", "n", "abstained", "rate", "ci_low", "ci_high"]
        found, birds = self.found, ~self.found.answerable
        texts = [text for level in found.wordings.levels.values() for text in level]
        for wording, level, name in self.numbered():
            told = found.told[wording] & birds
            n, count = int(told.sum()), int((found.abstained[wording] & told).sum())
            ci = clustered_wilson(np.where(told, found.abstained[wording], np.nan), clusters_of(found))
            rates = [f"{rate:.6f}" for rate in (count / n, *ci)] if n else [""] * 3
            yield [level, name, texts[wording], n, count, *rates]
