"""Parser of counts.

Strict is ASCII digits and nothing else. Lenient parses digits and English number words below one hundred, and "no" and
"none" as 0 (arXiv 2602.18094's counting questions), if all numbers of the answer are equal, or all numbers after 'the
answer is', or if later numbers only enumerate what the first number counts (`stated_count`). Different numbers, a bound
("at least 3"), a range, a fraction or "no idea" are unparsed. `compat.parse_first_number` is a simpler rule.
"""

import re
from unicodedata import category

from eyechart.parsers.number_words import find_numbers, split_words
from eyechart.parsers.parse_result import ParseResult
from eyechart.parsers.stated_count import VAGUE, has_items, is_bounded, read_stated_count
from eyechart.parsers.text import answer_text, single_value, stated_answers

VERSION = 2
STRICT = re.compile(r"[0-9]{1,9}")
NO_IMAGE = re.compile(r"\bno (?:image|picture|photo)\b")


def parse(text: str) -> ParseResult[int]:
    """Return the count.

    >>> parse("3"), parse("There are three dogs."), parse("2 or 3")
    ... # doctest: +NORMALIZE_WHITESPACE
    (ParseResult(strict=3, lenient=3), ParseResult(strict=None, lenient=3), ParseResult(strict=None, lenient=None))
    """
    digits = STRICT.fullmatch(text.strip())
    return ParseResult.with_fallback(int(digits[0]) if digits else None, lambda: _lenient(text))


def _lenient(text: str) -> int | None:
    if any(
        category(letter) == "No" for letter in text
    ):  # a superscript or circled digit is a footnote or part of a fraction
        return None
    answer = answer_text(text)
    called = [_count(statement) for statement, *_ in stated_answers(answer)]
    if any(count is not None for count in called):
        return single_value(called)
    if NO_IMAGE.search(answer):
        return None
    value = _count(answer)
    return read_stated_count(answer) if value is None else value


def _count(answer: str) -> int | None:
    """Return the number of a text if all its numbers are equal and none is vague."""
    words = list(split_words(answer))
    matches = list(find_numbers(words))
    if NO_IMAGE.search(answer) or not VAGUE.isdisjoint(words) or any(value is None for value, *_ in matches):
        return None
    if len(matches) > 1 and has_items(answer):
        return None
    return (
        None if any(is_bounded(words, *span) for _, *span in matches) else single_value(value for value, *_ in matches)
    )
