"""Parser of class names. Only whole answers are compared; names are never searched inside a word or sentence.

Strict is the rule of arXiv 2603.06578's scorer: equal after trimming and lower case. Lenient also ignores surrounding
punctuation and quotes, a leading article, the difference between hyphens, underscores and spaces, Unicode compatibility
forms and look-alike letters, and an introduction such as 'the answer is' or 'the image shows'.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from eyechart.parsers.text import ParseResult, answer_text, name_key, single_value, strip_lead

VERSION = 3


def parse(text: str, names: Sequence[str]) -> ParseResult[int]:
    """Return the index of the class that an answer names; a name that two classes share is unparsed.

    >>> parse("A Goldfish.", ["cat", "goldfish"]), parse("caterpillar", ["cat", "goldfish"])
    (ParseResult(strict=None, lenient=1), ParseResult(strict=None, lenient=None))
    """
    exact, alike = _name_indices(tuple(names))
    return ParseResult.with_fallback(exact.get(casefolded(text)), lambda: _parse_lenient(text, alike))


def casefolded(text: str) -> str:
    """Return the text trimmed and casefolded, as the published scorer compares names."""
    return text.strip().casefold()


def _parse_lenient(text: str, alike: Mapping[str, int]) -> int | None:
    """Return the index of the name that is the whole text, or the whole text after an introduction."""
    answer = answer_text(text)
    return single_value(alike.get(name_key(part)) for part in (text, answer, strip_lead(answer)[0]))


@lru_cache(maxsize=64)
def _name_indices(names: tuple[str, ...]) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the indices of names by casefolded spelling and by key, without spellings that two names share."""
    return unique_indices(names, casefolded), unique_indices(names, name_key)


def unique_indices(names: Sequence[str], spelling: Callable[[str], str]) -> Mapping[str, int]:
    """Return the index of every spelling that is not empty and belongs to a single name."""
    by_spelling: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        by_spelling.setdefault(spelling(name), []).append(index)
    return {
        name_spelling: indices[0]
        for name_spelling, indices in by_spelling.items()
        if name_spelling and len(indices) == 1
    }
