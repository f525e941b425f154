"""Batches of texts: equal texts once, similar lengths together, so that little padding is needed."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from eyechart.models.types import Floats


def token_budget(device: str) -> int:
    """Return the number of tokens per batch for a device.

    >>> token_budget("cpu") < token_budget("cuda:1")
    True
    """
    return 1_024 if device == "cpu" else 65_536


def unique(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return each distinct text once, and for every text the index of its equal.

    >>> unique(["cat", "dog", "cat"])
    (['cat', 'dog'], [0, 1, 0])
    """
    indices = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    return list(indices), [indices[text] for text in texts]


def encode_in_batches(
    lengths: Sequence[int], encode: Callable[[list[int], int], Floats], tokens: int, rows: int | None = None
) -> Floats:
    """Encode rows by ascending length; return features in the original order. `encode` takes (rows, longest).

    >>> def encode(rows, longest):
    ...     print(rows, longest)
    ...     return np.array([[10.0 * row] for row in rows])
    >>> encode_in_batches([3, 1, 2], encode, tokens=4).tolist()
    [1, 2] 2
    [0] 3
    [[0.0], [10.0], [20.0]]
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    cuts = batches([lengths[row] for row in order], tokens, rows)
    encoded = np.concatenate([encode(order[start:stop], longest) for start, stop, longest in cuts])
    features = np.empty_like(encoded)
    features[order] = encoded
    return features


def batches(lengths: Sequence[int], tokens: int, rows: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Yield (start, stop, longest) of batches of ascending lengths with limited tokens and rows.

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
