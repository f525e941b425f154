"""Reading a count.

Strict is ASCII digits and nothing else. Lenient reads digits and English number words below a hundred, and "no" and
"none" as 0 (arXiv 2602.18094's counting questions), where all numbers of the answer are one number, or all that it
calls its answer. Two numbers, a bound ("at least 3"), a range, a fraction or "no idea" are no count.
`compat.first_number` is the plainer rule, the first number of the answer.
"""

import re
from collections.abc import Iterator, Sequence
from unicodedata import category

from eyechart.parsers.reading import Reading
from eyechart.parsers.text import listed, only, spoken, stated

VERSION = 1
STRICT = re.compile(r"[0-9]{1,9}")
GROUPED = re.compile(r"[0-9]{1,9}|[0-9]{1,3}(?:,[0-9]{3}){1,2}")
UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
TEENS = "seventeen eighteen nineteen"
ROUND = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL = {word: value for value, word in enumerate(f"{UNITS} {TEENS}".split())}
TENS = {word: 10 * value for value, word in enumerate(ROUND.split(), 2)}
NOTHING = {"no": 0, "none": 0}
COUNTS = SMALL | TENS | NOTHING
OPENS, CLOSES = "([{\"'~=", ".,;:!?)]}\"'"
VAGUE = listed(
    "dozen dozens hundred hundreds thousand thousands million half couple pair pairs several between least most minus "
    "negative percent not idea clue way doubt answer information cannot unable unclear unknown unsure sure can't don't"
)
BOUND, RANGE = listed("over under than to or up"), listed("or to plus times % + - / x")
NO_IMAGE = re.compile(r"\bno (?:image|picture|photo)\b")


def read(text: str) -> Reading[int]:
    """Return the count.

    >>> read("3"), read("There are three dogs."), read("2 or 3")
    ... # doctest: +NORMALIZE_WHITESPACE
    (Reading(strict=3, lenient=3), Reading(strict=None, lenient=3), Reading(strict=None, lenient=None))
    """
    digits = STRICT.fullmatch(text.strip())
    return Reading.of(int(digits[0]) if digits else None, lambda: _lenient(text))


def _lenient(text: str) -> int | None:
    if any(category(letter) == "No" for letter in text):  # a raised or circled digit is a note, or a part of a fraction
        return None
    said = spoken(text)
    called = [_count(statement) for statement, *_ in stated(said)]
    return only(called) if any(count is not None for count in called) else _count(said)


def _count(said: str) -> int | None:
    """Return the one number of a text, if it is one and nothing makes it vague."""
    words = list(chunks(said))
    found = list(numbers(words))
    if NO_IMAGE.search(said) or not VAGUE.isdisjoint(words) or any(value is None for value, *_ in found):
        return None
    return None if any(_bounded(words, *span) for _, *span in found) else only(value for value, *_ in found)


def _bounded(words: Sequence[str], start: int, end: int) -> bool:
    return not BOUND.isdisjoint(words[max(start - 1, 0) : start]) or not RANGE.isdisjoint(words[end : end + 1])


def chunks(said: str) -> Iterator[str]:
    """Yield words without the punctuation around them; the parts of 'twenty-one' are two."""
    for chunk in said.split():
        word = chunk.lstrip(OPENS).rstrip(CLOSES)
        parts = word.split("-")
        yield from parts if all(part in COUNTS for part in parts) else [word]


def numbers(words: Sequence[str]) -> Iterator[tuple[int | None, int, int]]:
    """Yield every number with the words from and to which it stands; None is something with digits that is no count.

    >>> list(numbers(["twenty", "one", "or", "2.5"]))
    [(21, 0, 2), (None, 3, 4)]
    """
    place = 0
    while place < len(words):
        first, second = words[place], words[place + 1] if place + 1 < len(words) else ""
        if first in TENS and 0 < SMALL.get(second, 0) < 10:
            yield TENS[first] + SMALL[second], place, place + 2
            place += 1
        elif first in COUNTS or any(letter.isdigit() for letter in first):
            yield (COUNTS[first] if first in COUNTS else _digits(first)), place, place + 1
        place += 1


def _digits(word: str) -> int | None:
    return int(word.replace(",", "")) if GROUPED.fullmatch(word) else None
