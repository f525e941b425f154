"""Texts in batches: equal ones once, equally long ones together, so that next to nothing is spent on padding."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from eyechart.models.interfaces import Floats

TOKENS = 16_384  # a batch of texts, counted in tokens


def unique(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return each text once, and for every text the place of its like.

    >>> unique(["cat", "dog", "cat"])
    (['cat', 'dog'], [0, 1, 0])
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return list(places), [places[text] for text in texts]


def in_batches(lengths: Sequence[int], encode: Callable[[list[int], int], Floats]) -> Floats:
    """Encode rows by ascending length and give the features back in the rows' order; `encode` takes (rows, longest)."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    cuts = batches([lengths[row] for row in order])
    found = np.concatenate([encode(order[start:stop], longest) for start, stop, longest in cuts])
    features = np.empty_like(found)
    features[order] = found
    return features


def batches(lengths: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Cut ascending lengths into batches of at most TOKENS tokens, each with its longest: (start, stop, longest).

    >>> list(batches([5, 5, 16_000, 16_000]))
    [(0, 2, 5), (2, 3, 16000), (3, 4, 16000)]
    """
    start = 0
    for at, length in enumerate(lengths):
        if at > start and (at + 1 - start) * length > TOKENS:
            yield start, at, lengths[at - 1]
            start = at
    yield start, len(lengths), lengths[-1]
