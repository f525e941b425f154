"""VQA's normalisation of short answers, and its soft accuracy over the answers of ten people.

Source: the evaluation code of S. Antol et al., VQA: Visual Question Answering, ICCV 2015 (vqaEval.py of
GT-Vision-Lab/VQA): articles are removed, numbers up to ten are digits, contractions have their apostrophes, and
punctuation is removed, or becomes a space inside a word. That code leaves answers as they are where all people gave the
same one, which makes "Yes" wrong; here answers are always normalised.
"""

import re
from collections.abc import Mapping, Sequence

from eyechart.parsers.text import word_set

ARTICLES = frozenset(("a", "an", "the"))
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS: Mapping[str, str] = {"none": "0"} | {word: str(number) for number, word in enumerate(DIGITS)}
WITH_APOSTROPHES = word_set(
    "ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd "
    "he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've might've mustn't "
    "must've needn't not've o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've "
    "somebody'd've somebody'll somebody's someone'd someone'd've someone'll someone's something'd something'd've "
    "something'll that's there'd there'd've there're there's they'd they'd've they'll they're they've 'twas "
    "wasn't we'd've we've weren't what'll what're what's what've when's where'd where's where've who'd who'd've "
    "who'll who's who've why'll why're why's won't would've wouldn't wouldn't've y'all y'all'll y'all'd've you'd "
    "you'd've you'll you're you've"
)
CONTRACTIONS: Mapping[str, str] = {"somebody'd": "somebodyd"} | {
    word[:at] + word[at + 1 :]: word for word in WITH_APOSTROPHES for at, sign in enumerate(word) if sign == "'"
}  # each without one of its apostrophes; the first one is an error of the published list
PUNCTUATION = (";", "/", "[", "]", '"', "{", "}", "(", ")", "=", "+", "\\", "_", "-", ">", "<", "@", "`", ",", "?", "!")
PERIOD = re.compile(r"\.(?!\d)")
COMMA_IN_NUMBER = re.compile(r"\d,\d")
AGREEING = 3  # people who give an answer that is fully right


def normalise(text: str) -> str:
    """Return a short answer as VQA compares it.

    >>> normalise("The two dogs."), normalise("dont know"), normalise("1,200")
    ('2 dogs', "don't know", '1200')
    """
    plain = text.replace("\n", " ").replace("\t", " ").strip()
    numbers = COMMA_IN_NUMBER.search(plain)
    without = plain
    for sign in PUNCTUATION:
        apart = f"{sign} " in plain or f" {sign}" in plain or numbers
        without = without.replace(sign, "" if apart else " ")
    words = [NUMBERS.get(word, word) for word in PERIOD.sub("", without).lower().split()]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


def soft_accuracy(answer: str, accepted: Sequence[str]) -> float:
    """Return VQA's accuracy of an answer: the mean, over all people but one, of min(1, equal answers / 3).

    >>> soft_accuracy("two", ["2"] * 3 + ["3"] * 7), soft_accuracy("red", ["red"] * 4 + ["blue"] * 6)
    (0.9, 1.0)
    """
    given, people = normalise(answer), [normalise(text) for text in accepted]
    equal = people.count(given)
    earned = (min(1.0, (equal - (person == given)) / AGREEING) for person in people)
    return sum(earned) / len(people)
