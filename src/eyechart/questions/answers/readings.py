"""Reads the answer to a question by its kind, and says how much of it is right.

Letters, yes and no, and counts are read by the parsers of the other protocols. An answer that has no reading, or two,
is unparsed: it is never guessed.
"""

import re
from collections.abc import Callable, Mapping
from string import ascii_uppercase
from typing import NamedTuple

from eyechart.parsers import json_answers, letter, number, yes_no
from eyechart.parsers.no_image import lacks_image
from eyechart.parsers.text import (
    DOUBT,
    answer_text,
    single_value,
    split_sentences,
    split_words,
    stated_answers,
    strip_lead,
    strip_punctuation,
)
from eyechart.parsers.truncation import read_complete_letter, read_complete_name, read_complete_word
from eyechart.questions.answers.kinds import (
    CHOICE,
    CHOICES,
    LIST,
    NUMBER,
    TEXT,
    VQA,
    YES_NO,
    read_number,
)
from eyechart.questions.answers.vqa import normalise, soft_accuracy
from eyechart.questions.data.question_set import Question

VERSION = 1
STRICT = "strict"
SEVERAL_LETTERS = re.compile(r"[(\[]?([a-z])[)\].]?(?:(?: ?[,;/&+] ?(?:and )?| and | )[(\[]?([a-z])[)\].]?)*")
ONE_LETTER = re.compile(r"\b[a-z]\b")
DECIMAL = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d+)?(?![\d,]*\d)")
BULLET = re.compile(r"(?:^|\n)\s*(?:[-*•]|\d+[.)])\s+")
HEDGES = DOUBT | {"or", "either", "maybe", "perhaps", "possibly"}
ITEMS = re.compile(r"[,;\n]|\band\b")
COMPLETE: Mapping[str, Callable[[str], str]] = {
    CHOICE: read_complete_letter,
    CHOICES: read_complete_letter,
    YES_NO: read_complete_word,
    NUMBER: read_complete_word,
}  # how a truncated answer is read; others by its first line


class Reading(NamedTuple):
    """The answer in the terms of the table, "" for none, and its credit from 0 to 1, None if it is unparsed."""

    prediction: str
    credit: float | None


UNREAD = Reading("", None)


def complete_part(kind: str, text: str) -> str:
    """Return the complete part of a truncated answer, "" if there is none."""
    return COMPLETE.get(kind, read_complete_name)(text)


def read_answer(kind: str, question: Question, text: str, parser: str, tolerance: str) -> Reading:
    """Return the reading of an answer.

    Args:
        kind: The kind of answer.
        question: The question, with its options in the order in which they were shown.
        text: The answer.
        parser: lenient or strict.
        tolerance: The tolerance of numbers that have none of their own.
    """
    if kind == CHOICE:
        return _read_choice(question, text, parser)
    if kind == CHOICES:
        return _read_choices(question, text, parser)
    if kind == YES_NO:
        return _read_yes_no(question, text, parser)
    if kind == NUMBER:
        return _read_number(question, text, parser, question.tolerance or tolerance)
    forms = _forms(text, parser)
    if not forms or lacks_image(answer_text(text)):
        return UNREAD
    if kind == LIST:
        return _read_list(question, forms[-1])
    if kind == TEXT:
        return _read_text(question, text)
    credit: Callable[[str], float] = (
        (lambda form: soft_accuracy(form, question.answers))
        if kind == VQA
        else (lambda form: float(normalise(form) in {*map(normalise, question.answers)}))
    )
    return Reading(forms[-1], max(map(credit, forms)))


def option_text(question: Question, index: int) -> str:
    """Return an option as the sample table shows it: its letter and its text."""
    return f"{ascii_uppercase[index]}) {question.options[index]}"


def _read_choice(question: Question, text: str, parser: str) -> Reading:
    result = letter.parse(text, question.options)
    index = result.strict if parser == STRICT else result.lenient
    return UNREAD if index is None else Reading(option_text(question, index), float(index in question.right))


def _read_choices(question: Question, text: str, parser: str) -> Reading:
    """Return several options: all must be right, and no right one missing."""
    letters = _letters(text, parser)
    indices = sorted({ascii_uppercase.index(sign) for sign in letters})
    if not indices:
        one = letter.parse(text, question.options)
        index = one.strict if parser == STRICT else one.lenient
        indices = [] if index is None else [index]
    if not indices or indices[-1] >= len(question.options):
        return UNREAD
    shown = "; ".join(option_text(question, index) for index in indices)
    return Reading(shown, float(tuple(indices) == question.right))


def _letters(text: str, parser: str) -> list[str]:
    """Return the letters of an answer that is nothing but letters, [] for any other."""
    plain = text.strip().casefold() if parser == STRICT else strip_punctuation(strip_lead(_unwrapped(text))[0])
    if SEVERAL_LETTERS.fullmatch(plain):
        return [sign.upper() for sign in ONE_LETTER.findall(re.sub(r"\band\b", ",", plain))]
    return [*text.strip()] if re.fullmatch(r"[A-Z]{2,}", text.strip()) else []


def _unwrapped(text: str) -> str:
    """Return the normalized answer, of a JSON object its only answer."""
    return answer_text(json_answers.unwrap(text))


def _read_yes_no(question: Question, text: str, parser: str) -> Reading:
    result = yes_no.parse(text)
    answer = result.strict if parser == STRICT else result.lenient
    if answer is None:
        return UNREAD
    word = "yes" if answer else "no"
    return Reading(word, float(word == question.answers[0].strip().casefold()))


def _read_number(question: Question, text: str, parser: str, tolerance: str) -> Reading:
    value = read_number(text) if parser == STRICT else _parse_decimal(text)
    target = read_number(question.answers[0])
    if value is None or target is None:
        return UNREAD
    return Reading(f"{value:.15g}", float(abs(value - target) <= _allowed_error(target, tolerance) * (1 + 1e-12)))


def _allowed_error(target: float, tolerance: str) -> float:
    """Return the largest difference from a number that counts as right: absolute, or a percentage of the number.

    >>> _allowed_error(50, "0.5"), _allowed_error(-50, "2%"), _allowed_error(3, "0")
    (0.5, 1.0, 0.0)
    """
    share = tolerance.endswith("%")
    size = read_number(tolerance.removesuffix("%")) or 0.0
    return abs(target) * size / 100 if share else size


def _parse_decimal(text: str) -> float | None:
    """Return the number of an answer: a count in digits or words, or the only number in the answer; None for others.

    >>> _parse_decimal("The total is $12.50."), _parse_decimal("three"), _parse_decimal("2 or 3")
    (12.5, 3.0, None)
    >>> _parse_decimal("1,200 g")
    1200.0
    """
    if (whole := read_number(text)) is not None:
        return whole
    answer = _unwrapped(text)
    if lacks_image(answer):
        return None
    stated = ["\n".join(statement) for statement in stated_answers(answer)]
    found = single_value(_only_number(part) for part in [*(stated or [answer])])
    count = number.parse(text).lenient
    return found if found is not None else None if count is None else float(count)


def _only_number(text: str) -> float | None:
    values = {float(match.replace(",", "")) for match in DECIMAL.findall(text) if any(map(str.isdigit, match))}
    return values.pop() if len(values) == 1 else None


def _forms(text: str, parser: str) -> list[str]:
    """Return the spellings in which an answer is compared: as it is, and without what introduces it."""
    if parser == STRICT:
        return [text.strip()] if text.strip() else []
    answer = _unwrapped(text)
    return [*filter(None, dict.fromkeys([text.strip(), answer, strip_lead(answer)[0].strip()]))]


def _read_list(question: Question, text: str) -> Reading:
    """Return the items of a list, with the F1 of the set of items."""
    items = _split_list(text)
    if not items:
        return UNREAD
    expected = {*map(normalise, question.answers)}
    right = len(expected & {*items})
    return Reading("; ".join(items), 2 * right / (len(expected) + len(items)))


def _split_list(text: str) -> list[str]:
    """Return the different items of a list, normalised: separated by commas, semicolons, lines, bullets or "and".

    >>> _split_list("Milk, the eggs and bread")
    ['milk', 'eggs', 'bread']
    """
    plain = BULLET.sub("\n", text).strip().strip("[].")
    return [*filter(None, dict.fromkeys(normalise(item.strip(" \"'")) for item in ITEMS.split(plain)))]


def _read_text(question: Question, text: str) -> Reading:
    """Return whether a sentence includes an accepted answer; one that denies or doubts it is unparsed."""
    answer = _unwrapped(text)
    for accepted in question.answers:
        wanted = f" {normalise(accepted)} "
        for sentence in split_sentences(answer):
            if wanted in f" {normalise(sentence)} ":
                hedged = HEDGES.intersection(split_words(sentence)) - {*split_words(accepted.lower())}
                return UNREAD if hedged else Reading(accepted, 1.0)
    return Reading(" ".join(answer.split()), 0.0)
