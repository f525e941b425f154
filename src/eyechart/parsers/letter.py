"""Parser of the letter of an option, A, B, C, …

Strict is the prompt's 'exactly one letter' (arXiv 2603.06578, Table 22). Lenient accepts every form of a letter as a
label ("(b)", "B) goldfish", "**D**", "Answer: C", "The answer is C because …") and the text of an option. Unlike in
Mill's scorer, a letter inside a word or before one is not a label ("USA", "A goldfish", "I see"). Two labels, or a
label with the text of another option, are unparsed.
"""

import re
from collections.abc import Iterator, Sequence
from string import ascii_lowercase

from eyechart.parsers.class_name import unique_indices
from eyechart.parsers.parse_result import ParseResult
from eyechart.parsers.text import (
    DOUBT,
    EDGES,
    answer_text,
    fold,
    name_key,
    single_value,
    split_words,
    stated_answers,
    strip_lead,
    strip_punctuation,
    word_set,
)

VERSION = 2
LABEL = re.compile(r"[(\[]?([a-z])((?: ?[)\]])*[.:,]?| -(?= ))(.*)", re.DOTALL)
AFFIRMED = re.compile(r" (?:is|seems|would be) (?:the )?(?:most )?(?:correct|right|best|likely|appropriate|answer)\b")
REASON = re.compile(r",? (?:because|since|as (?:the|it|this)) ")
OTHER = re.compile(r"[(\[]([a-z])[)\]]|\b([a-z])\)|\b(?:option|answer|choice|letter)(?: is|:)? ([a-z])\b(?! \w)")
TURN = word_set("actually wait instead rather sorry correction")
CONTRADICTED = -1  # a label that contradicts the words around it
WORDS_TOO = "ai"  # letters that are English words


def parse(text: str, options: Sequence[str]) -> ParseResult[int]:
    """Return the index of the chosen option.

    >>> options = ["tench", "goldfish", "shark"]
    >>> parse("B", options), parse("B) goldfish", options), parse("A goldfish", options)
    (ParseResult(strict=1, lenient=1), ParseResult(strict=None, lenient=1), ParseResult(strict=None, lenient=None))
    """
    return ParseResult.with_fallback(
        _index(text.strip().casefold(), options), lambda: _lenient(answer_text(text), options)
    )


def _index(letter: str, options: Sequence[str]) -> int | None:
    index = ascii_lowercase[: len(options)].find(letter) if len(letter) == 1 else -1
    return index if index >= 0 else None


def _lenient(answer: str, options: Sequence[str]) -> int | None:
    whole = _choice(answer, options)
    chosen = whole if whole == CONTRADICTED else single_value([whole, *_statements(answer, options)])
    return None if chosen == CONTRADICTED else chosen


def _choice(answer: str, options: Sequence[str]) -> int | None:
    """Return the option that the whole text chooses, CONTRADICTED if it contradicts itself, None if there is none."""
    body, scene = strip_lead(answer)
    cues = {_verbatim(part, options) for part in (answer, body) if len(strip_punctuation(part)) > 1} - {None}
    if not cues:
        cues = {_named(answer, options, False), _named(body, options, scene), _labelled(answer, options)}
        cues |= set() if scene and body.startswith("a ") else {_labelled(body, options)}  # an article
    cues -= {None}
    return (cues.pop() if len(cues) == 1 else CONTRADICTED) if cues else None


def _verbatim(answer: str, options: Sequence[str]) -> int | None:
    return unique_indices(options, lambda option: strip_punctuation(fold(option))).get(strip_punctuation(answer))


def _named(answer: str, options: Sequence[str], scene: bool) -> int | None:
    """Return the option with this text; 'a' before it counts as an article only if it cannot be a label."""
    alike = unique_indices(options, name_key).get(name_key(answer))
    article = answer.lstrip(EDGES).startswith("a ") and not scene
    return alike if not article or alike == 0 else None


def _labelled(answer: str, options: Sequence[str]) -> int | None:
    match = LABEL.fullmatch(strip_punctuation(answer))
    own = _index(match[1], options) if match else None
    if match is None or own is None or (not match[2] and match[3][:1] not in ("", " ", "\n")):
        return None
    return _labelled_with_rest(match[2], match[3], own, options)


def _labelled_with_rest(mark: str, rest: str, own: int, options: Sequence[str]) -> int | None:
    """Return the option of a label, given the mark and the words after the letter."""
    if not rest or name_key(rest) == name_key(options[own]):
        return own
    if name_key(rest) in {name_key(option) for option in options}:
        return CONTRADICTED
    if (
        _is_delimited(mark, rest)
        or AFFIRMED.match(rest)
        or (REASON.match(rest) and ascii_lowercase[own] not in WORDS_TOO)
    ):
        return CONTRADICTED if _is_contradicted(rest, own, options) else own
    return None


def _is_delimited(mark: str, rest: str) -> bool:
    """Return whether the characters after a letter make it a label, whatever the rest is."""
    return rest[0] == "\n" or any(sign in mark for sign in ")]:") or (mark == "." and rest[0] == " ")


def _is_contradicted(rest: str, own: int, options: Sequence[str]) -> bool:
    """Return whether the words after a label name another option, or deny the label before they name its option."""
    if not TURN.isdisjoint(split_words(rest)) or any(other != own for other in _others(rest, options)):
        return True
    text, mine = _pad(rest), _pad(options[own])
    others = {_pad(option) for index, option in enumerate(options) if index != own and name_key(option)}
    before = text.partition(mine)[0] + " "
    named = any(other in (text if mine in other else before) for other in others)
    return named or not DOUBT.isdisjoint(split_words(before))


def _others(rest: str, options: Sequence[str]) -> Iterator[int]:
    """Yield the options whose labels occur in the text."""
    letters = [letter for groups in OTHER.findall(rest) for letter in groups if letter]
    letters += [word for word in split_words(rest) if len(word) == 1 and word not in WORDS_TOO]
    yield from (index for letter in letters if (index := _index(letter, options)) is not None)


def _pad(text: str) -> str:
    """Return the words of a text with single spaces around each, so that whole words can be searched."""
    return f" {' '.join(split_words(name_key(text)))} "


def _statements(answer: str, options: Sequence[str]) -> Iterator[int | None]:
    """Yield the option of each statement such as 'the answer is B', and of a last line that is only a label."""
    yield from (_choice("\n".join(statement), options) for statement in stated_answers(answer))
    last = _index(strip_punctuation(answer.rpartition("\n")[2]), options)
    if last is not None and all(other == last for other in _others(answer, options)):
        yield last
