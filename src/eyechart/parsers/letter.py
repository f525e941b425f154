"""Parser of the letter of an option, A, B, C, …

Strict is the prompt's 'exactly one letter' (arXiv 2603.06578, Table 22). Lenient accepts every form of a letter as a
label ("(b)", "B) goldfish", "**D**", "Answer: C", "The answer is C because …") and the text of an option. Unlike in
Mill's scorer, a letter inside a word or before one is not a label ("USA", "A goldfish", "I see"). Two labels, or a
label with the text of another option, are unparsed. Letters of other options may follow an answer that is called so, in
clauses that do not hold them for possible ("The answer is B. Option A shows a shark."), and so may they after a line
that is only the option. A last line or a conclusion ("So, B.") that is only an option is the answer if no other label
is in the text. The only text of a JSON object under a key such as "answer" is the answer.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from string import ascii_lowercase

from eyechart.parsers import json_answers
from eyechart.parsers.class_name import unique_indices
from eyechart.parsers.no_image import lacks_image
from eyechart.parsers.text import (
    DOUBT,
    EDGES,
    NOUN,
    UNCERTAIN,
    ParseResult,
    answer_text,
    fold,
    name_key,
    single_value,
    split_sentences,
    split_words,
    stated_answers,
    strip_lead,
    strip_punctuation,
    word_set,
)

VERSION = 3
LABEL = re.compile(r"[(\[]?([a-z])((?: ?[)\]])*[.:,]?| -(?= ))(.*)", re.DOTALL)
LONGEST_NAME = 300  # characters of a name with its label
NAME_AND_LABEL = re.compile(
    r"(?:(?P<first>[a-z]) ?/ ?)?(?P<name>[^\n]*?\S)"
    r"(?: ?(?:[(\[–/-]{1,2}|[:,=→]|[-=]>) ?(?:option |choice |answer )?(?P<last>[a-z])[)\]]?\.?)?"
)
AFFIRMED = re.compile(r" (?:is|seems|would be) (?:the )?(?:most )?(?:correct|right|best|likely|appropriate|answer)\b")
BELIEVED = re.compile(
    r",? i(?:'d| would)? (?:think|believe|guess|suppose|say)"
    r"|[,;(\[ -]+(?:definitely|of course|obviously|certainly|clearly|for sure|without (?:a )?doubt|no doubt|100 ?%)"
    r"|[,;(\[ -]+(?:(?:very )?high confidence|confidence:? (?:[01]?\.[0-9]+|[0-9]{1,3} ?%|high)"
    r"|[5-9][0-9] ?% confident)"
)
REASON = re.compile(r",? (?:because|since|as (?:the|it|this)) ")
OTHER = re.compile(r"[(\[]([a-z])(?:[)\]]|\Z)|\b([a-z])\)|\b(?:option|answer|choice|letter)(?: is|:)? ([a-z])\b(?! \w)")
STATES = re.compile(rf"\b{NOUN}\b")
HEADED = re.compile(r"[.,:;\n ]*(?:explanation|reason(?:ing|s)?|rationale|justification|analysis)\b")
NOT_OTHER = re.compile(r",? (?:and )?not (?:option )?[(\[]?[a-z]\b")
CLAUSE = re.compile(
    r"\n|(?<!\n[a-z])[.;!?](?: |\Z)|,? (?:because|since|as (?=(?:the|it|this) )) |, (?=(?:and )?not |while |whereas )"
    r"|(?<=[ngs]): "
)
A_LABEL = re.compile(r"\ba(?:[,:]| (?:is|was|shows|could|might|may|can|would|seems|looks|too|also|and|or) )")
PREFERRED = word_set(
    "also too could might may possible possibly plausible maybe perhaps equally both either alternatively or "
    "likely likelier better correct right best answer choose chosen though although however but"
)
DENIALS = word_set("not no neither nor none wrong incorrect isn't aren't doesn't don't cannot can't")
CONCLUDES = re.compile(r"(?:so|thus|therefore|hence)\b")
MATCHED = re.compile(
    r"\b(?:corresponds? (?:to|with)|corresponding to|match(?:es|ing)?(?: with)?|fits|aligns with)"
    r" (?:the )?(?:option|choice|answer|letter) [(\[]?([a-z])\b"
)
LISTED = re.compile(r"(?:\A|\n)[(\[]?a(?:[.):]| (?:and|or)\b)")
LINKS = word_set("and or not no option options nor")
TURN = word_set("actually wait instead rather sorry correction nein non não")
CONTRADICTED = -1  # a label that contradicts the words around it
WORDS_TOO = "ai"  # letters that are English words


def parse(text: str, options: Sequence[str]) -> ParseResult[int]:
    """Return the index of the chosen option.

    >>> options = ["tench", "goldfish", "shark"]
    >>> parse("B", options), parse("B) goldfish", options), parse("A goldfish", options)
    (ParseResult(strict=1, lenient=1), ParseResult(strict=None, lenient=1), ParseResult(strict=None, lenient=None))
    """
    return ParseResult.with_fallback(
        _index(text.strip().casefold(), options),
        lambda: _lenient(answer_text(json_answers.state(text, json_answers.LETTERS)), options),
    )


def _index(letter: str, options: Sequence[str]) -> int | None:
    index = ascii_lowercase[: len(options)].find(letter) if len(letter) == 1 else -1
    return index if index >= 0 else None


def _lenient(answer: str, options: Sequence[str]) -> int | None:
    if lacks_image(answer):
        return None
    answer = _without_list(answer, options)
    whole = _choice(answer, options)
    chosen = whole if whole == CONTRADICTED else single_value([whole, *_statements(answer, options)])
    return None if chosen == CONTRADICTED else chosen


def _without_list(answer: str, options: Sequence[str]) -> str:
    """Return the answer without a repetition of all options in their order, each with its letter."""
    if len(options) < 2 or len(answer) < 2 * len(options):  # it has a letter and a sign for each option
        return answer
    items: list[str] = []
    for letter, option in zip(ascii_lowercase, options, strict=False):
        name = " ".join(fold(option).split())
        if name not in answer:  # a pattern for the options of each question takes long to compile
            return answer
        items.append(rf"[(\[]?{letter}[)\].:]+ ?{re.escape(name)}\b")
    return re.sub(r"[.,;|]?[ \n]?(?:- ?)?".join(items) + r"[.,;|]?", "\n", answer, count=1).strip()


def _choice(answer: str, options: Sequence[str], *, stated: bool = False) -> int | None:
    """Return the option that the whole text chooses, CONTRADICTED if it contradicts itself, None if there is none.

    `stated` says that the words before the text call it the answer, so that other letters may follow in reasons.
    """
    body, scene = strip_lead(answer)
    called, stated = stated, stated or STATES.search(answer, 0, len(answer) - len(body)) is not None
    cues = {_verbatim(part, options) for part in (answer, body) if len(strip_punctuation(part)) > 1} - {None}
    if not cues:
        cues = {_named(answer, options, False), _named(body, options, scene), _labelled(answer, options, stated=called)}
        cues.add(_named_and_labelled(body, options))
        cues |= set() if scene and body.startswith("a ") else {_labelled(body, options, stated=stated)}  # an article
    cues -= {None}
    return (cues.pop() if len(cues) == 1 else CONTRADICTED) if cues else None


@lru_cache(maxsize=2**12)  # the options of all questions are the names of a few classes
def _option_text(option: str) -> str:
    return strip_punctuation(fold(option))


_option_key = lru_cache(maxsize=2**12)(name_key)


def _verbatim(answer: str, options: Sequence[str]) -> int | None:
    return unique_indices(options, _option_text).get(strip_punctuation(answer))


def _named(answer: str, options: Sequence[str], scene: bool) -> int | None:
    """Return the option with this text; 'a' before it counts as an article only if it cannot be a label."""
    alike = unique_indices(options, _option_key).get(name_key(answer))
    article = answer.lstrip(EDGES).startswith("a ") and not scene
    return alike if not article or alike == 0 else None


def _named_and_labelled(answer: str, options: Sequence[str]) -> int | None:
    """Return the option of "goldfish (B)", "goldfish - B" and "B/goldfish", CONTRADICTED for another option's name."""
    match = NAME_AND_LABEL.fullmatch(answer) if len(answer) <= LONGEST_NAME else None
    own = _index(match["first"] or match["last"] or "", options) if match else None
    if match is None or own is None:
        return None
    named = unique_indices(options, _option_key).get(name_key(match["name"]))
    return named if named in (own, None) else CONTRADICTED


def _labelled(answer: str, options: Sequence[str], *, stated: bool = False) -> int | None:
    match = LABEL.fullmatch(strip_punctuation(answer))
    own = _index(match[1], options) if match else None
    if match is None or own is None or (not match[2] and match[3][:1] not in ("", " ", "\n")):
        return None
    return _labelled_with_rest(match[2], match[3], own, options, stated)


def _labelled_with_rest(mark: str, rest: str, own: int, options: Sequence[str], stated: bool) -> int | None:
    """Return the option of a label, given the mark and the words after the letter."""
    if not rest or name_key(rest) == name_key(options[own]):
        return own
    if name_key(rest) in {name_key(option) for option in options}:
        return CONTRADICTED
    named, after = _after_name(rest, options[own])
    affirmed = (
        AFFIRMED.match(rest) or AFFIRMED.match(f" {after.lstrip(') ,')}" if named else "") or BELIEVED.fullmatch(rest)
    )
    word = ascii_lowercase[own] in WORDS_TOO
    reasoned = not word and (REASON.match(rest) or NOT_OTHER.match(rest))
    if not (_is_delimited(mark, rest) or affirmed or reasoned or (named and after[:1] in tuple(",.;)]\n"))):
        return None
    line = rest.startswith("\n") or (named and after.lstrip(".)] ").startswith("\n"))  # a line that is only the option
    if stated or affirmed or reasoned or line or HEADED.match(rest):
        kept = _without_reasons(mark, rest, own, options)
        return own if kept is not None and not _is_contradicted(kept, own, options) else CONTRADICTED
    return CONTRADICTED if _is_contradicted(rest, own, options) else own


def _after_name(rest: str, option: str) -> tuple[bool, str]:
    """Return whether the words after a letter begin with the name of its option, and what follows the name."""
    words, name = rest.lstrip(" ([-:"), _option_text(option)
    named = bool(name) and words.startswith(name) and not words[len(name) : len(name) + 1].isalnum()
    return named, words[len(name) :] if named else rest


def _without_reasons(mark: str, rest: str, own: int, options: Sequence[str]) -> str | None:
    """Return the text after a chosen label without the clauses that say why other options are not chosen.

    None if a clause prefers another option, holds it for possible, or is nothing but its label.
    """
    first, *clauses = CLAUSE.split(rest)
    if not TURN.isdisjoint(split_words(rest)):
        return None
    clauses = [first, *clauses] if mark.endswith(".") or REASON.match(rest) or NOT_OTHER.match(rest) else clauses
    kept = [] if clauses and clauses[0] is first else [first]
    for clause in clauses:
        words = split_words(clause)
        if NOT_OTHER.match(f" {clause.strip()}"):
            continue
        if words and all(len(word) == 1 or word in LINKS for word in words) and words != [ascii_lowercase[own]]:
            return None
        others = [other for other in _others(clause, options) if other != own]
        others += [0] if own and A_LABEL.search(clause) else []
        if others and not PREFERRED.isdisjoint(words) and DENIALS.isdisjoint(words):
            return None
        if others and (UNCERTAIN.search(clause) or name_key(clause).endswith(_own_names(others, options))):
            return None
        kept += [] if others else [clause]
    return ". ".join(kept)


def _own_names(others: Sequence[int], options: Sequence[str]) -> tuple[str, ...]:
    """Return what the clause of a repeated list is: a label with its own text."""
    return tuple(
        f"{ascii_lowercase[other]}{mark} {name_key(options[other])}" for other in others for mark in (")", ".")
    )


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
    yield from (_choice("\n".join(statement), options, stated=True) for statement in stated_answers(answer))
    ends = dict.fromkeys([answer.rpartition("\n")[2], *split_sentences(answer)[-1:]])
    concluded = [_index(match[1], options) for match in MATCHED.finditer(answer)] if _is_sure(answer) else []
    for text in ends:
        match = LABEL.fullmatch(strip_punctuation(strip_lead(text)[0] if CONCLUDES.match(text) else text))
        own = _index(match[1], options) if match else None
        is_end = text in answer.splitlines() or CONCLUDES.match(text)
        if match and own is not None and is_end and (not match[3] or _is_own_name(match[2], match[3], options[own])):
            concluded.append(own)
    for own in concluded:
        if (
            own is not None
            and all(other == own for other in _others(answer, options))
            and not (own and LISTED.search(answer))
        ):
            yield own


def _is_own_name(mark: str, rest: str, option: str) -> bool:
    return (mark or rest[0] == " ") and name_key(rest) == _option_key(option) != ""


def _is_sure(answer: str) -> bool:
    return DOUBT.isdisjoint(split_words(answer)) and TURN.isdisjoint(split_words(answer))
