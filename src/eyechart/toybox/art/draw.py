"""Chance that is the same on every machine: only what Python promises to keep, `random` and `randbytes` of a seed."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
STEPS = 1024


class Draw:
    """Draws for one picture, from a seed and the picture's own name."""

    def __init__(self, *name: object) -> None:
        """Begin the series that belongs to a name."""
        self._random = Random("|".join(map(str, name)))

    def uniform(self, low: float, high: float) -> float:
        """A number on a grid of 1024 steps, so that the last bits of a machine's arithmetic do not matter."""
        return low + (high - low) * self.below(STEPS + 1) / STEPS

    def below(self, stop: int) -> int:
        """A whole number from 0 to stop - 1."""
        return int(self._random.random() * stop)

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self._random.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Different items, in random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(count)]

    def colour(self, low: int = 0, high: int = 255) -> tuple[int, int, int]:
        """A colour with every channel from low to high."""
        red, green, blue = (low + self.below(high - low + 1) for _ in range(3))
        return red, green, blue

    def noise(self, *shape: int) -> NDArray[np.int16]:
        """Whole numbers from -255 to 255, those near 0 more often."""
        size = int(np.prod(shape))
        values = np.frombuffer(self._random.randbytes(2 * size), np.uint8).astype(np.int16).reshape(2, *shape)
        difference: NDArray[np.int16] = values[0] - values[1]
        return difference
