"""Predictions about image–category pairs, and what a record stores of them."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.evaluation.case_result import make_usage_record
from eyechart.models.types import Usage
from eyechart.oodbench.answers.yes_no_answers import QUESTIONS
from eyechart.oodbench.division.division_files import labels_sha256
from eyechart.oodbench.division.pairs import OOD_H, OOD_S, Division
from eyechart.protocol.base import Predictions, Rows, answered_images, truncation_note, with_key
from eyechart.results.records import OutcomeCounts, SubsetTiming, UsageRecord
from eyechart.results.sample_table import SHARED_COLUMNS, shared_cells
from eyechart.statistics.yes_no import MISSING, NO, UNPARSED, YES

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
_PRIME = "'"  # of the initial benchmark, as in the paper's tables
LABELS = "OODBench"
STAGES = ("existence", "counting", "logic")  # the questions of progression
_ANSWER_TEXT = {YES: "yes", NO: "no", UNPARSED: "", MISSING: ""}


@dataclass(frozen=True)
class _PairPredictions(Predictions):
    """Base class of predictions about pairs: the division, category names, and timing of each set.

    `errors` are by index of the pair or sample; an error excludes all its answers.
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
        """The index in the division of each question's pair, or of the first pair of each sample."""

    @property
    def images(self) -> Ints:
        """The image of each question; questions about one image are not independent."""
        return self.division.rows[self.pair_indices]

    def truncated_mask(self, answers: Ints) -> Bools:
        """Return which answers reached the token limit before they answered, in the shape of `answers`."""
        return np.zeros(answers.shape, np.bool_) if self.truncated is None else self.truncated

    def count_answers(self, answers: Ints, right: Bools) -> OutcomeCounts:
        """Return the number of answers of each outcome; `right` says which of the parsed ones are correct."""
        parsed, unparsed, cut = answers >= 0, answers == UNPARSED, self.truncated_mask(answers)
        return OutcomeCounts(
            correct=int((parsed & right).sum()),
            wrong=int((parsed & ~right).sum()),
            unparsed=int((unparsed & ~cut).sum()),
            error=int((answers == MISSING).sum()),
            truncated=int((unparsed & cut).sum()),
        )

    def label_hashes(self) -> dict[str, str]:
        """Return the sha256 of the division's pairs and labels."""
        return {LABELS: labels_sha256(self.division, self.dataset)}

    def error_messages(self) -> list[str]:
        """Return every error with its image's key."""
        return [with_key(self.keys[self.images[index]], error) for index, error in self.errors.items()]

    def answered_images(self) -> Floats:
        """Return for each image whether all its questions were answered."""
        return answered_images(self.images, self.errors, len(self.keys))

    def usage_record(self) -> UsageRecord:
        """Return the usage and timing of the answers, by set."""
        return make_usage_record(
            sum(took.answers for took in self.timings.values()), self.usage, self.cost, self.timings
        )

    def notes(self) -> Iterator[str]:
        """Yield the numbers of unparsed and truncated answers, and whether there were no questions."""
        outcomes = self.count_outcomes()
        every = outcomes.correct + outcomes.wrong + outcomes.unparsed + outcomes.error + outcomes.truncated
        if outcomes.unparsed:
            yield f"{outcomes.unparsed} of {every} answers could not be parsed; they count as wrong."
        yield from truncation_note(outcomes.truncated, f"{every} answers")
        if not every:
            yield "the division has no pairs for this case, so there are no metrics."

    def data_notes(self) -> Iterator[str]:
        """Yield what was left out of the division."""
        yield from map(str, self.division.notes)

    def files(self) -> dict[str, Rows]:
        """Return the table of the division."""
        return {"division": self.division_rows()}

    def division_rows(self) -> Rows:
        """Yield every pair with its set and the detectors' flags."""
        division = self.division
        yield ["pair", "key", "category", "name", "set", "main", "present", "flags", "hardness"]
        for pair in range(len(division)):
            flags = "".join(map(str, division.flags[pair].tolist()))
            hardness = division.hardness[pair]
            yield [*self.pair_cells(pair), flags, "" if np.isnan(hardness) else f"{hardness:.6g}"]

    def pair_cells(self, pair: int) -> list[Any]:
        """Return the columns that identify a pair."""
        division, category = self.division, int(self.division.categories[pair])
        key, here, main = self.keys[division.rows[pair]], int(division.present[pair]), int(division.main[pair])
        return [pair, key, category, self.names[category], division.sets[pair], main, here]


@dataclass(frozen=True)
class ExistencePredictions(_PairPredictions):
    """Answers (m, 2) to the positive and the negative question about m pairs of the division.

    `answers` are YES, NO, UNPARSED or MISSING of `statistics.yes_no`, and `completions` their texts. `errors` are by
    pair and exclude both its answers. `truncated` (m, 2) marks the UNPARSED answers that reached the token limit.
    """

    indices: Ints
    answers: Ints
    completions: tuple[tuple[str, str], ...]

    @property
    def pair_indices(self) -> Ints:
        """The index of each pair in the division."""
        return self.indices

    @property
    def expected(self) -> Bools:
        """Whether yes is the correct answer, (m, 2)."""
        here = self.division.present[self.indices]
        return np.stack([here, ~here], axis=1)

    def set_masks(self) -> Iterator[tuple[str, Bools]]:
        """Yield every non-empty set with its mask; sets of the initial benchmark only if all their pairs were asked."""
        sets, main = np.array(self.division.sets)[self.indices], self.division.main[self.indices]
        for name in dict.fromkeys(self.division.sets):
            yield name, (sets == name) & main
        if self.variant["division_scope"] == "initial":
            yield from ((f"{name}{_PRIME}", sets == name) for name in (OOD_S, OOD_H))

    def describe_count(self) -> str:
        """Return the number of pairs."""
        return f"{len(self.pair_indices)} pairs"

    def count_outcomes(self) -> OutcomeCounts:
        """Count the answers by outcome."""
        return self.count_answers(self.answers, (self.answers == YES) == self.expected)

    def samples(self) -> Rows:
        """Yield every question with its expected answer, parsed answer and completion."""
        about = ("pair", "category", "category_name", "main", "present")
        yield [*SHARED_COLUMNS, *about, "question", "response", "truncated"]
        cut = self.truncated_mask(self.answers)
        for index, pair in enumerate(self.indices.tolist()):
            number, key, category, category_name, subset, main, present = self.pair_cells(pair)
            for side, question in enumerate(QUESTIONS):
                answer, expected = int(self.answers[index, side]), bool(self.expected[index, side])
                shared = shared_cells(
                    key=key,
                    target=_ANSWER_TEXT[int(expected)],
                    prediction=_ANSWER_TEXT[answer],
                    correct=None if answer == MISSING else answer >= 0 and (answer == YES) == expected,
                    subset=subset,
                    error=self.errors.get(index, "") if answer == MISSING else "",
                )
                about_pair = [number, category, category_name, main, present]
                yield [*shared, *about_pair, question, self.completions[index][side], int(cut[index, side])]


@dataclass(frozen=True)
class ProgressionPredictions(_PairPredictions):
    """Answers about s samples of two categories in one image: first present? how many of second? more of first?

    `first` and `second` (s,) are pair indices in the division, `counts` (s, 2) the annotated numbers of objects.
    `existence` and `logic` (s,) are YES, NO, UNPARSED or MISSING; `counting` (s,) is a number, -1 for unparsed or -2
    for missing. `truncated` (s, 3) marks the unparsed answers that reached the token limit.
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
        """The index of the pair of each sample's first category."""
        return self.first

    @property
    def set_names(self) -> Sequence[str]:
        """The set of each sample."""
        return [self.division.sets[index] for index in self.first.tolist()]

    @property
    def missing(self) -> Bools:
        """Which samples have a missing answer, (s,)."""
        mask: Bools = np.stack([self.existence, self.counting, self.logic]).min(axis=0) == -2
        return mask

    @property
    def correct(self) -> Ints:
        """Whether existence, counting, and logic together with counting are correct, (s, 3)."""
        more = self.counts[:, 0] > self.counts[:, 1]
        counting = self.counting == self.counts[:, 1]
        return np.stack([self.existence == 1, counting, counting & (self.logic == more)], axis=1).astype(np.int64)

    def describe_count(self) -> str:
        """Return the number of samples."""
        return f"{len(self.pair_indices)} samples"

    def count_outcomes(self) -> OutcomeCounts:
        """Count the answers, three per sample; a logic answer counts by itself, even if the count is wrong."""
        answers = np.stack([self.existence, self.counting, self.logic], axis=1)
        more = self.counts[:, 0] > self.counts[:, 1]
        right = np.stack([answers[:, 0] == YES, answers[:, 1] == self.counts[:, 1], answers[:, 2] == more], axis=1)
        return self.count_answers(answers, right)

    def samples(self) -> Rows:
        """Yield the three questions of every sample; an error in one of them leaves none of them correct or wrong."""
        pair = ("first_category", "first_name", "first_count", "second_category", "second_name", "second_count")
        yield [*SHARED_COLUMNS, "sample", "question", *pair, "response", "truncated"]
        correct = np.where(self.missing[:, None], np.nan, self.correct)
        cut = self.truncated_mask(correct)
        for sample, first in enumerate(self.first.tolist()):
            answers = zip(STAGES, self.targets(sample), self.answers(sample), self.completions[sample], strict=True)
            for stage, (question, target, answer, completion) in enumerate(answers):
                shared = shared_cells(
                    key=self.keys[self.division.rows[first]],
                    target=target,
                    prediction=answer,
                    correct=correct[sample, stage],
                    subset=self.division.sets[first],
                    error=self.errors.get(sample, ""),
                )
                yield [*shared, sample, question, *self.category_cells(sample), completion, int(cut[sample, stage])]

    def targets(self, sample: int) -> tuple[str, str, str]:
        """Return the expected answers to the three questions of a sample."""
        first, second = self.counts[sample].tolist()
        return _ANSWER_TEXT[YES], str(second), _ANSWER_TEXT[YES if first > second else NO]

    def answers(self, sample: int) -> tuple[str, str, str]:
        """Return the parsed answers to the three questions of a sample, "" for none."""
        existence, counting, logic = (int(codes[sample]) for codes in (self.existence, self.counting, self.logic))
        return _ANSWER_TEXT[existence], "" if counting < 0 else str(counting), _ANSWER_TEXT[logic]

    def category_cells(self, sample: int) -> list[Any]:
        """Return the index, the name and the number of objects of both categories of a sample."""
        categories = self.division.categories[[self.first[sample], self.second[sample]]].tolist()
        numbers = zip(categories, self.counts[sample].tolist(), strict=True)
        return [cell for category, count in numbers for cell in (category, self.names[category], count)]
