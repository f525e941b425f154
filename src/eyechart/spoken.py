"""Answers in words as a case sees them: what was said about each image, and what was made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.models.interfaces import Usage

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Spoken:
    """Words by image, in the order of the data set.

    `strict` (n,) is the class under the strict reading, -1 for none; `out` the kind of an answer that is out of the
    prompt, "" for one that is in it, and None as a whole where the protocol has no list; `mapped` says which of the
    answers out of the prompt were given a class afterwards; `requests` and `places` (n,) tell where an image was shown,
    -1 where it was not.
    """

    said: tuple[str, ...]
    strict: Ints
    requests: Ints
    places: Ints
    usage: Usage
    out: tuple[str, ...] | None = None
    mapped: bool = False
    details: Mapping[str, Sequence[str]] | None = None

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
