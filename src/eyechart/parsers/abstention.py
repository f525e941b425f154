"""Detection of answers that decline to answer, by the packaged list of expressions."""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from eyechart.parsers.text import lowercase_words

ABSTENTIONS = Path(__file__).with_name("abstentions.toml")


class _Abstentions(NamedTuple):
    within: tuple[str, ...]
    whole: frozenset[str]


def is_abstention(answer: str) -> bool:
    """Return whether an answer declines, by the packaged list of expressions.

    Source: arXiv 2603.06578, Table 16: "I don't know" or similar expressions.

    >>> is_abstention("Sorry, I don’t know!"), is_abstention("Unknown"), is_abstention("unknown soldier's tomb")
    (True, True, False)
    """
    text, known = _spaced(answer), _abstentions()
    return text.strip() in known.whole or any(expression in text for expression in known.within)


@cache
def _abstentions() -> _Abstentions:
    expressions = tomllib.loads(ABSTENTIONS.read_text(encoding="utf-8"))
    return _Abstentions(
        tuple(map(_spaced, expressions["within"])),
        frozenset(_spaced(expression).strip() for expression in expressions["whole"]),
    )


def _spaced(text: str) -> str:
    """Return the words of a text with single spaces around each, so that whole words can be searched."""
    return f" {' '.join(lowercase_words(text))} "
