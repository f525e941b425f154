"""Text inclusion: the older way to read an answer in free words, by the class names that occur in it.

Source: the baseline of Zhang et al. 2024, "Why are Visually-Grounded Language Models Bad at Image Classification?":
an answer is right where it contains the class's name.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.out_of_prompt import plain
from eyechart.parsers.abstention import words

Words = tuple[str, ...]


def included(answers: Sequence[str], names: Sequence[str], *, whole_words: bool = True) -> list[tuple[int, ...]]:
    """Return for each answer the classes whose names occur in it, longest name first, then by index.

    With `whole_words` a name's words must follow one another in the answer, punctuation aside; without, its letters
    must, as the baseline has it, so that "caterpillar" contains "cat". Case does not count.

    Source: Zhang et al. 2024; `whole_words` is our own default.

    >>> included(["A coffee mug, not a cup."], ["mug", "coffee mug", "cup"])
    [(1, 0, 2)]
    >>> included(["caterpillar"], ["cat"]), included(["caterpillar"], ["cat"], whole_words=False)
    ([()], [(0,)])
    """
    find = _by_words if whole_words else _by_letters
    order = sorted(range(len(names)), key=lambda index: (-len(plain(names[index])), index))
    rank = {index: place for place, index in enumerate(order)}
    return [tuple(sorted(found, key=rank.__getitem__)) for found in find(answers, names)]


def by_inclusion(answers: Sequence[str], names: Sequence[str], *, whole_words: bool = True) -> NDArray[np.int64]:
    """Map each of n answers to the class with the longest name in it, (n,), -1 where there is none.

    Source: as `included`; that the longest name wins is our own rule, since the baseline asks for one class at a time.

    >>> by_inclusion(["A coffee mug", "I see a fish"], ["mug", "coffee mug"])
    array([ 1, -1])
    """
    found = included(answers, names, whole_words=whole_words)
    return np.array([each[0] if each else -1 for each in found], np.int64)


def _by_letters(answers: Sequence[str], names: Sequence[str]) -> list[set[int]]:
    lowered = [(index, plain(name)) for index, name in enumerate(names) if plain(name)]
    return [{index for index, name in lowered if name in answer.lower()} for answer in answers]


def _by_words(answers: Sequence[str], names: Sequence[str]) -> list[set[int]]:
    classes: dict[Words, list[int]] = {}
    for index, name in enumerate(names):
        classes.setdefault(tuple(words(name)), []).append(index)
    classes.pop((), None)
    longest = max(map(len, classes), default=0)
    return [_spans(words(answer), classes, longest) for answer in answers]


def _spans(said: Sequence[str], classes: Mapping[Words, Sequence[int]], longest: int) -> set[int]:
    spans = (tuple(said[start : start + length]) for start in range(len(said)) for length in range(1, longest + 1))
    return {index for span in spans for index in classes.get(span, ())}
