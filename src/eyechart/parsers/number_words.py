"""Search of numbers in a text: digits, and English number words below one hundred, with their word positions."""

import re
from collections.abc import Iterator, Sequence

GROUPED = re.compile(r"[0-9]{1,9}|[0-9]{1,3}(?:,[0-9]{3}){1,2}")
UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
TEENS = "seventeen eighteen nineteen"
ROUND = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL = {word: value for value, word in enumerate(f"{UNITS} {TEENS}".split())}
TENS = {word: 10 * value for value, word in enumerate(ROUND.split(), 2)}
NOTHING = {"no": 0, "none": 0}
COUNTS = SMALL | TENS | NOTHING
OPENS, CLOSES = "([{\"'~=", ".,;:!?)]}\"'"


def split_words(text: str) -> Iterator[str]:
    """Yield words without surrounding punctuation; 'twenty-one' becomes two words."""
    for chunk in text.split():
        word = chunk.lstrip(OPENS).rstrip(CLOSES)
        parts = word.split("-")
        yield from parts if all(part in COUNTS for part in parts) else [word]


def find_numbers(words: Sequence[str]) -> Iterator[tuple[int | None, int, int]]:
    """Yield every number with its start and end in the words; None for a word with digits that is not a count.

    >>> list(find_numbers(["twenty", "one", "or", "2.5"]))
    [(21, 0, 2), (None, 3, 4)]
    """
    index = 0
    while index < len(words):
        first, second = words[index], words[index + 1] if index + 1 < len(words) else ""
        if first in TENS and 0 < SMALL.get(second, 0) < 10:
            yield TENS[first] + SMALL[second], index, index + 2
            index += 1
        elif first in COUNTS or any(letter.isdigit() for letter in first):
            yield (COUNTS[first] if first in COUNTS else _digits(first)), index, index + 1
        index += 1


def _digits(word: str) -> int | None:
    return int(word.replace(",", "")) if GROUPED.fullmatch(word) else None
