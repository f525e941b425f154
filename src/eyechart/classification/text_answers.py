"""Answers in words, collected image by image while responses are read, and made into predictions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eyechart.classification.scoring import Predictions
from eyechart.classification.text_predictions import Spoken
from eyechart.models.types import Usage
from eyechart.protocol.context import Sitting, cost


@dataclass
class Notes:
    """What is learnt of each image while replies are read; rows that stay blank were not asked about."""

    size: int
    said: list[str] = field(init=False)
    strict: list[int] = field(init=False)
    found: list[int] = field(init=False)
    requests: list[int] = field(init=False)
    places: list[int] = field(init=False)
    errors: dict[int, str] = field(default_factory=dict)
    unparsed: set[int] = field(default_factory=set)
    truncated: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.said = [""] * self.size
        self.strict, self.found, self.requests, self.places = ([-1] * self.size for _ in range(4))

    def show(self, row: int, request: int, place: int) -> None:
        """Note where an image was shown."""
        self.requests[row], self.places[row] = request, place

    def predictions(
        self,
        sitting: Sitting,
        usage: Usage,
        variant: Mapping[str, str],
        out: tuple[str, ...] | None = None,
        **more: Any,
    ) -> Predictions:
        """Put it together."""
        spoken = Spoken(
            tuple(self.said),
            np.array(self.found, np.int64),
            np.array(self.strict, np.int64),
            np.array(self.requests, np.int64),
            np.array(self.places, np.int64),
            usage,
            out,
            cost=cost(sitting.model, usage),
            **more,
        )
        unasked = frozenset(row for row in range(self.size) if self.requests[row] < 0)
        return Predictions(
            sitting.dataset.keys,
            np.zeros((self.size, 0), np.float32),
            self.errors,
            variant,
            frozenset(self.unparsed),
            unasked,
            spoken,
            truncated=frozenset(self.truncated),
        )
