"""Parser of a JSON object with one answer per image, by key.

Strict is the format of arXiv 2603.06578, Table 20: one JSON object with exactly the expected keys, each with a string.
Lenient parses complete pairs of a key and a string inside braces anywhere in the text: in a code fence, in prose, with
single quotes or trailing commas, in a list, or truncated by the token limit. The answer of a key is None if the key is
missing, repeated with different values, or has a value that is not a single string or integer.

Source of the tokens: RFC 8259 for strings and their escapes; models also write single and typographic quotes, bare
words and raw line breaks. Malformed or truncated text loses the malformed token only.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from eyechart.parsers.languages import NOUNS
from eyechart.parsers.text import MARKS, ParseResult, fold, word_set
from eyechart.parsers.thinking import remove_thinking

SIGNS = {**dict(zip("{}[]:,", "{}[]:,", strict=True)), **dict(zip("｛｝［］：，", "{}[]:,", strict=True))}
CLOSING = {'"': '"', "“": "”", "„": "“”", "”": "”", "'": "'", "‘": "’", "’": "’"}
BARE = re.compile(r"[^\s{}\[\]:,\"'“”„‘’｛｝［］：，]+")
ENDS_SINGLE = re.compile(r"\s*[,:}\]，：｝］]")
INTEGER = re.compile(r"-?[0-9]{1,15}")


class Token(NamedTuple):
    """A sign, a 'string', an 'integer', a bare 'word', or 'broken'."""

    kind: str
    text: str


def tokenize(text: str) -> Iterator[Token]:
    r"""Yield the tokens from the first brace on; a string that is not closed on its line is a 'broken' token.

    >>> [token.kind for token in tokenize("Sure: {'a': 12, \"b")]
    ['{', 'string', ':', 'integer', ',', 'broken']
    """
    index = min((start for start in map(text.find, "{｛") if start >= 0), default=len(text))
    while index < len(text):
        index, token = _next(text, index)
        if token:
            yield token


def _next(text: str, index: int) -> tuple[int, Token | None]:
    letter = text[index]
    if sign := SIGNS.get(letter):
        return index + 1, Token(sign, letter)
    if letter in CLOSING:
        return _string(text, index)
    bare = BARE.match(text, index)
    if not bare:
        return index + 1, None
    return bare.end(), Token("integer" if INTEGER.fullmatch(bare[0]) else "word", bare[0])


def _string(text: str, start: int) -> tuple[int, Token]:
    """Return the end of the string that starts here, and its token."""
    index = start + 1
    while index < len(text) and text[index] not in "\r\n":
        if text[index] == "\\":
            index += 2
        elif text[index] in CLOSING[text[start]] and _closes(text, index):
            return index + 1, Token("string", _unescaped(text[start + 1 : index]))
        else:
            index += 1
    return index, Token("broken", text[start:index])


def _closes(text: str, index: int) -> bool:
    """Return whether a quote ends its string; an apostrophe does so only if JSON punctuation follows."""
    return text[index].translate(MARKS) != "'" or ENDS_SINGLE.match(text, index + 1) is not None


def _unescaped(raw: str) -> str:
    quoted = raw.replace("\\'", "'").replace('\\"', '"').replace('"', '\\"')
    try:
        return (
            str(json.loads(f'"{quoted}"', strict=False)).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    except ValueError:
        return raw


def replace_surrogates(text: str) -> str:
    """Return the text with unpaired surrogates replaced, which cannot be encoded as UTF-8."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


VERSION = 3
ANSWERS = word_set("answer final_answer finalanswer correct_answer response result output prediction")
ANSWERS |= frozenset(map(fold, NOUNS))
LETTERS = ANSWERS | {"choice", "option", "letter", "label", "selected_option", "correct_option"}
NAMES = ANSWERS | word_set("class class_name classname class_label predicted_class label category name object species")
COUNTS = ANSWERS | {"count", "number", "total"}
REASONS = word_set(
    "reason reasoning reasons explanation rationale justification thought thoughts thinking analysis description "
    "confidence score probability certainty question"
)
OPEN, CLOSE = ("{", "["), ("}", "]")
OBJECT = re.compile(r"(?:`{1,3}(?:json\b)?)?\s*(\{[^{}]*\}|｛[^｛｝]*｝)[\s`*.。]*(?:<[^<>\s]*>)?", re.IGNORECASE)
WITHIN = re.compile(
    r"(?:`{1,3}(?:json\b)?\s*|<(?:json|output|response|result)>\s*)?(\{[^{}]*\})(?:\s*`{1,3})?", re.IGNORECASE
)
BRACES = re.compile(r"[{}｛｝]")
PREFIXES = ("image", "img", "picture", "photo")
Answers = Mapping[str, str | None]


def parse(text: str, keys: Sequence[str]) -> ParseResult[Answers]:
    """Return the answer of every expected key; None if no key has an answer.

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


def unwrap(text: str, keys: Set[str] = ANSWERS) -> str:
    """Return the answer of a text that is one JSON object, under a key such as "answer", else the text.

    Other keys may have reasons or a confidence; different answers give "". An object with an unknown key is no answer.

    >>> unwrap('{"answer": "zebra"}'), unwrap("{'class': 'zebra', 'confidence': 0.9}", NAMES), unwrap("zebra")
    ('zebra', 'zebra', 'zebra')
    """
    answers = _single_answers(text, keys)
    return text if answers is None else answers.pop() if len(answers) == 1 else ""


def state(text: str, keys: Set[str] = ANSWERS) -> str:
    r"""Return what `unwrap` returns, with "answer: " and the answer of a JSON object that stands in other text.

    >>> state('{"answer": "B"}\nThe fish is orange.', LETTERS)
    ' answer: B\n\nThe fish is orange.'
    """
    unwrapped = unwrap(text, keys)
    if unwrapped != text:
        return unwrapped
    answer = remove_thinking(text)
    found = [*WITHIN.finditer(answer)]
    answers = [_single_answers(match[1], keys) for match in found]
    if len(BRACES.findall(answer)) != 2 * len(found) or not all(one is not None and len(one) == 1 for one in answers):
        return text
    values = iter([value for one in answers if one for value in one])
    return WITHIN.sub(lambda _: f" answer: {next(values)}\n", answer)


def _single_answers(text: str, keys: Set[str]) -> set[str] | None:
    """Return the different answers of a text that is one flat JSON object, None if it is none or has unknown keys."""
    match = OBJECT.fullmatch(remove_thinking(text).strip())
    tokens = list(tokenize(match[1])) if match else []
    if [token.kind for token in tokens if token.kind in ("{", "}", "broken")] != ["{", "}"]:
        return None
    answers = set[str | None]()
    for index in range(1, len(tokens) - 1):
        if _kind(tokens, index + 1) == ":" and _kind(tokens, index - 1) in ("{", ","):
            name = "_".join(fold(tokens[index].text).replace("-", " ").split())
            if name not in keys | REASONS:
                return None
            answers |= {_value(tokens, index + 2)} if name in keys else set()
    return {answer for answer in answers if answer is not None} if answers and None not in answers else None


class _Pairs:
    """The key–value pairs of a JSON object, including repeated keys."""

    def __init__(self, items: list[tuple[str, Any]]) -> None:
        self.items = items
        self.names = [name for name, _ in items]
        self.strings = all(isinstance(value, str) for _, value in items)


def _lenient(text: str, keys: Sequence[str]) -> Answers | None:
    expected = {fold(key).strip(): key for key in keys}
    values_by_key: dict[str, set[str | None]] = {key: set() for key in keys}
    for name, value in _answer_pairs(list(tokenize(text)), expected):
        values_by_key[expected[name]].add(value)
    answers = {key: values.pop() if len(values) == 1 else None for key, values in values_by_key.items()}
    return answers if any(value is not None for value in answers.values()) else None


def _answer_pairs(tokens: Sequence[Token], expected: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the expected keys with their values; pairs nested in the object of an expected key are skipped."""
    known, dead, depth = frozenset(expected), 0, 0
    for index, token in enumerate(tokens):
        depth += (token.kind in OPEN) - (token.kind in CLOSE)
        dead = 0 if token.kind in CLOSE and depth < dead else dead
        name = _name(token, known) if _kind(tokens, index + 1) == ":" and not dead else None
        if name is not None:
            dead = depth + 1 if _kind(tokens, index + 2) in OPEN else 0
            yield name, _value(tokens, index + 2)


def _name(token: Token, known: frozenset[str]) -> str | None:
    """Return the expected key that a token names, with or without a prefix such as 'image'."""
    text = fold(token.text).strip() if token.kind in ("string", "integer", "word") else ""
    bare = next((text.removeprefix(prefix) for prefix in PREFIXES if text.startswith(prefix)), text).strip(" _#-:")
    return next((name for name in (text, bare) if name in known), None)


def _value(tokens: Sequence[Token], index: int) -> str | None:
    """Return the complete string or integer at a position, or the only item of a list."""
    if _kind(tokens, index) == "[":
        return _value(tokens, index + 1) if _kind(tokens, index + 2) == "]" else None
    ends = _kind(tokens, index + 1)
    if _kind(tokens, index) == "string" and (ends in (",", "}", "]", "") or _kind(tokens, index + 2) == ":"):
        return tokens[index].text
    return tokens[index].text if _kind(tokens, index) == "integer" and ends in (",", "}", "]") else None


def _kind(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].kind if index < len(tokens) else ""
