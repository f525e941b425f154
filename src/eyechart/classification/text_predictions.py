"""Answers in words as a case sees them: what was said about each image, and what was made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.models.types import Usage

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Spoken:
    """Words by image, in the order of the data set.

    `found` (n,) is the class that was made of them, -1 for none, and `strict` (n,) that of the strict reading; `out` is
    the kind of an answer that is out of the prompt, "" for one that is in it, and None as a whole where there is no
    list; `mapped` says whether those were given a class afterwards; `requests` and `places` (n,) tell where an image
    was shown, -1 where it was not; `details` are further columns. `cost` is in USD, None where nobody knows it.
    """

    said: tuple[str, ...]
    found: Ints
    strict: Ints
    requests: Ints
    places: Ints
    usage: Usage
    out: tuple[str, ...] | None = None
    mapped: bool = False
    details: Mapping[str, Sequence[str]] | None = None
    cost: float | None = None

    @property
    def asked(self) -> int:
        """How many requests there were."""
        return int(self.requests.max(initial=-1)) + 1

    def columns(self) -> dict[str, Sequence[str]]:
        """The columns of the case's csv."""
        blank = ("",) * len(self.said)
        return {
            "said": self.said,
            "strict": [str(place) if place >= 0 else "" for place in self.strict.tolist()],
            "oop": self.out or blank,
            "request": [str(place) if place >= 0 else "" for place in self.requests.tolist()],
            "place": [str(place + 1) if place >= 0 else "" for place in self.places.tolist()],
            **(self.details or {}),
        }
