"""Reading a JSON object of answers, one an image, by key.

Strict is what arXiv 2603.06578, Table 20, asks of open models: one JSON object with exactly the asked keys, each with a
string. Lenient reads the pairs of a key and a string that stand whole between braces, wherever the braces stand: in a
code fence, in prose, single-quoted, with trailing commas, in a list, or cut off by the token limit. A key that is
missing, that is said twice with two values, or whose value is not one string or integer is None.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eyechart.parsers.json_tokens import Token, replace_surrogates, tokenize
from eyechart.parsers.parse_result import ParseResult
from eyechart.parsers.text import fold, remove_thinking

VERSION = 2
OPEN, CLOSE = ("{", "["), ("}", "]")
PREFIXES = ("image", "img", "picture", "photo")
Answers = Mapping[str, str | None]


def parse(text: str, keys: Sequence[str]) -> ParseResult[Answers]:
    """Return the answer of every asked key; None as a whole if no key was answered.

    >>> parse('{"1": "cat"}', ["1"]).strict, parse("{'1': 'cat', '2': 'do", ["1", "2"]).lenient
    ({'1': 'cat'}, {'1': 'cat', '2': None})
    """
    return ParseResult.with_fallback(_strict(text, keys), lambda: _lenient(remove_thinking(text), keys))


def _strict(text: str, keys: Sequence[str]) -> Answers | None:
    try:
        pairs = json.loads(text.strip(), object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, _Pairs) or sorted(pairs.names) != sorted(keys):
        return None
    return {name: replace_surrogates(value) for name, value in pairs.items} if pairs.strings else None


class _Pairs:
    """The pairs of an object, the doubled ones too."""

    def __init__(self, items: list[tuple[str, Any]]) -> None:
        self.items = items
        self.names = [name for name, _ in items]
        self.strings = all(isinstance(value, str) for _, value in items)


def _lenient(text: str, keys: Sequence[str]) -> Answers | None:
    asked = {fold(key).strip(): key for key in keys}
    found: dict[str, set[str | None]] = {key: set() for key in keys}
    for name, value in answer_pairs(list(tokenize(text)), asked):
        found[asked[name]].add(value)
    answers = {key: values.pop() if len(values) == 1 else None for key, values in found.items()}
    return answers if any(value is not None for value in answers.values()) else None


def answer_pairs(said: Sequence[Token], asked: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the asked keys with their values; what stands inside an asked key's own object answers nothing."""
    known, dead, depth = frozenset(asked), 0, 0
    for place, token in enumerate(said):
        depth += (token.kind in OPEN) - (token.kind in CLOSE)
        dead = 0 if token.kind in CLOSE and depth < dead else dead
        name = _name(token, known) if _kind(said, place + 1) == ":" and not dead else None
        if name is not None:
            dead = depth + 1 if _kind(said, place + 2) in OPEN else 0
            yield name, _value(said, place + 2)


def _name(token: Token, known: frozenset[str]) -> str | None:
    """Return the asked key that a token is, as it stands or after a word for an image."""
    said = fold(token.text).strip() if token.kind in ("string", "integer", "word") else ""
    bare = next((said.removeprefix(prefix) for prefix in PREFIXES if said.startswith(prefix)), said).strip(" _#-:")
    return next((name for name in (said, bare) if name in known), None)


def _value(said: Sequence[Token], place: int) -> str | None:
    """Return the string or integer at a place, or the only one of a list, if it stands whole."""
    if _kind(said, place) == "[":
        return _value(said, place + 1) if _kind(said, place + 2) == "]" else None
    ends = _kind(said, place + 1)
    if _kind(said, place) == "string" and (ends in (",", "}", "]", "") or _kind(said, place + 2) == ":"):
        return said[place].text
    return said[place].text if _kind(said, place) == "integer" and ends in (",", "}", "]") else None


def _kind(said: Sequence[Token], place: int) -> str:
    return said[place].kind if place < len(said) else ""
