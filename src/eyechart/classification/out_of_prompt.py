"""Answers outside the prompt's list: of which kind they are.

Source: arXiv 2603.06578, Tables 5, 15 and 16.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eyechart.parsers.abstention import is_abstention, lowercase_words

Kind = Literal["Partial", "IN", "Abstain", "Wrong"]
KINDS: tuple[Kind, ...] = ("Partial", "IN", "Abstain", "Wrong")


def match_exactly(answers: Sequence[str], names: Sequence[str]) -> NDArray[np.int64]:
    """Return the class that each of n answers names exactly, (n,), -1 for an answer out of the prompt.

    Case and white space around do not count; of classes with one name the first has it.

    Source: arXiv 2603.06578, section 2.3, Task 3: both sides in lower case, and no match is incorrect.

    >>> match_exactly(["Tench ", "a tench", ""], ["goldfish", "tench"])
    array([ 1, -1, -1])
    """
    first = _first(tuple(names))
    return np.array([first.get(normalise_text(answer), -1) if answer.strip() else -1 for answer in answers], np.int64)


def out_of_prompt_kinds(answers: Sequence[str], names: Sequence[str], known: Sequence[str]) -> list[Kind]:
    """Sort out-of-prompt answers into four kinds; the first that fits, in this order.

    Abstain: an expression such as "I don't know". IN: exactly one of the `known` names, OpenAI's for ImageNet, that the
    prompt's `names` have otherwise. Partial: each of its words is in one and the same class name of the prompt, in any
    order. Wrong: all others, an answer without a word among them.

    Raises ValueError for an answer that the prompt does list.

    Source: arXiv 2603.06578, Table 16; the order of the kinds is our reading, the list of abstentions our own.

    >>> answers = ["I don't know.", "crane bird", "Shepherd german", "cat"]
    >>> out_of_prompt_kinds(answers, ["German shepherd dog"], ["crane bird"])
    ['Abstain', 'IN', 'Partial', 'Wrong']
    """
    listed, others = {normalise_text(name) for name in names}, {normalise_text(name) for name in known}
    sets = {frozenset(lowercase_words(name)) for name in names}
    if within := [answer for answer in answers if normalise_text(answer) in listed]:
        raise ValueError(f"The answer '{within[0]}' stands in the prompt's list: give those out of it alone.")
    return [_kind(answer, sets, others) for answer in answers]


def normalise_text(text: str) -> str:
    """Drop case and the white space around, as answers and names are compared.

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
    said = frozenset(lowercase_words(answer))
    return "Partial" if said and any(said <= each for each in sets) else "Wrong"


@lru_cache(maxsize=64)
def _first(names: tuple[str, ...]) -> Mapping[str, int]:
    """The first class of each name, as names are compared."""
    return {normalise_text(name): index for index, name in reversed([*enumerate(names)])}
