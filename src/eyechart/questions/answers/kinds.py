"""The kinds of answer, and which one each question has."""

import re
from collections.abc import Mapping, Sequence

from eyechart.errors import DataError
from eyechart.questions.answers.vqa import normalise
from eyechart.questions.data.question_set import Question

CHOICE, CHOICES, YES_NO, NUMBER, EXACT, VQA, LIST, TEXT = KINDS = (
    "choice",
    "choices",
    "yes_no",
    "number",
    "exact",
    "vqa",
    "list",
    "text",
)
_KIND_WORDS: Mapping[str, str] = {
    "": "",
    "multiple choice": CHOICE,
    "multi choice": CHOICE,
    "integer": NUMBER,
    "float": NUMBER,
    "open": EXACT,
    "free form": EXACT,
}  # other words for kinds, with spaces between their parts
_NUMBER = re.compile(r"[+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_LETTER = re.compile(r"[A-Z]")
ANNOTATORS = 10  # answers of people to each question of VQA
AUTO = "auto"


def find_kind(word: str) -> str | None:
    """Return the kind that a cell of a column names, "" for an empty cell, None for an unknown word.

    >>> find_kind("Yes/No"), find_kind("multiple-choice"), find_kind("free_form"), find_kind("colour")
    ('yes_no', 'choice', 'exact', None)
    """
    spaced = re.sub(r"[\s_/-]+", " ", word.casefold()).strip()
    kind = spaced.replace(" ", "_")
    return kind if kind in KINDS else _KIND_WORDS.get(spaced)


def resolve_kinds(questions: Sequence[Question], chosen: str) -> tuple[str, ...]:
    """Return the kind of answer to each question.

    Questions with options are choices, of several options if a question has several right ones. The others have the
    kind of their column, else the kind `chosen`, else the one that fits all their answers.

    Raises DataError for answers of several kinds, and for an answer that is not of its kind.
    """
    several = any(len(question.right) > 1 for question in questions)
    rest = [question for question in questions if not question.options and not question.kind]
    found = chosen if chosen != AUTO else _find_kind(rest) if rest else ""
    kinds = tuple(_kind(question, found, several) for question in questions)
    for question, kind in zip(questions, kinds, strict=True):
        _check(question, kind)
    return kinds


def _kind(question: Question, found: str, several: bool) -> str:
    if question.options:
        return question.kind if question.kind == CHOICES else CHOICES if several else CHOICE
    return question.kind or found


def _find_kind(questions: Sequence[Question]) -> str:
    """Return the kind of answers without options. Raises DataError if some are yes or no, or numbers, and some not."""
    if any(len(question.answers) > 1 for question in questions):
        annotated = all(len(question.answers) == ANNOTATORS for question in questions)
        return VQA if annotated else EXACT
    if all(_LETTER.fullmatch(question.answers[0]) for question in questions):
        raise DataError(
            f"{questions[0].where}: the answer is '{questions[0].answers[0]}', and all others are letters, too, "
            "without options. Write the options into the columns A, B, C and so on, or into the column choices."
        )
    tests = {YES_NO: _is_yes_no, NUMBER: is_number}
    for kind, test in tests.items():
        fitting = [test(question.answers[0]) for question in questions]
        if all(fitting):
            return kind
        if any(fitting):
            odd = questions[fitting.index(False)]
            fit = questions[fitting.index(True)]
            raise DataError(
                f"{odd.where}: the answer is '{odd.answers[0]}', and {fit.where.rpartition(', ')[2]} has "
                f"'{fit.answers[0]}', so that the answers are of several kinds. Add a column kind with one of "
                f"{', '.join(KINDS)} for each row, or give --eye-set=questions.kind=exact."
            )
    if all(_DECIMAL_COMMA.fullmatch(question.answers[0].strip()) for question in questions):
        raise DataError(
            f"{questions[0].where}: the answer is '{questions[0].answers[0]}', and all others have a comma, too. Write "
            "a point in decimal numbers, or give --eye-set=questions.kind=exact."
        )
    return EXACT


def _check(question: Question, kind: str) -> None:
    """Raise DataError for an answer that is not of its kind."""
    expected = ""
    if kind in (CHOICE, CHOICES) and not question.options:
        expected = "options in the columns A, B, C and so on, or in the column choices"
    elif kind == YES_NO and not _is_yes_no(question.answers[0]):
        expected = "the answer yes or no"
    elif kind == NUMBER and not is_number(question.answers[0]):
        expected = "a number as the answer"
    elif kind in (EXACT, VQA, LIST, TEXT) and not any(map(normalise, question.answers)):
        expected = (
            "a word as the answer; if it is the letter of an option, the options in the columns A, B, C and so on"
        )
    elif question.tolerance and not _is_tolerance(question.tolerance):
        expected = "a number from 0 up as the tolerance, such as 0.5 or 5%"
    if expected:
        shown = question.tolerance if "tolerance" in expected else "; ".join(question.answers)
        raise DataError(f"{question.where} is of the kind {kind} and has '{shown}'. Expected {expected}.")


def _is_yes_no(text: str) -> bool:
    """Return whether an answer of a table is yes or no.

    >>> _is_yes_no("Yes"), _is_yes_no("none")
    (True, False)
    """
    return text.strip().casefold() in ("yes", "no")


def _is_tolerance(text: str) -> bool:
    size = read_number(text.removesuffix("%"))
    return size is not None and size >= 0


def is_number(text: str) -> bool:
    """Return whether an answer of a table is a number.

    >>> is_number("12.5"), is_number("1,200"), is_number("two")
    (True, True, False)
    """
    return read_number(text) is not None


def read_number(text: str) -> float | None:
    """Return a number as tables write it, with commas between thousands; None for anything else.

    >>> read_number("1,200.5"), read_number("two")
    (1200.5, None)
    """
    plain = text.strip()
    return float(plain.replace(",", "")) if _NUMBER.fullmatch(plain) else None
