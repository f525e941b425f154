"""Reading a class name. Names are wholes: nothing is ever looked for inside a word, nor inside a sentence.

Strict is the rule of arXiv 2603.06578's scorer: lower case, trimmed, equal. Lenient also lets go of surrounding
punctuation and quotes, a leading article, the difference of hyphens, underscores and spaces, compatibility forms and
look-alikes, and of words such as 'the answer is' or 'the image shows' before the name.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from eyechart.parsers.reading import Reading
from eyechart.parsers.text import key, only, spoken, without_lead

VERSION = 2


def read(text: str, names: Sequence[str]) -> Reading[int]:
    """Return the index of the one name that was said; a name that two classes share says neither.

    >>> read("A Goldfish.", ["cat", "goldfish"]), read("caterpillar", ["cat", "goldfish"])
    (Reading(strict=None, lenient=1), Reading(strict=None, lenient=None))
    """
    exact, alike = places(tuple(names))
    return Reading.of(exact.get(plain(text)), lambda: lenient(text, alike))


def plain(text: str) -> str:
    """Return the text trimmed and without case, as the published scorer compares names."""
    return text.strip().casefold()


def lenient(text: str, alike: Mapping[str, int]) -> int | None:
    """Return the index of the name that the whole text is, or all of it that follows a lead."""
    said = spoken(text)
    return only(alike.get(key(part)) for part in (text, said, without_lead(said)[0]))


@lru_cache(maxsize=64)
def places(names: tuple[str, ...]) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the indices of names by their plain spelling and by their keys, without those that two names share."""
    return unshared(names, plain), unshared(names, key)


def unshared(names: Sequence[str], spelling: Callable[[str], str]) -> Mapping[str, int]:
    """Return the index of every spelling that is one name's and not empty."""
    found: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        found.setdefault(spelling(name), []).append(index)
    return {said: indices[0] for said, indices in found.items() if said and len(indices) == 1}
