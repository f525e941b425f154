"""Reading yes or no.

Strict is one of the two words (arXiv 2602.18094's questions end in '(yes or no)'). Lenient is the word as an answer: at
the beginning of the first or the last sentence, or after 'the answer is'. As a determiner, "There is no dog", it
answers nothing, for the question may have been whether there is none; nor do both words together.
"""

import re

from eyechart.parsers.reading import Reading
from eyechart.parsers.text import EDGES, listed, only, sentences, spoken, stated, trimmed, without_lead, words

VERSION = 1
SAID = dict.fromkeys(listed("yes yeah yep yup"), True) | dict.fromkeys(listed("no nope nah"), False)
ALONE = SAID | {"y": True, "n": False}
SURE = r"(?:(?:definitely|absolutely|clearly|probably|obviously)[, ] ?)?"
YES = re.compile(rf"{SURE}(?:yes|yeah|yep|yup)\b(?![-'/])")
GOES_ON = r"(?=[^\w\s]|\n|$| (?:there|it|this|that|the|they|he|she|we|i)\b| [-(])"  # and no noun
NO = re.compile(rf"{SURE}(?:no|nope|nah)\b(?![-'/]|\. ?#?\d){GOES_ON}")


def read(text: str) -> Reading[bool]:
    """Return whether the answer is yes.

    >>> read("No"), read("Yes, it does."), read("yes and no"), read("notice")
    ... # doctest: +NORMALIZE_WHITESPACE
    (Reading(strict=False, lenient=False), Reading(strict=None, lenient=True),
     Reading(strict=None, lenient=None), Reading(strict=None, lenient=None))
    """
    return Reading.of({"yes": True, "no": False}.get(text.strip().casefold()), lambda: _lenient(spoken(text)))


def _lenient(said: str) -> bool | None:
    if (alone := ALONE.get(trimmed(said))) is not None:
        return alone
    statements = [_answer(statement) for statement, *_ in stated(said)]
    both = len({SAID[word] for word in words(said) if word in SAID}) > 1
    if both and not any(statement is not None for statement in statements):
        return None
    return only([*statements, *map(_answer, _ends(said))])


def _ends(said: str) -> list[str]:
    every = sentences(said)
    return [every[0], every[-1]] if every else []


def _answer(sentence: str) -> bool | None:
    """Return what a sentence answers by its first word, unless it says the other word too."""
    body = without_lead(sentence)[0].lstrip(EDGES)
    answer = True if YES.match(body) else False if NO.match(body) else None
    return answer if answer is not None and {SAID[word] for word in words(body) if word in SAID} == {answer} else None
