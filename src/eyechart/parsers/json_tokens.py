"""Tokenizer of JSON-like text in one pass; malformed or truncated text loses the malformed token only.

Source: RFC 8259 for strings and their escapes; models also write single and typographic quotes, bare words and raw
line breaks.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from eyechart.parsers.folding import MARKS

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
    return (bare.end(), _bare(bare[0])) if bare else (index + 1, None)


def _bare(word: str) -> Token:
    return Token("integer" if INTEGER.fullmatch(word) else "word", word)


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
