"""The answers to the questions of a table, and what a record stores of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.evaluation.case_result import make_usage_record
from eyechart.messages.plurals import count_of
from eyechart.models.types import Usage
from eyechart.protocol.base import Predictions, Rows, truncation_note
from eyechart.questions.answers.kinds import CHOICE, CHOICES, LIST, VQA
from eyechart.questions.answers.readings import UNREAD, Reading, option_text
from eyechart.questions.data.question_set import Question, QuestionSet
from eyechart.results.records import OutcomeCounts, UsageRecord
from eyechart.results.sample_table import SHARED_COLUMNS, shared_cells

LABELS = "answers"
PARTIAL = frozenset((VQA, LIST))  # kinds whose answers may be right in part
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Answered(NamedTuple):
    """One answer: the question as it was shown, and the reading of the response, or its error."""

    row: int
    question: Question
    reading: Reading
    response: str
    error: str = ""
    truncated: bool = False


@dataclass(frozen=True)
class QuestionPredictions(Predictions):
    """The answers to each question, one for each order of its options.

    `answers` are sorted by question. A question with several orders is right if the answers in all orders are.
    """

    questions: QuestionSet
    kinds: tuple[str, ...]
    answers: tuple[Answered, ...]
    variant: Mapping[str, str]
    usage: Usage
    cost: float | None
    seed: int

    @property
    def keys(self) -> tuple[str, ...]:  # type: ignore[override]
        """The ids of the questions."""
        return tuple(question.id for question in self.questions.questions)

    @cached_property
    def errors(self) -> Mapping[int, str]:  # type: ignore[override]
        """The first error of each question that has one."""
        return {answer.row: answer.error for answer in reversed(self.answers) if answer.error}

    @property
    def is_circular(self) -> bool:
        """Whether the options were shown in several orders."""
        return len(self.answers) > len(self.kinds)

    @cached_property
    def credit(self) -> Floats:
        """The credit of each question (n,), the least of its orders; NaN for an error."""
        return self._earned(self.answers)

    @cached_property
    def first_credit(self) -> Floats:
        """The credit of each question (n,) in the first order of its options; NaN for an error."""
        first: dict[int, Answered] = {}
        for answer in self.answers:
            first.setdefault(answer.row, answer)
        return self._earned(tuple(first.values()))

    def _earned(self, answers: tuple[Answered, ...]) -> Floats:
        earned = np.full(len(self.kinds), np.inf)
        for answer in answers:
            credit = np.nan if answer.error else answer.reading.credit or 0.0
            earned[answer.row] = np.minimum(earned[answer.row], credit)  # NaN if one is
        return earned

    @property
    def is_partial(self) -> bool:
        """Whether an answer may be right in part."""
        return not PARTIAL.isdisjoint(self.kinds)

    def label_hashes(self) -> dict[str, str]:
        """Return the sha256 of the questions and their answers."""
        return {LABELS: self.questions.sha256}

    def clusters(self) -> Ints:
        """Return the group of each question (n,): questions about one image are not independent."""
        return self.questions.clusters

    def count_outcomes(self) -> OutcomeCounts:
        """Count the answers; one that is right in part is not correct."""
        counts = dict.fromkeys(("correct", "wrong", "unparsed", "error", "truncated"), 0)
        for answer in self.answers:
            counts[_outcome(answer)] += 1
        return OutcomeCounts(**counts)

    def describe_count(self) -> str:
        """Return the number of questions."""
        return count_of(len(self.kinds), "question")

    def usage_record(self) -> UsageRecord:
        """Return the numbers of requests and tokens."""
        return make_usage_record(len(self.answers), self.usage, self.cost)

    def notes(self) -> Iterator[str]:
        """Yield the kinds of answer, and the numbers of unparsed and truncated ones."""
        kinds = {kind: self.kinds.count(kind) for kind in dict.fromkeys(self.kinds)}
        yield f"kinds of answer: {', '.join(f'{number} {kind}' for kind, number in kinds.items())}"
        outcomes, total = self.count_outcomes(), count_of(len(self.answers), "answer")
        if outcomes.unparsed:
            yield f"{outcomes.unparsed} of {total} could not be parsed; they count as wrong."
        yield from truncation_note(outcomes.truncated, total)

    def samples(self) -> Rows:
        """Yield every answer with its question, its options as they were shown, and the response."""
        yield [*SHARED_COLUMNS, "kind", "hint", "question", "options", "order", "credit", "response", "truncated"]
        orders = dict.fromkeys(range(len(self.kinds)), 0)
        for answer in self.answers:
            kind, question = self.kinds[answer.row], answer.question
            credit = "" if answer.error else answer.reading.credit or 0.0
            shared = shared_cells(
                key=question.id,
                target=_target(question, kind),
                prediction=answer.reading.prediction,
                correct=None if answer.error else answer.reading.credit == 1,
                subset=kind,
                error=answer.error,
            )
            options = ";".join(option.replace(";", ",") for option in question.options)
            order = orders[answer.row] if self.is_circular else ""
            orders[answer.row] += 1
            response = answer.response
            yield [*shared, kind, question.hint, question.text, options, order, credit, response, int(answer.truncated)]


def _outcome(answer: Answered) -> str:
    if answer.error:
        return "error"
    if answer.reading == UNREAD or answer.reading.credit is None:
        return "truncated" if answer.truncated else "unparsed"
    return "correct" if answer.reading.credit == 1 else "wrong"


def _target(question: Question, kind: str) -> str:
    """Return the accepted answers as text."""
    if kind in (CHOICE, CHOICES):
        return "; ".join(option_text(question, index) for index in question.right)
    return "; ".join(dict.fromkeys(question.answers))


def listed_options(texts: Sequence[str]) -> str:
    """Return options as the prompt lists them.

    >>> listed_options(["red", "blue"])
    'A) red\\nB) blue'
    """
    return "\n".join(f"{letter}) {text}" for letter, text in zip(ascii_uppercase, texts, strict=False))
