"""How much of a division a model has read about: pairs whose category is named in a training text of their image.

Source: arXiv 2602.18094, B.1.2 and equation 1. The paper compares whole annotations with categories; how, it does not
say. Here a category is named where its words stand in a text: whole, one after the other, in one phrase, in singular or
plural, whatever their case, hyphens and look-alikes; a name of several words may also be written as one. That errs
towards overlap: "hot dog" names a dog, and "no cat" a cat. Other words for a category, such as "man" for person, are
given as synonyms.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import nan

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import DataError
from eyechart.oodbench.training_corpus import stem
from eyechart.parsers.text import fold

Bools = NDArray[np.bool_]

POSSESSIVE = re.compile(r"'s?(?!\w)")
BREAK = re.compile(r"[.,;:!?|\n]+")
OTHER = re.compile(r"[\W_]+")
IRREGULAR = {
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
SINGULAR = {plural: singular for singular, plural in IRREGULAR.items()}


@dataclass(frozen=True)
class Overlap:
    """Of every pair of a division, `flags` (pairs,): whether the category is named, and `seen` (pairs,): whether the
    corpus has a text of the image at all."""

    flags: Bools
    has_text: Bools

    @property
    def hits(self) -> int:
        """How many pairs overlap: H."""
        return int(self.flags.sum())

    @property
    def rate(self) -> float:
        """The share of all pairs that overlap, r = H / C; NaN without pairs."""
        return self.hits / len(self.flags) if len(self.flags) else nan


def semantic_overlap(
    images: Sequence[str],
    categories: Sequence[str],
    texts: Mapping[str, Sequence[str]],
    synonyms: Mapping[str, Sequence[str]] | None = None,
) -> Overlap:
    """Whether each pair's category is named in any training text of its image.

    Images are matched by their file's stem; an image that the corpus lacks was not read about and does not overlap.

    Args: `images` (pairs,), file names or keys; `categories` (pairs,), their names; `texts` by stem, as a Corpus has
    them; `synonyms`, other words by category.
    Returns: Overlap of the pairs in their order.
    Raises: ValueError for lengths that differ or a name without a word; DataError where the corpus has none of the
    images, since no overlap would then mean nothing.
    Source: arXiv 2602.18094, B.1.2, equation 1 and the warning of a "false-zero overlap".

    >>> images, texts = ["1.jpg", "1.jpg", "2.jpg", "3.jpg"], {"1": ["Cats", "A caterpillar"], "2": ["A caterpillar"]}
    >>> found = semantic_overlap(images, ["cat", "dog", "cat", "cat"], texts)
    >>> found.flags.tolist(), found.has_text.tolist(), found.hits, found.rate
    ([True, False, False, False], [True, True, True, False], 1, 0.25)
    """
    if len(images) != len(categories):
        raise ValueError(f"Every pair has an image and a category; got {len(images)} and {len(categories)}.")
    stems = [stem(image) for image in images]
    seen = np.array([bool(texts.get(name)) for name in stems], dtype=np.bool_)
    if stems and not seen.any():
        first = f"its first is '{next(iter(texts))}'" if texts else "it names no image at all"
        raise DataError(
            f"The corpus has none of the division's {len({*stems}):,} images: {first}, the division's "
            f"'{stems[0]}'. Divide images that models are trained on."
        )
    wanted = {name: name_forms([name, *(synonyms or {}).get(name, ())]) for name in {*categories}}
    said = {name: normalize_texts(texts.get(name, ())) for name in {*stems}}
    pairs = zip(stems, categories, strict=True)
    return Overlap(np.array([_is_named(said[image], wanted[name]) for image, name in pairs], dtype=np.bool_), seen)


def normalize_texts(texts: Iterable[str]) -> str:
    """Spell texts for whole words to be found in: folded, words between single spaces, a bar where a phrase ends.

    Args: `texts`, in any language that puts spaces between words.
    Returns: one string that begins and ends with a space.
    Raises: nothing.
    Source: own definition.

    >>> normalize_texts(["A black-and-white Cat's tail.", "It is hot, dog!"])
    ' a black and white cat tail | it is hot | dog '
    """
    pieces = (OTHER.sub(" ", piece).split() for text in texts for piece in BREAK.split(_fold(text)))
    return f" {' | '.join(' '.join(words) for words in pieces if words)} "


def name_forms(names: Iterable[str]) -> tuple[str, ...]:
    """Spell every form of some names, as they would stand in `phrases`.

    Args: `names` of one category.
    Returns: each with a space on either side, in the singular and the plural, several words apart and joined.
    Raises: ValueError for a name without a word.
    Source: own definition; the plurals are the regular ones of English and a few others.

    >>> name_forms(["wine glass"])
    (' wine glass ', ' wine glasses ', ' wineglass ', ' wineglasses ')
    """
    found: dict[str, None] = {}
    for name in names:
        *before, last = OTHER.sub(" ", _fold(name)).split() or [""]
        if not last:
            raise ValueError(f"A category is named by words; got {name!r}.")
        for between in (" ", ""):
            found |= {f" {between.join([*before, form])} ": None for form in _forms(last)}
    return tuple(found)


@cache
def _forms(word: str) -> tuple[str, ...]:
    """A noun, its plural where it may be a singular, and its singulars where it may be a plural."""
    return tuple(dict.fromkeys([word, *_plurals(word), *_singulars(word)]))


def _plurals(word: str) -> list[str]:
    if word in IRREGULAR:
        return [IRREGULAR[word], f"{word}s"]
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
    if word in SINGULAR:
        return [SINGULAR[word]]
    if word in IRREGULAR or len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return []
    if word.endswith("ies"):
        return [f"{word[:-3]}y", word[:-1]]
    if word.endswith("ves"):
        return [f"{word[:-3]}f", f"{word[:-3]}fe", word[:-1]]
    return [word[:-1], word[:-2]] if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")) else [word[:-1]]


def _fold(text: str) -> str:
    return POSSESSIVE.sub(" ", fold(text))


def _is_named(said: str, wanted: Iterable[str]) -> bool:
    return any(spelling in said for spelling in wanted)
