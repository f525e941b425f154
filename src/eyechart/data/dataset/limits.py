"""Limits: how many images of a split are used, such as 2000, or 10/class for so many of each class."""

import re
from collections.abc import Iterator
from itertools import islice
from random import Random

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import SpecError

Limit = int | str | None  # a number of images, "10/class", or None for all
FORM = re.compile(r"([1-9][0-9]*)(/class)?")


def parse_limit(text: str) -> Limit:
    """Return a limit. Raises SpecError for another text.

    >>> parse_limit("2000"), parse_limit("10/class")
    (2000, '10/class')
    """
    match = FORM.fullmatch(text)
    if match is None:
        raise SpecError(
            "must be a whole number from 1 up, or such a number of images of each class, as in 10/class. "
            f"Got {text!r} instead."
        )
    return text if match[2] else int(text)


def describe_limit(limit: Limit) -> str:
    """Return a limit for a reader.

    >>> describe_limit(2000), describe_limit("10/class")
    ('2,000', '10 of each class')
    """
    return f"{limit:,}" if isinstance(limit, int) else str(limit).replace("/", " of each ")


def draw_rows(limit: int | str, size: int, seed: str, classes: NDArray[np.int64] | None = None) -> list[int]:
    """Return the rows of a random sample of a split, ascending; a larger limit includes the rows of a smaller one.

    `classes` (size,) are needed for a limit by class.

    >>> draw_rows("1/class", 4, "seed", np.array([7, 7, 8, 8]))
    [1, 3]
    """
    order = _draw_order(size, Random(seed))
    if isinstance(limit, int) or classes is None:
        return sorted(islice(order, int(limit)))
    most, counts, chosen = int(limit.partition("/")[0]), dict[int, int](), []
    for row in order:
        name = int(classes[row])
        counts[name] = counts.get(name, 0) + 1
        if counts[name] <= most:
            chosen.append(row)
    return sorted(chosen)


def _draw_order(size: int, chance: Random) -> Iterator[int]:
    """Yield all rows of a split in a random order; a few of them take no more time in a large split."""
    drawn: set[int] = set()
    while len(drawn) < size // 2:
        row = chance.randrange(size)
        if row not in drawn:
            drawn.add(row)
            yield row
    rest = [row for row in range(size) if row not in drawn]
    chance.shuffle(rest)
    yield from rest
