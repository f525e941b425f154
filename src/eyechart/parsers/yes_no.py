"""Parser of yes and no.

Strict is exactly one of the two words (arXiv 2602.18094's questions end with '(yes or no)'). Lenient accepts the word
at the beginning of the first or the last sentence, or after 'the answer is'. "no" as a determiner ("There is no dog")
is not an answer, because the question may be whether there is none; so "Yes, there is no dog" is a yes. Both words as
answers, a correction ("Yes. Actually, …"), a doubt about the answer ("Yes, but I'm not sure") or a condition ("Yes, if
the statue counts") are unparsed; so are an offer ("Yes, I can see the image.") and an answer that there is no image.
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
    split_words,
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
YES_OR_NO = r"(?:yes|yeah|yep|yup|no|nope|nah)"
CONDITION = re.compile(
    rf"{ADVERB}{YES_OR_NO}\W+(?:but |only )?(?:if(?! you (?:look|zoom|see)| not)|unless|assuming|provided)\b"
)
EAGER = re.compile(  # to help, which does not answer the question
    r"yes\W+(?:(?:of course|sure|certainly|absolutely|definitely)\W+)?"
    r"i(?:'m| am| can| could|'ll| will|'d| would| understand)(?: \w+){0,3}? "
    r"(?:(?:help|assist)(?: you)?(?: with (?:that|this|it|your question))?|answer (?:that|this|your|the)(?: question)?"
    r"|(?:see|view|analy[sz]e|describe|process|look at) (?:(?:the|this|your|that) )?(?:image|picture|photo|question)s?)"
    r"[.!]?(?=(?: (?:what|how|which|could|please|let me)\b.*)?\Z)"
)
ASKS_BACK = re.compile(
    r"\bwhat would you like (?:to|me)\b|\blet me (?:look|check|see|take a|analy[sz]e|examine)\b[^.!?\n]*[.!:]?\Z"
)
NOT_AT_ALL = re.compile(r"(?:definitely|absolutely|certainly|of course|i'm afraid|i am afraid|clearly) not|not at all")
ASKED = re.compile(r"\(yes(?: or |/)no\)\??:?")  # the end of the question
LABEL = re.compile(r"(?:\A|(?<=\n))[(\[]?a[)\].:]+ (?=(?:yes|no)\b)")
PERHAPS = re.compile(rf"{ADVERB}{YES_OR_NO}\W+(?:(?:or|but|well),? )?(?:maybe|perhaps|possibly)\b")


def parse(text: str) -> ParseResult[bool]:
    """Return whether the answer is yes.

    >>> parse("No"), parse("Yes, it does."), parse("yes and no"), parse("notice")
    ... # doctest: +NORMALIZE_WHITESPACE
    (ParseResult(strict=False, lenient=False), ParseResult(strict=None, lenient=True),
     ParseResult(strict=None, lenient=None), ParseResult(strict=None, lenient=None))
    """
    return ParseResult.with_fallback(
        {"yes": True, "no": False}.get(text.strip().casefold()),
        lambda: _lenient(LABEL.sub("", ASKED.sub(" ", answer_text(json_answers.state(text))))),
    )


def _lenient(answer: str) -> bool | None:
    if lacks_image(answer) or OF_COURSE_NOT.search(answer) or APART.search(answer) or ASKS_BACK.search(answer):
        return None
    if (alone := _alone(strip_punctuation(answer))) is not None:
        return alone
    statements = [_answer(statement) for statement, *_ in stated_answers(answer)]
    called = any(statement is not None for statement in statements)
    if not called and (len(_answers(answer)) > 1 or CORRECTION.search(answer) or _is_uncertain(answer)):
        return None
    sentences = split_sentences(answer)
    return single_value([*statements, *map(_answer, [*sentences[:1], *sentences[-1:]])])


def _alone(answer: str) -> bool | None:
    """Return the answer of a text that is one word, however often, or a phrase such as 'definitely not'."""
    words = {SINGLE_WORDS.get(word) for word in split_words(answer)}
    return False if NOT_AT_ALL.fullmatch(answer) else words.pop() if len(words) == 1 else None


def _is_uncertain(answer: str) -> bool:
    """Return whether the first sentence doubts its own answer, or the second sentence begins with a doubt."""
    first, second = [*split_sentences(answer), "", ""][:2]
    if CONDITION.match(first.lstrip(EDGES)) or EAGER.match(answer.lstrip(EDGES)):
        return True
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
