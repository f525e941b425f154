"""The nearest known name of a word that is not known."""

from collections.abc import Sequence
from difflib import get_close_matches


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return the end of a sentence: similar known words if there are any, else a full stop.

    >>> did_you_mean("zeroshot", ["zero_shot", "knn"])
    '; did you mean zero_shot?'
    """
    similar = get_close_matches(word, known, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(similar)}?" if similar else "."
