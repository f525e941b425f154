"""Parser of yes and no.

Strict is exactly one of the two words (arXiv 2602.18094's questions end with '(yes or no)'). Lenient accepts the word
at the beginning of the first or the last sentence, or after 'the answer is'. "no" as a determiner ("There is no dog")
is not an answer, because the question may be whether there is none; so "Yes, there is no dog" is a yes. Both words as
answers, a correction ("Yes. Actually, …") or a doubt about the answer ("Yes, but I'm not sure") are unparsed, and so is
an answer that there is no image.
"""

import re

from eyechart.parsers import json_answers
from eyechart.parsers.no_image import lacks_image
from eyechart.parsers.text import (
    CORRECTION,
    EDGES,
    UNCERTAIN,
    ParseResult,
    answer_text,
    single_value,
    split_sentences,
    stated_answers,
    strip_lead,
    strip_punctuation,
    word_set,
)

VERSION = 3
WORDS = dict.fromkeys(word_set("yes yeah yep yup"), True) | dict.fromkeys(word_set("no nope nah"), False)
SINGLE_WORDS = WORDS | {"y": True, "n": False}
ADVERB = r"(?:(?:definitely|absolutely|clearly|probably|obviously|unfortunately|sadly|sorry|hmm+)[, ] ?)?"
YES = re.compile(rf"{ADVERB}(?:yes|yeah|yep|yup)\b(?![-'/])")
GOES_ON = r"(?=[^\w\s]|\n|$| (?:there|it|this|that|the|they|he|she|we|i)\b| [-(])"  # not followed by a noun
NO = re.compile(rf"{ADVERB}(?:no|nope|nah)\b(?![-'/]|\. ?#?\d){GOES_ON}")
NOT_A_NOUN = r"(?: (?:maybe|perhaps|and|or|but|yes|no|not|wait|sorry|then)\b)"
ANSWER = re.compile(
    rf"\b(?:(?P<yes>yes|yeah|yep|yup)|nope|nah|(?<=\byes and )no|(?<=\byes or )no|no(?:{GOES_ON}|{NOT_A_NOUN}))\b"
)

OF_COURSE_NOT = re.compile(r"\b(?:yes|yeah)\b\W*(?:of course|certainly|definitely|absolutely) not\b")
APART = re.compile(r"\b(?:yes|no) (?:for|to|in) [^.!?\n]{1,40}?[,;] ?(?:and |but )?(?:yes|no) (?:for|to|in)\b")
PERHAPS = re.compile(rf"{ADVERB}(?:yes|yeah|yep|yup|no|nope|nah)\W+(?:(?:or|but|well),? )?(?:maybe|perhaps|possibly)\b")


def parse(text: str) -> ParseResult[bool]:
    """Return whether the answer is yes.

    >>> parse("No"), parse("Yes, it does."), parse("yes and no"), parse("notice")
    ... # doctest: +NORMALIZE_WHITESPACE
    (ParseResult(strict=False, lenient=False), ParseResult(strict=None, lenient=True),
     ParseResult(strict=None, lenient=None), ParseResult(strict=None, lenient=None))
    """
    return ParseResult.with_fallback(
        {"yes": True, "no": False}.get(text.strip().casefold()),
        lambda: _lenient(answer_text(json_answers.unwrap(text))),
    )


def _lenient(answer: str) -> bool | None:
    if lacks_image(answer) or OF_COURSE_NOT.search(answer) or APART.search(answer):
        return None
    if (alone := SINGLE_WORDS.get(strip_punctuation(answer))) is not None:
        return alone
    statements = [_answer(statement) for statement, *_ in stated_answers(answer)]
    called = any(statement is not None for statement in statements)
    if not called and (len(_answers(answer)) > 1 or CORRECTION.search(answer) or _is_uncertain(answer)):
        return None
    sentences = split_sentences(answer)
    return single_value([*statements, *map(_answer, [*sentences[:1], *sentences[-1:]])])


def _is_uncertain(answer: str) -> bool:
    """Return whether the first sentence doubts its own answer, or the second sentence begins with a doubt."""
    first, second = [*split_sentences(answer), "", ""][:2]
    doubt = UNCERTAIN.search(second, 0, len("but i'm really not very certain"))
    return bool(UNCERTAIN.search(first) or doubt or PERHAPS.match(answer.lstrip(EDGES)))


def _answer(sentence: str) -> bool | None:
    """Return the answer of a sentence's first word, None if the sentence also has the other word."""
    body = strip_lead(sentence)[0].lstrip(EDGES)
    answer = True if YES.match(body) else False if NO.match(body) else None
    return answer if answer is not None and _answers(body) <= {answer} else None


def _answers(answer: str) -> set[bool]:
    """Return the answers that occur in a text; 'no' before a noun is not an answer."""
    return {match["yes"] is not None for match in ANSWER.finditer(answer)}
