"""The interface of engines: what the runner sends them, and what they return."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.requests.row_requests import BaseRequest, ScoreChoices
from eyechart.inference.requests.text_requests import Generate
from eyechart.models.types import Answer, Floats, Generator, Model, Scorer


@dataclass(frozen=True)
class ImageAnswers:
    """The answers about some images or texts: one row of `values` (n, d) for each index, and errors by index.

    `batch_size` is the size of the batches since memory ran out, 0 before.
    """

    indices: tuple[int, ...] = ()
    values: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    errors: Mapping[int, str] = field(default_factory=dict)
    batch_size: int = 0


class Engine(Protocol):
    """Answers requests that the store has no answers to.

    Answers may come in any order. Images are named by their indices among the selected images of a data set, which the
    engine reads by itself. What an engine returns is validated and stored by the runner.
    """

    def answer_images(
        self, request: BaseRequest, model: Model, dataset: Dataset, indices: Sequence[int]
    ) -> Iterator[ImageAnswers]:
        """Yield the answers about the images at some indices, batch by batch; every index is yielded once."""

    def answer_texts(self, request: BaseRequest, model: Model) -> Floats:
        """Return the answer to a request about texts, of shape (rows, d)."""

    def score_texts(self, request: ScoreChoices, model: Scorer, numbers: Sequence[int]) -> Iterator[ImageAnswers]:
        """Yield the rows of the texts with some numbers, batch by batch; every number is yielded once."""

    def answer_requests(
        self, batch: Generate, model: Generator, dataset: Dataset | None, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Answer]]:
        """Yield the answers to the requests with some numbers; every number is yielded once.

        An error with `retry` is not stored, so that the next run sends the request again.
        """

    def release(self, model: Model) -> None:
        """End what works for a model elsewhere, before the model is closed."""

    def close(self) -> None:
        """End all that works elsewhere, at the end of a session."""


MakeEngine = Callable[[], Engine]  # makes an engine with the first call, and returns the same later
