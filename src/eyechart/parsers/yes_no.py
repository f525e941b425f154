"""Reading yes or no.

Strict is one of the two words (arXiv 2602.18094's questions end in '(yes or no)'). Lenient is the word as an answer: at
the beginning of the first or the last sentence, or after 'the answer is'. As a determiner, "There is no dog", it
answers nothing, for the question may have been whether there is none; so "Yes, there is no dog" is a yes. Both words as
answers, a correction ("Yes. Actually, …") or a doubt about the answer itself ("Yes, but I'm not sure") are unread.
"""

import re

from eyechart.parsers.reading import Reading
from eyechart.parsers.text import (
    CORRECTION,
    EDGES,
    UNCERTAIN,
    listed,
    only,
    sentences,
    spoken,
    stated,
    trimmed,
    without_lead,
)

VERSION = 2
SAID = dict.fromkeys(listed("yes yeah yep yup"), True) | dict.fromkeys(listed("no nope nah"), False)
ALONE = SAID | {"y": True, "n": False}
SURE = r"(?:(?:definitely|absolutely|clearly|probably|obviously)[, ] ?)?"
YES = re.compile(rf"{SURE}(?:yes|yeah|yep|yup)\b(?![-'/])")
GOES_ON = r"(?=[^\w\s]|\n|$| (?:there|it|this|that|the|they|he|she|we|i)\b| [-(])"  # and no noun
NO = re.compile(rf"{SURE}(?:no|nope|nah)\b(?![-'/]|\. ?#?\d){GOES_ON}")
NOT_A_NOUN = r"(?: (?:maybe|perhaps|and|or|but|yes|no|not|wait|sorry|then)\b)"
ANSWER = re.compile(
    rf"\b(?:(?P<yes>yes|yeah|yep|yup)|nope|nah|(?<=\byes and )no|(?<=\byes or )no|no(?:{GOES_ON}|{NOT_A_NOUN}))\b"
)

PERHAPS = re.compile(rf"{SURE}(?:yes|yeah|yep|yup|no|nope|nah)\W+(?:(?:or|but|well),? )?(?:maybe|perhaps|possibly)\b")


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
    called = any(statement is not None for statement in statements)
    if not called and (len(_answers(said)) > 1 or CORRECTION.search(said) or _is_uncertain(said)):
        return None
    return only([*statements, *map(_answer, _ends(said))])


def _ends(said: str) -> list[str]:
    every = sentences(said)
    return [every[0], every[-1]] if every else []


def _is_uncertain(said: str) -> bool:
    """Return whether the first sentence doubts its own answer, or the second one begins with doubt."""
    first, second = [*sentences(said), "", ""][:2]
    doubt = UNCERTAIN.search(second, 0, len("but i'm really not very certain"))
    return bool(UNCERTAIN.search(first) or doubt or PERHAPS.match(said.lstrip(EDGES)))


def _answer(sentence: str) -> bool | None:
    """Return what a sentence answers by its first word, unless it says the other word too."""
    body = without_lead(sentence)[0].lstrip(EDGES)
    answer = True if YES.match(body) else False if NO.match(body) else None
    return answer if answer is not None and _answers(body) <= {answer} else None


def _answers(said: str) -> set[bool]:
    """Return the answers that are said; 'no' before a noun is none."""
    return {found["yes"] is not None for found in ANSWER.finditer(said)}
