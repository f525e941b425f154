"""Collects parsed text answers image by image and converts them to predictions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets, TextPredictions
from eyechart.models.types import Usage
from eyechart.protocol.context import Context


@dataclass
class AnswerCollector:
    """Collects the answer of each image while responses are parsed; rows without a request stay blank."""

    size: int
    completions: list[str] = field(init=False)
    strict_classes: list[int] = field(init=False)
    classes: list[int] = field(init=False)
    requests: list[int] = field(init=False)
    positions: list[int] = field(init=False)
    errors: dict[int, str] = field(default_factory=dict)
    unparsed: set[int] = field(default_factory=set)
    truncated: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.completions = [""] * self.size
        self.strict_classes, self.classes, self.requests, self.positions = ([-1] * self.size for _ in range(4))

    def set_position(self, row: int, request: int, position: int) -> None:
        """Set the request of an image and its position in it."""
        self.requests[row], self.positions[row] = request, position

    def to_predictions(
        self,
        context: Context,
        usage: Usage,
        variant: Mapping[str, str],
        out: tuple[str, ...] | None = None,
        **more: Any,
    ) -> ClassPredictions:
        """Return the predictions of the collected answers."""
        texts = TextPredictions(
            tuple(self.completions),
            np.array(self.classes, np.int64),
            np.array(self.strict_classes, np.int64),
            np.array(self.requests, np.int64),
            np.array(self.positions, np.int64),
            usage,
            out,
            cost=context.model.cost(usage),
            **more,
        )
        skipped = frozenset(row for row in range(self.size) if self.requests[row] < 0)
        return ClassPredictions(
            context.dataset.keys,
            np.zeros((self.size, 0), np.float32),
            self.errors,
            variant,
            frozenset(self.unparsed),
            skipped,
            texts,
            truncated=frozenset(self.truncated),
            targets=Targets.from_context(context),
        )
