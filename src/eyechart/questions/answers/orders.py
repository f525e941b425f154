"""The order in which the options of a question are shown: as in the table, shuffled, and rotated."""

from random import Random

from msgspec.structs import replace

from eyechart.questions.data.question_set import Question

NO_SHUFFLE = "none"


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
    return replace(question, options=tuple(question.options[index] for index in order), right=right)
