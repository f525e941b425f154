"""Answers about pairs of an image and a category, and what a record keeps of them."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset import Dataset
from eyechart.metrics.yes_no import MISSING, NO, UNPARSED, YES
from eyechart.models.types import Usage
from eyechart.oodbench.division import OOD_H, OOD_S, Division
from eyechart.oodbench.division_files import labels_sha256
from eyechart.oodbench.yes_no_prompts import QUESTIONS
from eyechart.protocol.base import Predictions, Rows, answered_images, truncation_note, with_key
from eyechart.protocol.result import make_usage_record
from eyechart.records import OutcomeCounts, SubsetTiming, UsageRecord

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
PRIME = "'"  # of the initial benchmark, as in the paper's tables
LABELS = "OODBench"
ANSWER_TEXT = {YES: "yes", NO: "no", UNPARSED: "", MISSING: ""}


@dataclass(frozen=True)
class PairPredictions(Predictions):
    """What all answers about pairs have: the division, the categories' names, and what the answers took by set.

    `errors` are by place in the questions, and leave all answers of a place out.
    """

    dataset: Dataset
    division: Division
    names: tuple[str, ...]
    variant: Mapping[str, str]
    errors: Mapping[int, str]
    usage: Usage
    cost: float | None
    timings: Mapping[str, SubsetTiming]
    truncated: Bools | None = field(default=None, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    @property
    def keys(self) -> tuple[str, ...]:  # type: ignore[override]
        """The keys of the images."""
        return self.dataset.keys

    @property
    @abstractmethod
    def pair_indices(self) -> Ints:
        """The place in the division that each question, or the first of several, is about."""

    @property
    def images(self) -> Ints:
        """The image of each question: several questions about one image are no independent samples."""
        return self.division.rows[self.pair_indices]

    def truncated_mask(self, answers: Ints) -> Bools:
        """Return which answers ended at the token limit before they answered, in the shape of `answers`."""
        return np.zeros(answers.shape, np.bool_) if self.truncated is None else self.truncated

    def label_hashes(self) -> dict[str, str]:
        """Return the sha256 of the pairs of the division."""
        return {LABELS: labels_sha256(self.division, self.dataset)}

    def error_messages(self) -> list[str]:
        """Return every error with its image."""
        return [with_key(self.keys[self.images[place]], error) for place, error in self.errors.items()]

    def answered_images(self) -> Floats:
        """Return whether each image was answered, in all of its questions."""
        return answered_images(self.images, self.errors, len(self.keys))

    def usage_record(self) -> UsageRecord:
        """Return what the answers took, set by set."""
        return make_usage_record(
            sum(took.answers for took in self.timings.values()), self.usage, self.cost, self.timings
        )

    def notes(self) -> Iterator[str]:
        """Yield how many answers could not be read or were cut, and whether there was nothing to ask about."""
        came = self.count_outcomes()
        every = came.correct + came.wrong + came.unparsed + came.error + came.truncated
        if came.unparsed:
            yield f"{came.unparsed} of {every} answers could not be read; they count as wrong."
        yield from truncation_note(came.truncated, f"{every} answers")
        if not every:
            yield "the division has nothing to ask about, so there are no numbers."

    def data_notes(self) -> Iterator[str]:
        """Yield what the division left out."""
        yield from map(str, self.division.notes)

    def files(self) -> dict[str, Rows]:
        """Return the division."""
        return {"division": self.division_rows()}

    def division_rows(self) -> Rows:
        """Yield every pair: its set, and what each detector says of it."""
        divided = self.division
        yield ["pair", "key", "category", "name", "set", "main", "present", "flags", "hardness"]
        for pair in range(len(divided)):
            flags = "".join(map(str, divided.flags[pair].tolist()))
            hardness = divided.hardness[pair]
            yield [*self.pair_cells(pair), flags, "" if np.isnan(hardness) else f"{hardness:.6g}"]

    def pair_cells(self, pair: int) -> list[Any]:
        """Return the columns that say which pair it is."""
        divided, category = self.division, int(self.division.categories[pair])
        key, here, main = self.keys[divided.rows[pair]], int(divided.present[pair]), int(divided.main[pair])
        return [pair, key, category, self.names[category], divided.sets[pair], main, here]


@dataclass(frozen=True)
class ExistencePredictions(PairPredictions):
    """Answers (m, 2) to the positive and the negative question about the pairs at `places` (m,) of the division.

    They are YES, NO, UNPARSED or MISSING of `metrics.yes_no`; `said` are their words. `errors` are by place in `places`
    and leave both answers of a pair out. `truncated` (m, 2) says which of the UNPARSED ended at the token limit.
    """

    places: Ints
    answers: Ints
    completions: tuple[tuple[str, str], ...]

    @property
    def pair_indices(self) -> Ints:
        """The pairs that were asked about."""
        return self.places

    @property
    def expected(self) -> Bools:
        """Whether yes is right, (m, 2)."""
        here = self.division.present[self.places]
        return np.stack([here, ~here], axis=1)

    def set_masks(self) -> Iterator[tuple[str, Bools]]:
        """Every set that has a pair, with which pairs are its: the initial ones only where all of them were asked."""
        sets, main = np.array(self.division.sets)[self.places], self.division.main[self.places]
        for name in dict.fromkeys(self.division.sets):
            yield name, (sets == name) & main
        if self.variant["division_scope"] == "initial":
            yield from ((f"{name}{PRIME}", sets == name) for name in (OOD_S, OOD_H))

    def describe_count(self) -> str:
        """Return how many pairs there are."""
        return f"{len(self.pair_indices)} pairs"

    def count_outcomes(self) -> OutcomeCounts:
        """Count the answers by what became of them."""
        read = self.answers >= 0
        correct = read & ((self.answers == YES) == self.expected)
        unread, cut = self.answers == UNPARSED, self.truncated_mask(self.answers)
        return OutcomeCounts(
            correct=int(correct.sum()),
            wrong=int((read & ~correct).sum()),
            unparsed=int((unread & ~cut).sum()),
            error=int((self.answers == MISSING).sum()),
            truncated=int((unread & cut).sum()),
        )

    def samples(self) -> Rows:
        """Yield every question: what was expected, answered and said."""
        columns = ("pair", "key", "category", "name", "set", "main", "present")
        yield [*columns, "question", "expected", "answer", "correct", "said", "error", "truncated"]
        cut = self.truncated_mask(self.answers)
        for place, pair in enumerate(self.places.tolist()):
            for side, name in enumerate(QUESTIONS):
                answer, expected = int(self.answers[place, side]), bool(self.expected[place, side])
                correct = "" if answer == MISSING else int(answer >= 0 and (answer == YES) == expected)
                error = self.errors.get(place, "") if answer == MISSING else ""
                cells = [
                    name,
                    ANSWER_TEXT[int(expected)],
                    ANSWER_TEXT[answer],
                    correct,
                    self.completions[place][side],
                    error,
                    int(cut[place, side]),
                ]
                yield [*self.pair_cells(pair), *cells]


@dataclass(frozen=True)
class ProgressionPredictions(PairPredictions):
    """Samples of two categories of one image: answers to whether the first is there, how many the second, which more.

    `first` and `second` (s,) are places in the division, `counts` (s, 2) how many there are. `existence` and `logic`
    (s,) are YES, NO, UNPARSED or MISSING, `counting` (s,) a number, -1 for unparsed and -2 for missing.
    `truncated` (s, 3) says which of the unparsed ended at the token limit.
    """

    first: Ints
    second: Ints
    counts: Ints
    existence: Ints
    counting: Ints
    logic: Ints
    completions: tuple[tuple[str, str, str], ...]

    @property
    def pair_indices(self) -> Ints:
        """The pair of the first category of each sample."""
        return self.first

    @property
    def set_names(self) -> Sequence[str]:
        """The set of each sample."""
        return [self.division.sets[place] for place in self.first.tolist()]

    @property
    def missing(self) -> Bools:
        """Which samples have a question without an answer."""
        found: Bools = np.stack([self.existence, self.counting, self.logic]).min(axis=0) == -2
        return found

    @property
    def correct(self) -> Ints:
        """(s, 3): whether existence, counting, and logic together with counting were answered rightly."""
        more = self.counts[:, 0] > self.counts[:, 1]
        counting = self.counting == self.counts[:, 1]
        return np.stack([self.existence == 1, counting, counting & (self.logic == more)], axis=1).astype(np.int64)

    def describe_count(self) -> str:
        """Return how many samples there are."""
        return f"{len(self.pair_indices)} samples"

    def count_outcomes(self) -> OutcomeCounts:
        """Count the answers, three a sample; a logical answer counts as right where it is, whatever the number."""
        answers = np.stack([self.existence, self.counting, self.logic], axis=1)
        more = self.counts[:, 0] > self.counts[:, 1]
        right = np.stack([answers[:, 0] == YES, answers[:, 1] == self.counts[:, 1], answers[:, 2] == more], axis=1)
        read, unread, cut = answers >= 0, answers == UNPARSED, self.truncated_mask(answers)
        return OutcomeCounts(
            correct=int((read & right).sum()),
            wrong=int((read & ~right).sum()),
            unparsed=int((unread & ~cut).sum()),
            error=int((answers == MISSING).sum()),
            truncated=int((unread & cut).sum()),
        )

    def samples(self) -> Rows:
        """Yield every sample: both categories, the three answers, and whether they are right."""
        pair = ("first", "second", "first_name", "second_name", "first_count", "second_count")
        said = ("existence_said", "existence", "counting_said", "counting", "logic_said", "logic")
        yield ["sample", "key", "set", *pair, *said, "e", "c", "l", "error", "truncated"]
        for sample in range(len(self.first)):
            yield [sample, *self.sample_cells(sample)]

    def sample_cells(self, sample: int) -> list[Any]:
        """Return one sample without its number."""
        divided = self.division
        pair = [int(self.first[sample]), int(self.second[sample])]
        categories = [int(divided.categories[place]) for place in pair]
        existence, counting, logic = (int(said[sample]) for said in (self.existence, self.counting, self.logic))
        answers = [ANSWER_TEXT[existence], "" if counting < 0 else counting, ANSWER_TEXT[logic]]
        both = [cell for told in zip(self.completions[sample], answers, strict=True) for cell in told]
        right = [""] * 3 if self.missing[sample] else self.correct[sample].tolist()
        names = [self.names[category] for category in categories]
        where = [self.keys[divided.rows[pair[0]]], divided.sets[pair[0]]]
        counts, error = self.counts[sample].tolist(), self.errors.get(sample, "")
        cut = "" if self.truncated is None else int(self.truncated[sample].sum())
        return [*where, *categories, *names, *counts, *both, *right, error, cut or 0]
