"""What cases about pairs write down: every question with its answer, the division, and numbers set by set."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from eyechart.gate.evidence import Floats
from eyechart.metrics.yes_no import MISSING, NO, UNPARSED, YES
from eyechart.oodbench.division_files import truth_of
from eyechart.oodbench.predictions import Existence, Progression, Told
from eyechart.oodbench.scoring import (
    LABELS,
    existence_estimates,
    existence_outcomes,
    images_of,
    progression_estimates,
    progression_outcomes,
    truncated,
)
from eyechart.oodbench.yes_no_prompts import QUESTIONS
from eyechart.protocol.result import FoundRecording, Rows, about, answered_images, named, served, truncation_note
from eyechart.records import Outcomes, Served

T = TypeVar("T", bound=Told)
WORD = {YES: "yes", NO: "no", UNPARSED: "", MISSING: ""}


class PairRecording(FoundRecording[T]):
    """What existence and progression have in common."""

    @property
    def errors(self) -> list[str]:
        """Every error, with its image."""
        return [named(self.key_of(place), error) for place, error in self.found.errors.items()]

    @abstractmethod
    def key_of(self, place: int) -> str:
        """The image that an error is about."""

    def truths(self) -> Mapping[str, str]:
        """The sha256 of the division's pairs."""
        return {LABELS: truth_of(self.found.division, self.dataset)}

    def served(self) -> Served:
        """What the answers took, set by set."""
        found = self.found
        return served(sum(took.answers for took in found.sets.values()), found.usage, found.cost, found.sets)

    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know, and what the division left out."""
        came, case = self.outcomes(), f"{self.case} ({self.case.protocol})"
        unread, cut = came.unparsed, came.truncated
        every = came.correct + came.wrong + came.unparsed + came.error + came.truncated
        silent = f"{case}: {unread} of {every} answers could not be read; they count as wrong."
        nothing = f"{case}: the division has nothing to ask about, so there are no numbers."
        said = (
            *((silent,) if unread else ()),
            *truncation_note(case, cut, f"{every} answers"),
            *(() if every else (nothing,)),
        )
        return (*super().notes(), *said, *about(self.case, self.found.division.notes))

    def artifact_rows(self) -> dict[str, Rows]:
        """The division."""
        return {"division": self.division_rows()}

    def division_rows(self) -> Rows:
        """Every pair: its set, and what each detector says of it."""
        divided = self.found.division
        yield ["pair", "key", "category", "name", "set", "main", "present", "flags", "hardness"]
        for pair in range(len(divided)):
            flags = "".join(map(str, divided.flags[pair].tolist()))
            hardness = divided.hardness[pair]
            yield [*self.pair_cells(pair), flags, "" if np.isnan(hardness) else f"{hardness:.6g}"]

    def pair_cells(self, pair: int) -> list[Any]:
        """The columns that say which pair it is."""
        divided, category = self.found.division, int(self.found.division.categories[pair])
        key, here, main = self.found.keys[divided.rows[pair]], int(divided.present[pair]), int(divided.main[pair])
        return [pair, key, category, self.found.names[category], divided.sets[pair], main, here]


class ExistenceRecording(PairRecording[Existence]):
    """Collects the numbers of a case of existence."""

    @property
    def asked(self) -> str:
        """How many pairs there are, two questions each."""
        return f"{len(self.found.places)} pairs"

    def key_of(self, place: int) -> str:
        """The image that an error is about."""
        return self.found.keys[int(self.found.division.rows[self.found.places[place]])]

    def existence(self, found: Existence) -> None:
        """Score the answers."""
        self.scored.extend(existence_estimates(found, self.settings.seed))

    def outcomes(self) -> Outcomes:
        """What became of the answers."""
        return existence_outcomes(self.found)

    def answered(self) -> Floats:
        """Whether each image was answered, in all of its questions."""
        return answered_images(images_of(self.found), self.found.errors, len(self.dataset))

    def answer_rows(self) -> Rows:
        """Every question: what was expected, answered and said."""
        columns = ("pair", "key", "category", "name", "set", "main", "present")
        yield [*columns, "question", "expected", "answer", "correct", "said", "error", "truncated"]
        found = self.found
        cut = truncated(found, found.answers)
        for place, pair in enumerate(found.places.tolist()):
            for side, name in enumerate(QUESTIONS):
                answer, expected = int(found.answers[place, side]), bool(found.expected[place, side])
                correct = "" if answer == MISSING else int(answer >= 0 and (answer == YES) == expected)
                error = found.errors.get(place, "") if answer == MISSING else ""
                cells = [
                    name,
                    WORD[int(expected)],
                    WORD[answer],
                    correct,
                    found.said[place][side],
                    error,
                    int(cut[place, side]),
                ]
                yield [*self.pair_cells(pair), *cells]


class ProgressionRecording(PairRecording[Progression]):
    """Collects the numbers of a case of progression."""

    @property
    def asked(self) -> str:
        """How many samples there are, three questions each."""
        return f"{len(self.found.first)} samples"

    def key_of(self, place: int) -> str:
        """The image that an error is about."""
        return self.found.keys[int(self.found.division.rows[self.found.first[place]])]

    def progression(self, found: Progression) -> None:
        """Score the answers."""
        self.scored.extend(progression_estimates(found, self.settings.seed))

    def outcomes(self) -> Outcomes:
        """What became of the answers."""
        return progression_outcomes(self.found)

    def answered(self) -> Floats:
        """Whether each image was answered, in all of its questions."""
        rows = self.found.division.rows[self.found.first]
        return answered_images(rows, self.found.errors, len(self.dataset))

    def answer_rows(self) -> Rows:
        """Every sample: both categories, the three answers, and whether they are right."""
        pair = ("first", "second", "first_name", "second_name", "first_count", "second_count")
        said = ("existence_said", "existence", "counting_said", "counting", "logic_said", "logic")
        yield ["sample", "key", "set", *pair, *said, "e", "c", "l", "error", "truncated"]
        for sample in range(len(self.found.first)):
            yield [sample, *self.sample_cells(sample)]

    def sample_cells(self, sample: int) -> list[Any]:
        """One sample without its number."""
        found, divided = self.found, self.found.division
        pair = [int(found.first[sample]), int(found.second[sample])]
        categories = [int(divided.categories[place]) for place in pair]
        existence, counting, logic = (int(said[sample]) for said in (found.existence, found.counting, found.logic))
        answers = [WORD[existence], "" if counting < 0 else counting, WORD[logic]]
        both = [cell for told in zip(found.said[sample], answers, strict=True) for cell in told]
        right = [""] * 3 if found.missing[sample] else found.right[sample].tolist()
        names = [found.names[category] for category in categories]
        where = [found.keys[divided.rows[pair[0]]], divided.sets[pair[0]]]
        counts, error = found.counts[sample].tolist(), found.errors.get(sample, "")
        cut = "" if found.truncated is None else int(found.truncated[sample].sum())
        return [*where, *categories, *names, *counts, *both, *right, error, cut or 0]
