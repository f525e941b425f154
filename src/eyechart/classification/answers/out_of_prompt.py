"""Answers that are not in the prompt's list of classes, and their kinds.

Source: arXiv 2603.06578, Tables 5, 15 and 16.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from textwrap import shorten
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eyechart.parsers.abstention import is_abstention
from eyechart.parsers.text import lowercase_words

Kind = Literal["Partial", "IN", "Abstain", "Wrong"]
KINDS_OUT_OF_PROMPT: tuple[Kind, ...] = ("Partial", "IN", "Abstain", "Wrong")
_LARGE_SHARE = 0.2  # of answers out of the prompt, from which on a note counts them
_SHOWN_LETTERS = 60  # of an answer in the note


def match_exactly(answers: Sequence[str], names: Sequence[str]) -> NDArray[np.int64]:
    """Return the class that each of n answers names exactly (n,), -1 for an answer out of the prompt.

    Case and surrounding white space are ignored; of classes with one name the first one is returned.

    Source: arXiv 2603.06578, section 2.3, Task 3: both sides in lower case, and no match is incorrect.

    >>> match_exactly(["Tench ", "a tench", ""], ["goldfish", "tench"])
    array([ 1, -1, -1])
    """
    first = _first(tuple(names))
    return np.array([first.get(normalise_text(answer), -1) if answer.strip() else -1 for answer in answers], np.int64)


def out_of_prompt_kinds(answers: Sequence[str], names: Sequence[str], known: Sequence[str]) -> list[Kind]:
    """Return the kind of each out-of-prompt answer, the first that applies, in this order.

    Abstain: an expression such as "I don't know". IN: exactly one of the `known` names, OpenAI's for ImageNet, whose
    names in the prompt differ. Partial: all its words are in one class name of the prompt, in any order. Wrong: all
    others, including an answer without words.

    Raises ValueError for an answer that is in the prompt.

    Source: arXiv 2603.06578, Table 16; the order of the kinds is our reading, the list of abstentions our own.

    >>> answers = ["I don't know.", "crane bird", "Shepherd german", "cat"]
    >>> out_of_prompt_kinds(answers, ["German shepherd dog"], ["crane bird"])
    ['Abstain', 'IN', 'Partial', 'Wrong']
    """
    listed, others = {normalise_text(name) for name in names}, {normalise_text(name) for name in known}
    sets = {frozenset(lowercase_words(name)) for name in names}
    if within := [answer for answer in answers if normalise_text(answer) in listed]:
        raise ValueError(f"The answer '{within[0]}' is in the prompt's list. Pass only answers that are not.")
    return [_kind(answer, sets, others) for answer in answers]


def normalise_text(text: str) -> str:
    """Return the text in lower case without surrounding white space, as answers and names are compared.

    Source: arXiv 2603.06578, section 2.3, Task 3.

    >>> normalise_text(" German Shepherd\\n")
    'german shepherd'
    """
    return text.lower().strip()


def _kind(answer: str, sets: Iterable[frozenset[str]], known: set[str]) -> Kind:
    if is_abstention(answer):
        return "Abstain"
    if normalise_text(answer) in known:
        return "IN"
    words = frozenset(lowercase_words(answer))
    return "Partial" if words and any(words <= name_words for name_words in sets) else "Wrong"


@lru_cache(maxsize=64)
def _first(names: tuple[str, ...]) -> Mapping[str, int]:
    """Return the first class of each normalised name."""
    return {normalise_text(name): index for index, name in reversed([*enumerate(names)])}


def out_of_prompt_note(epochs: Iterable[Any]) -> Iterator[str]:
    """Yield how many answers are none of the class names, with one of them, if they are a large share.

    Args:
        epochs: The predictions (`ClassPredictions`) of each epoch.
    """
    listed = [epoch for epoch in epochs if epoch.texts is not None and epoch.texts.out_of_prompt is not None]
    pairs = [pair for epoch in listed for pair in zip(epoch.texts.completions, epoch.texts.out_of_prompt, strict=True)]
    outside, answered = [text for text, kind in pairs if kind], sum(int(epoch.answered.sum()) for epoch in listed)
    if outside and len(outside) >= _LARGE_SHARE * answered:
        what = "are mapped to a class" if listed[0].texts.is_mapped else "count as wrong"
        example = shorten(outside[0], _SHOWN_LETTERS, placeholder="…")
        yield f"{len(outside):,} of {answered:,} answers are none of the class names and {what}, such as '{example}'."
