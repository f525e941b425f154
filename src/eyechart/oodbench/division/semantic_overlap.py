"""Semantic overlap of a division with training data: pairs whose category is named in a training text of the image.

Source: arXiv 2602.18094, B.1.2 and equation 1. The paper compares annotations with categories, but does not define how.
Here a category is named if its words occur in a text as whole, consecutive words of one phrase, in singular or plural,
regardless of case, hyphens and look-alike letters; a name of several words may also be written as one word. This
overestimates the overlap: "hot dog" names a dog, and "no cat" a cat. Other words for a category, such as "man" for
person, are given as synonyms.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import nan

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import DataError
from eyechart.oodbench.data.training_corpus import stem
from eyechart.parsers.text import fold

Bools = NDArray[np.bool_]

_POSSESSIVE = re.compile(r"'s?(?!\w)")
_BREAK = re.compile(r"[.,;:!?|\n]+")
OTHER = re.compile(r"[\W_]+")
_IRREGULAR = {
    "person": "people",
    "man": "men",
    "woman": "women",
    "child": "children",
    "foot": "feet",
    "tooth": "teeth",
    "goose": "geese",
    "mouse": "mice",
    "ox": "oxen",
    "ski": "skis",
    "bus": "buses",
    "lens": "lenses",
    "die": "dice",
    "cactus": "cacti",
}
_SINGULAR = {plural: singular for singular, plural in _IRREGULAR.items()}


@dataclass(frozen=True)
class Overlap:
    """Overlap of every pair: `flags` (pairs,) whether the category is named in a text of the image, and `has_text`
    (pairs,) whether the corpus has a text of the image."""

    flags: Bools
    has_text: Bools

    @property
    def hits(self) -> int:
        """The number of pairs that overlap, H."""
        return int(self.flags.sum())

    @property
    def rate(self) -> float:
        """The share of pairs that overlap, r = H / C; NaN without pairs."""
        return self.hits / len(self.flags) if len(self.flags) else nan


def semantic_overlap(
    images: Sequence[str],
    categories: Sequence[str],
    texts: Mapping[str, Sequence[str]],
    synonyms: Mapping[str, Sequence[str]] | None = None,
) -> Overlap:
    """Return whether each pair's category is named in any training text of its image.

    Images are matched by the stem of their file names; an image that is not in the corpus does not overlap.

    Args:
        images: (pairs,), file names or keys.
        categories: (pairs,), their names.
        texts: By stem, as in a Corpus.
        synonyms: By category.

    Returns:
        Overlap of the pairs in their order.

    Raises:
        ValueError: For different lengths or a name without a word.
        DataError: If the corpus has none of the images, because an overlap of zero would then be meaningless.

    Source: arXiv 2602.18094, B.1.2, equation 1 and the warning of a "false-zero overlap".

    >>> images, texts = ["1.jpg", "1.jpg", "2.jpg", "3.jpg"], {"1": ["Cats", "A caterpillar"], "2": ["A caterpillar"]}
    >>> found = semantic_overlap(images, ["cat", "dog", "cat", "cat"], texts)
    >>> found.flags.tolist(), found.has_text.tolist(), found.hits, found.rate
    ([True, False, False, False], [True, True, True, False], 1, 0.25)
    """
    if len(images) != len(categories):
        raise ValueError(f"Expected as many images as categories; got {len(images)} and {len(categories)}.")
    stems = [stem(image) for image in images]
    has_text = np.array([bool(texts.get(name)) for name in stems], dtype=np.bool_)
    if stems and not has_text.any():
        first = f"its first image is '{next(iter(texts))}'" if texts else "it has no images"
        raise DataError(
            f"The corpus has none of the division's {len({*stems}):,} images: {first}, the division's first image is "
            f"'{stems[0]}'. Use a division of images that the corpus contains."
        )
    wanted = {name: _name_forms([name, *(synonyms or {}).get(name, ())]) for name in {*categories}}
    phrases = {name: _normalize_texts(texts.get(name, ())) for name in {*stems}}
    pairs = zip(stems, categories, strict=True)
    return Overlap(
        np.array([_is_named(phrases[image], wanted[name]) for image, name in pairs], dtype=np.bool_), has_text
    )


def _normalize_texts(texts: Iterable[str]) -> str:
    """Return texts as one string in which whole words can be searched: folded, single spaces, a bar between phrases.

    Args:
        texts: In any language with spaces between words.

    Returns:
        A string that begins and ends with a space.

    Source: own definition.

    >>> _normalize_texts(["A black-and-white Cat's tail.", "It is hot, dog!"])
    ' a black and white cat tail | it is hot | dog '
    """
    pieces = (OTHER.sub(" ", piece).split() for text in texts for piece in _BREAK.split(_fold(text)))
    return f" {' | '.join(' '.join(words) for words in pieces if words)} "


def _name_forms(names: Iterable[str]) -> tuple[str, ...]:
    """Return every form of the names of a category, normalized as by `_normalize_texts`.

    Args:
        names: Of one category.

    Returns:
        Singular and plural forms, with words separated and joined, each with a space on both sides.

    Raises:
        ValueError: For a name without a word.

    Source: own definition; regular English plurals and a few irregular ones.

    >>> _name_forms(["wine glass"])
    (' wine glass ', ' wine glasses ', ' wineglass ', ' wineglasses ')
    """
    spellings: dict[str, None] = {}
    for name in names:
        *before, last = OTHER.sub(" ", _fold(name)).split() or [""]
        if not last:
            raise ValueError(f"Expected a category name with at least one word; got {name!r}.")
        for between in (" ", ""):
            spellings |= {f" {between.join([*before, form])} ": None for form in _forms(last)}
    return tuple(spellings)


@cache
def _forms(word: str) -> tuple[str, ...]:
    """Return a noun, its possible plurals and its possible singulars."""
    return tuple(dict.fromkeys([word, *_plurals(word), *_singulars(word)]))


def _plurals(word: str) -> list[str]:
    if word in _IRREGULAR:
        return [_IRREGULAR[word], f"{word}s"]
    if word.endswith(("man", "woman")) and not word.endswith("human"):
        return [f"{word[:-2]}en", f"{word}s"]
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return [f"{word}es"]
    if re.search(r"[^aeiou]y$", word):
        return [f"{word[:-1]}ies"]
    if re.search(r"(?:[lr]f|[eo]af|ife)$", word):
        return [f"{word.removesuffix('e')[:-1]}ves", f"{word}s"]
    return [f"{word}s", f"{word}es"] if word.endswith("o") else [f"{word}s"]


def _singulars(word: str) -> list[str]:
    if word in _SINGULAR:
        return [_SINGULAR[word]]
    if word in _IRREGULAR or len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return []
    if word.endswith("ies"):
        return [f"{word[:-3]}y", word[:-1]]
    if word.endswith("ves"):
        return [f"{word[:-3]}f", f"{word[:-3]}fe", word[:-1]]
    return [word[:-1], word[:-2]] if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")) else [word[:-1]]


def _fold(text: str) -> str:
    return _POSSESSIVE.sub(" ", fold(text))


def _is_named(phrases: str, wanted: Iterable[str]) -> bool:
    return any(spelling in phrases for spelling in wanted)
