"""Reading the letter of an option, A, B, C, …

Strict is the prompt's 'exactly one letter' (arXiv 2603.06578, Table 22). Lenient is every form in which a letter stands
as a label ("(b)", "B) goldfish", "**D**", "Answer: C", "The answer is C because …"), and an option's text alone. A
letter inside a word or before one is no label ("USA", "A goldfish", "I see"), as it is in Mill's scorer; two labels,
or a label with another option's text, are no answer.
"""

import re
from collections.abc import Iterator, Sequence
from string import ascii_lowercase

from eyechart.parsers.class_name import unshared
from eyechart.parsers.reading import Reading
from eyechart.parsers.text import DOUBT, EDGES, fold, key, listed, only, spoken, stated, trimmed, without_lead, words

VERSION = 2
LABEL = re.compile(r"[(\[]?([a-z])((?: ?[)\]])*[.:,]?| -(?= ))(.*)", re.DOTALL)
JUDGED = re.compile(r" (?:is|seems|would be) (?:the )?(?:most )?(?:correct|right|best|likely|appropriate|answer)\b")
REASON = re.compile(r",? (?:because|since|as (?:the|it|this)) ")
OTHER = re.compile(r"[(\[]([a-z])[)\]]|\b([a-z])\)|\b(?:option|answer|choice|letter)(?: is|:)? ([a-z])\b(?! \w)")
TURN = listed("actually wait instead rather sorry correction")
REFUSED = -1  # a label that the words around it contradict
WORDS_TOO = "ai"  # letters that are English words


def read(text: str, options: Sequence[str]) -> Reading[int]:
    """Return the index of the option that was chosen.

    >>> options = ["tench", "goldfish", "shark"]
    >>> read("B", options), read("B) goldfish", options), read("A goldfish", options)
    (Reading(strict=1, lenient=1), Reading(strict=None, lenient=1), Reading(strict=None, lenient=None))
    """
    return Reading.of(_index(text.strip().casefold(), options), lambda: _lenient(spoken(text), options))


def _index(letter: str, options: Sequence[str]) -> int | None:
    found = ascii_lowercase[: len(options)].find(letter) if len(letter) == 1 else -1
    return found if found >= 0 else None


def _lenient(said: str, options: Sequence[str]) -> int | None:
    whole = _choice(said, options)
    chosen = whole if whole == REFUSED else only([whole, *_statements(said, options)])
    return None if chosen == REFUSED else chosen


def _choice(said: str, options: Sequence[str]) -> int | None:
    """Return the option that all of the text chooses, REFUSED if it contradicts itself, None if it chooses none."""
    body, scene = without_lead(said)
    cues = {_verbatim(part, options) for part in (said, body) if len(trimmed(part)) > 1} - {None}
    if not cues:
        cues = {_named(said, options, False), _named(body, options, scene), _labelled(said, options)}
        cues |= set() if scene and body.startswith("a ") else {_labelled(body, options)}  # an article
    cues -= {None}
    return (cues.pop() if len(cues) == 1 else REFUSED) if cues else None


def _verbatim(said: str, options: Sequence[str]) -> int | None:
    return unshared(options, lambda option: trimmed(fold(option))).get(trimmed(said))


def _named(said: str, options: Sequence[str], scene: bool) -> int | None:
    """Return the option whose text this is; 'a' before it is an article only if nothing else can be meant."""
    alike = unshared(options, key).get(key(said))
    article = said.lstrip(EDGES).startswith("a ") and not scene
    return alike if not article or alike == 0 else None


def _labelled(said: str, options: Sequence[str]) -> int | None:
    found = LABEL.fullmatch(trimmed(said))
    own = _index(found[1], options) if found else None
    if found is None or own is None or (not found[2] and found[3][:1] not in ("", " ", "\n")):
        return None
    return _with_rest(found[2], found[3], own, options)


def _with_rest(mark: str, rest: str, own: int, options: Sequence[str]) -> int | None:
    """Return the label's option, given the mark and the words after the letter."""
    if not rest or key(rest) == key(options[own]):
        return own
    if key(rest) in {key(option) for option in options}:
        return REFUSED
    if _delimits(mark, rest) or JUDGED.match(rest) or (REASON.match(rest) and ascii_lowercase[own] not in WORDS_TOO):
        return REFUSED if _contradicted(rest, own, options) else own
    return None


def _delimits(mark: str, rest: str) -> bool:
    """Whether what stands between a letter and the rest makes it a label, whatever the rest says."""
    return rest[0] == "\n" or any(sign in mark for sign in ")]:") or (mark == "." and rest[0] == " ")


def _contradicted(rest: str, own: int, options: Sequence[str]) -> bool:
    """Whether words after a label choose or name something else, or deny it before its own option is named."""
    if not TURN.isdisjoint(words(rest)) or any(other != own for other in _others(rest, options)):
        return True
    text, mine = _padded(rest), _padded(options[own])
    others = {_padded(option) for index, option in enumerate(options) if index != own and key(option)}
    before = text.partition(mine)[0] + " "
    named = any(other in (text if mine in other else before) for other in others)
    return named or not DOUBT.isdisjoint(words(before))


def _others(rest: str, options: Sequence[str]) -> Iterator[int]:
    """Yield the options whose labels are mentioned."""
    letters = [letter for found in OTHER.findall(rest) for letter in found if letter]
    letters += [word for word in words(rest) if len(word) == 1 and word not in WORDS_TOO]
    yield from (index for letter in letters if (index := _index(letter, options)) is not None)


def _padded(text: str) -> str:
    """Return the words of a text with spaces around each, to look for in another so padded."""
    return f" {' '.join(words(key(text)))} "


def _statements(said: str, options: Sequence[str]) -> Iterator[int | None]:
    """Yield what is stated after other words: 'the answer is B', or a last line that is a label alone."""
    yield from (_choice("\n".join(statement), options) for statement in stated(said))
    last = _index(trimmed(said.rpartition("\n")[2]), options)
    if last is not None and all(other == last for other in _others(said, options)):
        yield last
