"""Collects parsed text answers image by image and converts them to predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets
from eyechart.classification.answers.text_predictions import TextPredictions
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
    ranked: dict[int, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.completions = [""] * self.size
        self.strict_classes, self.classes, self.requests, self.positions = ([-1] * self.size for _ in range(4))

    def set_position(self, row: int, request: int, position: int) -> None:
        """Set the request of an image and its position in it."""
        self.requests[row], self.positions[row] = request, position

    def set_ranked(self, row: int, classes: Sequence[int]) -> None:
        """Set the classes that an answer ranks, the best first, -1 for a name that is no class."""
        self.ranked[row], self.classes[row] = classes, classes[0]

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
            ranked=self._ranked_classes() if self.ranked else None,
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

    def _ranked_classes(self) -> NDArray[np.int64]:
        """Return the ranked classes (n, ranks) of all images."""
        ranked = np.full((self.size, max(map(len, self.ranked.values()))), -1, np.int64)
        for row, classes in self.ranked.items():
            ranked[row, : len(classes)] = classes
        return ranked
