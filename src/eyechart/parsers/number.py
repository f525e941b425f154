"""Parser of counts.

Strict is ASCII digits and nothing else. Lenient parses digits and English number words below one hundred, and "no" and
"none" as 0 (arXiv 2602.18094's counting questions), if all numbers of the answer are equal, or all numbers after 'the
answer is', or if later numbers only enumerate what the first number counts (`stated_count`). Different numbers, a bound
("at least 3"), a range, a fraction, a count that goes on ("one on the left and another on the right"), a share ("two on
each side"), "no idea" and an answer that there is no image are unparsed. `compat.parse_first_number` is a simpler rule.
"""

import re
from unicodedata import category

from eyechart.parsers import json_answers
from eyechart.parsers.folding import fold_pattern
from eyechart.parsers.no_image import lacks_image
from eyechart.parsers.number_words import find_numbers, split_words
from eyechart.parsers.parse_result import ParseResult
from eyechart.parsers.stated_count import VAGUE, goes_on, has_items, is_bounded, read_stated_count
from eyechart.parsers.text import answer_text, single_value, stated_answers

VERSION = 3
STRICT = re.compile(r"[0-9]{1,9}")
ONE_ANOTHER = re.compile(r"\bone another\b")
TWICE = re.compile(r"(?<![\w-])([\w-]{1,20}) \(([\w-]{1,20})\)")
BOUNDS = re.compile(  # and negations, of other languages
    fold_pattern(
        r"\b(?:mindestens|höchstens|maximal|weniger als|mehr als|au moins|au plus|plus de|moins de|al menos|más de"
        r"|menos de|como mucho|pelo menos|mais de|no máximo|almeno|più di"
        r"|meno di|al massimo|minstens|meer dan|minder dan"
        r"|не менее|не более|более|больше|меньше|как минимум|co najmniej|en az|en fazla|nicht|pas|não|non|не|niet|nie)"
        r" (?=\w)|(?:ليس|على الأقل|أكثر من|أقل من|कम से कम|से ज़्यादा|से अधिक)"
    )
)
NO_IMAGE = re.compile(r"\bno (?:image|picture|photo)\b")  # not 0 of them


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
    answer = answer_text(json_answers.unwrap(text, json_answers.COUNTS))
    answer = TWICE.sub(_once, ONE_ANOTHER.sub("each other", answer))
    if lacks_image(answer) or BOUNDS.search(answer):
        return None
    called = [_count(statement) for statement, *_ in stated_answers(answer)]
    if any(count is not None for count in called):
        return single_value(called)
    if NO_IMAGE.search(answer):
        return None
    value = _count(answer)
    if value is not None:
        return None if goes_on(answer, value) else value
    return read_stated_count(answer)


def _once(match: re.Match[str]) -> str:
    """Return a number that brackets repeat, as in "three (3)", without them."""
    values, repeated = ([value for value, *_ in find_numbers([*split_words(part)])] for part in match.groups())
    return match[1] if len(values) == 1 and values == repeated else match[0]


def _count(answer: str) -> int | None:
    """Return the number of a text if all its numbers are equal and none is vague."""
    words = list(split_words(answer))
    matches = list(find_numbers(words))
    if NO_IMAGE.search(answer) or not VAGUE.isdisjoint(words) or any(value is None for value, *_ in matches):
        return None
    if len(matches) > 1 and has_items(answer):
        return None
    if any(is_bounded(words, *span) for _, *span in matches):
        return None
    return single_value(value for value, *_ in matches)
