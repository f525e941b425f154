"""Published scorers, for comparison with published results. They guess and match inside words; never the default.

Sources, from the authors' public code: Mill's multiple-choice scorer (github.com/haideraltahan/Mill, mill/utils.py),
the name rule of arXiv 2603.06578, and OODBench's yes-or-no rule (arXiv 2602.18094). OODBench's counting code is not
public; the rule here is our interpretation of its Appendix A.
"""

import random
import re
from collections.abc import Sequence
from string import ascii_uppercase

from eyechart.parsers.class_name import unique_indices
from eyechart.parsers.number import find_numbers, split_words
from eyechart.parsers.text import answer_text

VERSION = 1
SEED = 42
TRIMMED = (",", ".", "!", "?", ";", ":", "'", '"')
MARKED = re.compile(
    r"(?:(?i:final|correct|best)\s+)?(?i:answers?)\s*(?i:is|are|=|:|->|=>)?\s*"
    r"[(\[{*\"'`]*\s*(?<![A-Za-z])([A-Z])(?![A-Za-z])"
)


def parse_mill_letter(text: str, options: Sequence[str], seed: int = SEED) -> int:
    """Return the index of the option that Mill parses; without a match a random one, seeded by the text.

    Mill searches 'answer … X', then '(X)', then X before a space, also inside a word, then X before a full stop, then,
    in texts of more than five words, an option's text, also inside a word. The last match counts.

    >>> options = ["tench", "goldfish", "shark"]
    >>> parse_mill_letter("The answer is B.", options), parse_mill_letter("USA", options)  # ends in A
    (1, 0)
    """
    letters = ascii_uppercase[: len(options)]
    marked = [letter for letter in MARKED.findall(text) if letter in letters]
    if marked:
        return letters.index(marked[-1])
    option = _mill_option(_mill_strip(text), letters, options)
    return random.Random(f"{seed}|parse_multi_choice|{text}").randrange(len(letters)) if option is None else option


def _mill_strip(text: str) -> str:
    for sign in TRIMMED:
        text = text.strip(sign)
    return f" {text} "


def _mill_option(text: str, letters: str, options: Sequence[str]) -> int | None:
    """Return the option of the first pattern that matches; of several matches the last one in the text."""
    low = text.lower()
    for cue, index in (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")):
        if any(cue.format(letter) in text for letter in letters):
            return _last_occurrence(
                text, [index.format(letter) if cue.format(letter) in text else None for letter in letters]
            )
    named = [option.lower() if option.lower() in low and len(text.split()) > 5 else None for option in options]
    return _last_occurrence(low, named) if any(name is not None for name in named) else None


def _last_occurrence(text: str, looked_for: Sequence[str | None]) -> int:
    """Return the index of the text whose last occurrence is the latest; None entries are skipped."""
    found = [-2 if part is None else text.rfind(part) for part in looked_for]
    return found.index(max(found))


def parse_authors_name(text: str, names: Sequence[str]) -> int | None:
    """Return the index of the name that equals the answer, trimmed and in lower case (arXiv 2603.06578).

    >>> parse_authors_name(" Goldfish", ["tench", "goldfish"]), parse_authors_name("goldfish.", ["tench", "goldfish"])
    (1, None)
    """
    return unique_indices(names, _lowered).get(_lowered(text))


def _lowered(name: str) -> str:
    return name.strip().lower()


def parse_authors_yes_no(text: str) -> bool:
    """Return whether the word 'yes' occurs and the word 'no' does not (arXiv 2602.18094); neither or both mean no.

    >>> [parse_authors_yes_no(text) for text in ("Oh yes!", "Yes, there is no dog.", "I cannot tell.")]
    [True, False, False]
    """
    words = set(re.findall(r"\b(?:yes|no)\b", text.lower()))
    return words == {"yes"}


def parse_first_number(text: str) -> int | None:
    """Return the first number or number word of a text, our interpretation of arXiv 2602.18094's counting rule.

    >>> [parse_first_number(text) for text in ("There are two dogs and 3 cats.", "I see none.", "many")]
    [2, 0, None]
    """
    return next((value for value, *_ in find_numbers(list(split_words(answer_text(text)))) if value is not None), None)
