"""Which options of a question are right: letters, texts or numbers in the column of answers, one way for all rows."""

import json
import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import msgspec

from eyechart.errors import DataError
from eyechart.messages.plurals import count_of
from eyechart.questions.data.question_set import Question
from eyechart.questions.data.table_files import RawTable, cell_text

LETTERS = re.compile(r"\(?[A-Za-z]\)?\.?(?:(?:\s*[,;/&]\s*|\s+and\s+|\s+)\(?[A-Za-z]\)?\.?)*")
SEVERAL = re.compile(r"[A-Z]{2,}")
_Reader = Callable[[Question], tuple[int, ...] | None]


def parse_list(cell: Any, where: str) -> list[str]:
    """Return a list of texts, which may be written as text: JSON, or as Python writes it.

    A mapping from the letters A, B and so on is one, too, and so are the lists `label` and `text`.

    >>> parse_list("['red', 'it\\\\'s']", ""), parse_list(["a", 1], "")
    (['red', "it's"], ['a', '1'])
    >>> parse_list({"B": "pear", "A": "plum", "C": None}, "")
    ['plum', 'pear']
    """
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if (items := _list_in(cell)) is not None:
        return items
    text = cell_text(cell)
    if not text or text == "[]":
        return []
    for read in (json.loads, literal_eval):
        try:
            items = read(text)
        except (ValueError, SyntaxError):
            continue
        if (found := _list_in(items)) is not None:
            return found
    raise DataError(f'{where} has the options {text[:100]}. Expected a list such as ["red", "blue"].')


def _list_in(cell: Any) -> list[str] | None:
    """Return the texts of a list or of a mapping from letters, None for anything else."""
    if isinstance(cell, Mapping) and {*cell} == {"label", "text"}:
        cell = dict(zip(cell["label"], cell["text"], strict=False))
    if isinstance(cell, Mapping):
        named = {str(letter).strip().upper(): cell_text(text) for letter, text in cell.items()}
        letters = sorted(named)
        if not letters or len(named) < len(cell) or letters != [*ascii_uppercase[: len(letters)]]:
            return None
        texts = [named[letter] for letter in letters]
        while texts and not texts[-1]:
            texts.pop()
        return texts
    return [*map(cell_text, cell)] if isinstance(cell, list | tuple) else None


def describe_repeated(questions: Sequence[Question]) -> str:
    """Return a sentence about questions whose right option is there a second time as a wrong one, "" without any."""
    repeated = [question for question in questions if _is_repeated(question)]
    if not repeated:
        return ""
    first = repeated[0]
    more = f", and {count_of(len(repeated) - 1, 'other row')} too" if len(repeated) > 1 else ""
    text = next(first.options[index] for index in first.right)
    return f"{first.where} has the right option '{text}' a second time, where it counts as wrong{more}"


def _is_repeated(question: Question) -> bool:
    options = [*map(str.casefold, question.options)]
    wrong = {text for index, text in enumerate(options) if index not in question.right}
    return not wrong.isdisjoint(options[index] for index in question.right)


def find_right_options(table: RawTable, column: str, questions: Sequence[Question]) -> Iterator[Question]:
    """Yield the questions with the indices of their right options; those without options stay as they are.

    All answers of a table are letters, texts of options, or numbers from 0. Raises DataError for an answer that is none
    of the options, for a question without an answer, and for answers that can be read in two ways.
    """
    for question in questions:
        if not question.answers:
            what = f"the options {', '.join(question.options)} and no answer" if question.options else "no answer"
            raise DataError(
                f"{question.where} has {what}. Write the answer into the column {column}, or remove the row."
            )
    chosen = [question for question in questions if question.options]
    read = _find_reader(table, column, chosen) if chosen else _by_letter
    for question in questions:
        right = read(question) if question.options else None
        yield question if right is None else msgspec.structs.replace(question, right=right, answers=())


def _find_reader(table: RawTable, column: str, questions: Sequence[Question]) -> _Reader:
    """Return how the right options are written. Raises DataError if no way or several ways fit all questions."""
    ways: dict[str, _Reader] = {"letters": _by_letter, "texts of options": _by_text, "numbers from 0": _by_number}
    found = {name: [read(question) for question in questions] for name, read in ways.items()}
    fitting = [name for name, rights in found.items() if None not in rights]
    if fitting == ["numbers from 0"] and all(0 not in (right or ()) for right in found[fitting[0]]):
        raise DataError(
            f"{table.name}: the answers in the column {column} are numbers and none is 0, so that they may count from "
            "1. Write letters."
        )
    distinct = {tuple(right or () for right in found[name]) for name in fitting}
    if len(distinct) == 1:
        return ways[fitting[0]]
    if fitting:
        first = next(number for number in range(len(questions)) if len({found[name][number] for name in fitting}) > 1)
        raise DataError(
            f"{questions[first].where}: the answer '{_shown(questions[first])}' can be read as {' or '.join(fitting)}. "
            f"Write letters into the column {column}."
        )
    name = max(found, key=lambda way: sum(right is not None for right in found[way]))
    known = sum(right is not None for right in found[name])
    wrong = questions[found[name].index(None)]
    listed = "; ".join(f"{letter}) {text}" for letter, text in zip(ascii_uppercase, wrong.options, strict=False))
    others = f" The answers of {known} other rows are {name}." if known else ""
    raise DataError(
        f"{wrong.where}: the answer '{_shown(wrong)}' is not among the options: {listed}.{others} Correct "
        "the answer or the options."
    )


def _shown(question: Question) -> str:
    return "; ".join(question.answers)


def _by_letter(question: Question) -> tuple[int, ...] | None:
    """Return the options of letters such as "B", "A, C" and "AC"."""
    text = ", ".join(question.answers).strip()
    if LETTERS.fullmatch(text):
        letters = re.findall(r"[A-Za-z](?![a-z])", re.sub(r"\band\b", " ", text))
    elif SEVERAL.fullmatch(text):
        letters = [*text]
    else:
        return None
    indices = sorted({ascii_uppercase.index(letter.upper()) for letter in letters})
    return tuple(indices) if indices and indices[-1] < len(question.options) else None


def _by_text(question: Question) -> tuple[int, ...] | None:
    """Return the options that have the texts of the answers."""
    options = [*map(str.casefold, question.options)]
    answers = [*map(str.casefold, question.answers)]
    whole = "; ".join(answers)
    answers = [whole] if whole in options else answers
    known = [options.index(answer) for answer in answers if options.count(answer) == 1]
    return tuple(sorted({*known})) if len(known) == len(answers) else None


def _by_number(question: Question) -> tuple[int, ...] | None:
    """Return the options of numbers from 0."""
    if not all(answer.isascii() and answer.isdecimal() for answer in question.answers):
        return None
    indices = sorted({*map(int, question.answers)})
    return tuple(indices) if indices[-1] < len(question.options) else None
