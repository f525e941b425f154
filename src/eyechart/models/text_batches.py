"""Texts in batches: equal ones once, equally long ones together, so that next to nothing is spent on padding."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from eyechart.models.types import Floats


def token_budget(device: str) -> int:
    """How many tokens make a batch: what a processor's caches hold, or what keeps an accelerator busy."""
    return 1_024 if device == "cpu" else 65_536


def unique(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return each text once, and for every text the place of its like.

    >>> unique(["cat", "dog", "cat"])
    (['cat', 'dog'], [0, 1, 0])
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return list(places), [places[text] for text in texts]


def encode_in_batches(
    lengths: Sequence[int], encode: Callable[[list[int], int], Floats], tokens: int, rows: int | None = None
) -> Floats:
    """Encode rows by ascending length and give the features back in the rows' order; `encode` takes (rows, longest)."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    cuts = batches([lengths[row] for row in order], tokens, rows)
    found = np.concatenate([encode(order[start:stop], longest) for start, stop, longest in cuts])
    features = np.empty_like(found)
    features[order] = found
    return features


def batches(lengths: Sequence[int], tokens: int, rows: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Cut ascending lengths into batches of at most so many tokens and rows: (start, stop, longest) of each.

    >>> list(batches([5, 5, 6, 90], 12))
    [(0, 2, 5), (2, 3, 6), (3, 4, 90)]
    >>> list(batches([1, 1, 1], 12, rows=2))
    [(0, 2, 1), (2, 3, 1)]
    """
    start = 0
    for at, length in enumerate(lengths):
        if at > start and ((at + 1 - start) * length > tokens or at - start == rows):
            yield start, at, lengths[at - 1]
            start = at
    yield start, len(lengths), lengths[-1]
