"""The questions of a table, which the protocol asks and scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from random import Random

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset, SliceVariable
from eyechart.errors import UnavailableError

NO_SHUFFLE = "none"
Ints = NDArray[np.int64]


class Question(msgspec.Struct, frozen=True, gc=False):
    """One question: its text, its pictures, and the answers that are accepted.

    `pictures` are indices into the pictures of the table. `options` are texts, and `right` the indices of the right
    ones; a question without options has `answers` instead. `kind` is "" unless a column names it. `where` is the row
    of the table, for messages.
    """

    id: str
    text: str
    pictures: tuple[int, ...]
    where: str
    answers: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    right: tuple[int, ...] = ()
    hint: str = ""
    kind: str = ""
    tolerance: str = ""


@dataclass(frozen=True, eq=False)
class QuestionSet:
    """The questions in the order of a data set's index, and all pictures that they are about, as a data set."""

    questions: tuple[Question, ...]
    pictures: Dataset

    def __len__(self) -> int:
        return len(self.questions)

    @cached_property
    def sha256(self) -> str:
        """The sha256 of all that an answer or a number depends on."""
        plain = [msgspec.structs.replace(question, where="", pictures=()) for question in self.questions]
        digests = [[self.pictures.index[row].sha256 for row in question.pictures] for question in self.questions]
        return sha256(msgspec.json.encode([plain, digests])).hexdigest()

    def select(self, rows: Sequence[int]) -> "QuestionSet":
        """Return some questions, in the order of `rows`."""
        return replace(self, questions=tuple(self.questions[row] for row in rows))

    def slice_variables(self) -> Iterator[SliceVariable]:
        """Yield nothing: the columns of the table are variables of the data set itself."""
        yield from ()

    def image_classes(self) -> Ints | None:
        """Return None: questions have no classes."""
        return None

    def image_attributes(self) -> dict[str, NDArray[np.float64]]:
        """Return no attributes: objects are not counted."""
        return {}

    @cached_property
    def clusters(self) -> Ints:
        """The group of each question (n,): questions that share a picture, directly or by way of others, are one."""
        parents = list(range(len(self.pictures.index)))

        def find(picture: int) -> int:
            while parents[picture] != picture:
                parents[picture] = picture = parents[parents[picture]]
            return picture

        for question in self.questions:
            for picture in question.pictures[1:]:
                parents[find(picture)] = find(question.pictures[0])
        roots = [find(question.pictures[0]) for question in self.questions]
        numbers = {root: number for number, root in enumerate(dict.fromkeys(roots))}
        return np.array([numbers[root] for root in roots], np.int64)


def find_questions(dataset: Dataset) -> QuestionSet:
    """Return the questions of the selected rows. Raises UnavailableError for a data set without questions."""
    details = dataset.selected_details
    if not isinstance(details, QuestionSet):
        raise UnavailableError(
            f"{dataset.benchmark}/{dataset.split} has no questions. Put a table with the columns image, question and "
            "answer into its folder: questions.csv."
        )
    return details


def option_orders(question: Question, shuffle: str, *, circular: bool) -> list[tuple[int, ...]]:
    """Return the orders of the options of a question, each as indices into its options.

    Args:
        question: The question; one without options has one empty order.
        shuffle: The seed of a random order, which depends on it and the question's id alone; "none" for the table's.
        circular: Whether there is a further order for each rotation, as in MMBench's CircularEval.

    Source: Y. Liu et al., MMBench, arXiv 2307.06281, section 4.1: N orders of N options, each one shifted by one.

    >>> option_orders(Question("1", "?", (0,), "", options=("a", "b", "c"), right=(0,)), "none", circular=True)
    [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    """
    first = [*range(len(question.options))]
    if shuffle != NO_SHUFFLE:
        Random(f"{shuffle}|questions|{question.id}").shuffle(first)
    shifts = range(len(first)) if circular and first else range(1)
    return [(*first[shift:], *first[:shift]) for shift in shifts]


def reorder(question: Question, order: tuple[int, ...]) -> Question:
    """Return a question with its options in another order."""
    if not question.options:
        return question
    right = tuple(sorted(order.index(index) for index in question.right))
    return msgspec.structs.replace(question, options=tuple(question.options[index] for index in order), right=right)
