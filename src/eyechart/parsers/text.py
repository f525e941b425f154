"""Text functions of all parsers: normalization, sentences, and introductions such as 'the answer is'.

The patterns are matched against text with single spaces, and none has nested repetitions, so that parsing takes time
proportional to the length of the answer.

Source: the failures of published scorers in arXiv 2603.06578 (answers outside the prompt), arXiv 2602.18094 and Mill.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import zip_longest
from typing import TypeVar

from eyechart.parsers.folding import fold
from eyechart.parsers.languages import translate_introductions
from eyechart.parsers.markup import remove_markup
from eyechart.parsers.thinking import remove_thinking

T = TypeVar("T")

BULLETS = "•·●▪◦‣→⇒➡✅✔☑👉"
EMPHASIS = str.maketrans("", "", '*`"“”„«»')
SPACED = str.maketrans("-_", "  ")
EDGES = f" \t\n.,;:!?'\"“”„«»()[]{{}}<>|#=$*`~…\\-_{BULLETS}"
ENDS = EDGES.translate(str.maketrans("", "", "#-=<"))  # "C#" is not C
ARTICLE = re.compile(r"(?:a|an|the) (?=\S)")
SENTENCE = re.compile(r"\n|(?<=[.!?]) (?![#\d])")
WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")

LINK = r"(?: is| would be| should be| must be)"
OPENING = (
    r"(?:(?:so|thus|therefore|hence|sure|okay|ok|well|certainly|definitely|clearly|of course|overall|in conclusion|hmm+"
    r"|(?:based on|looking at|judging by|from) (?:the|this) (?:image|picture|photo))[,.!:]? )?"
)
OPINION = r"(?:i(?:'d| would|'ll| will)? (?:say|choose|pick|select|go with|think|believe|guess)(?: that)?:? )?"
TITLE = r"(?:(?:the|my) )?(?:final |correct |best |right |most likely )?"
NOUN = r"(?:answer|option|choice|letter|class name|class|label|category|prediction|match|guess)"
LABELLED = rf"(?:{NOUN} (?=[(\[]?[a-z]\b(?!['-])))"
ABOUT = (
    r"(?: (?:to|for|of|about|in) (?:the|this|that|your|my) (?:\w+ )?(?:question|image|picture|photo|problem|query|case)"
    r"| here)?"
)
ANSWER = rf"(?:{TITLE}(?:{NOUN}{ABOUT}(?:{LINK}(?: ?[:=] ?|[ \n])| ?[:=] ?){LABELLED}?|{LABELLED}))?"
LEAD = re.compile(OPENING + OPINION + ANSWER)
SCENE = re.compile(
    OPENING + OPINION + r"(?:(?:it|this|that)(?:'s| is| looks like| appears to be)"
    r"|(?:the|this) (?:image|picture|photo)(?: shows| depicts| contains| is of| is)"
    r"|the (?:main )?(?:object|subject)(?: (?:in|of) (?:the|this) (?:image|picture|photo))? is)[ :\n]"
)
STATED = re.compile(rf"\b(?:answer{ABOUT}|(?:option|choice)(?= is|:)){LINK}?(?: ?[:=] ?| )")


def word_set(text: str) -> frozenset[str]:
    """Return the words of a space-separated list."""
    return frozenset(text.split())


DOUBT = word_set(
    "not no none neither nor never cannot if unless unsure unclear unknown wrong incorrect can't don't doesn't isn't "
    "aren't wasn't didn't won't wouldn't couldn't"
)

CORRECTION = re.compile(
    r"\b(?:actually|wait|correction|or rather|scratch that|on second thoughts?|mistaken?|mistakes|i (?:was|am) wrong"
    r"|sorry(?= \w|[,:.]? (?:i|it|that|there|this)\b))\b"
)
UNCERTAIN = re.compile(
    r"\b(?:not (?:(?:\w+ly|so|too|quite|100%) )?(?:sure|certain)|unsure|uncertain|(?:or|if) not"
    r"|no (?:idea|clue)|(?:cannot|can't|can not) (?:tell|say|be sure|be certain|determine))\b"
)


@lru_cache(maxsize=256)  # an answer is normalized for several parsers in a row, and many answers are equal
def answer_text(text: str) -> str:
    r"""Return the normalized answer: after any thinking, folded, without emphasis, with single spaces and line breaks.

    >>> answer_text("<think>A?</think>\n\n **Answer:**\n  C ")
    'answer: c'
    """
    folded = remove_markup(fold(remove_thinking(text)), _states).translate(EMPHASIS)
    lines = (" ".join(line.split()) for line in folded.splitlines())
    return translate_introductions("\n".join(line for line in lines if line).replace(":\n", ": "))


def _states(before: str) -> bool:
    """Return whether a box after these words of its line is a statement, neither introduced nor doubted by them."""
    sentence = split_sentences(" ".join(before.translate(EMPHASIS).split()))[-1:] or [""]
    *_, last = (None, *STATED.finditer(f"{sentence[0]} "))
    introduced = LEAD.fullmatch(f"{sentence[0]} ") or (last and last.end() > len(sentence[0]))
    return not introduced and DOUBT.isdisjoint(split_words(sentence[0]))


def strip_punctuation(text: str) -> str:
    """Return the text without surrounding punctuation."""
    return text.lstrip(EDGES).rstrip(ENDS)


def name_key(text: str) -> str:
    """Return the key of a name: equal for all spellings of one name, different for a part of it.

    >>> name_key('"The Great-White_shark."') == name_key("great white shark")
    True
    """
    name = strip_punctuation(" ".join(fold(text).translate(SPACED).split()))
    return ARTICLE.sub("", name, count=1) if ARTICLE.match(name) else name


def split_words(text: str) -> list[str]:
    """Return the words of a normalized text, including inner apostrophes and hyphens."""
    return WORD.findall(text)


def strip_lead(text: str) -> tuple[str, bool]:
    """Return the text after an introduction to an answer, and whether the introduction refers to the image.

    >>> strip_lead("the answer is b."), strip_lead("this is a fish")
    (('b.', False), ('a fish', True))
    """
    if scene := SCENE.match(text):
        return text[scene.end() :], True
    lead = LEAD.match(text)
    return text[lead.end() if lead else 0 :], False


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a normalized text."""
    return [sentence for sentence in SENTENCE.split(text) if sentence]


def stated_answers(text: str) -> Iterator[list[str]]:
    """Yield the text after every 'answer is' or 'answer:' that is not negated or doubted: the rest of its sentence up
    to the next of them, then the following sentences.

    >>> list(stated_answers("i don't think the answer is a. the answer is b. it has fins."))
    [['b.', 'it has fins.']]
    """
    statements: list[list[str]] = [[]]
    for sentence in split_sentences(text):
        cues, sure, read = [*STATED.finditer(sentence)], True, 0
        for cue, after in zip_longest(cues, cues[1:]):
            end = after.start() if after else len(sentence)
            sure = sure and DOUBT.isdisjoint(split_words(sentence[read : cue.start()]))
            statements.append([sentence[cue.end() : end] if sure else ""])
            read = cue.start()
        if not cues:
            statements[-1].append(sentence)
    yield from (statement for statement in statements[1:] if statement[0])


def single_value(values: Iterable[T | None]) -> T | None:
    """Return the value if all values that are not None are equal, else None.

    >>> single_value([None, 3, 3]), single_value([3, 4]), single_value([])
    (3, None, None)
    """
    distinct = {value for value in values if value is not None}
    return distinct.pop() if len(distinct) == 1 else None
