"""Answers in words, collected image by image while responses are read, and made into predictions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eyechart.classification.predictions import ClassPredictions, Targets, TextPredictions
from eyechart.models.types import Usage
from eyechart.protocol.context import Context


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
        context: Context,
        usage: Usage,
        variant: Mapping[str, str],
        out: tuple[str, ...] | None = None,
        **more: Any,
    ) -> ClassPredictions:
        """Put it together."""
        spoken = TextPredictions(
            tuple(self.said),
            np.array(self.found, np.int64),
            np.array(self.strict, np.int64),
            np.array(self.requests, np.int64),
            np.array(self.places, np.int64),
            usage,
            out,
            cost=context.model.cost(usage),
            **more,
        )
        unasked = frozenset(row for row in range(self.size) if self.requests[row] < 0)
        return ClassPredictions(
            context.dataset.keys,
            np.zeros((self.size, 0), np.float32),
            self.errors,
            variant,
            frozenset(self.unparsed),
            unasked,
            spoken,
            truncated=frozenset(self.truncated),
            targets=Targets.of(context),
        )
