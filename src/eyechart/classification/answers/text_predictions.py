"""Text answers about images, and what was read in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.models.types import Usage

Ints = NDArray[np.int64]
Float64s = NDArray[np.float64]


@dataclass(frozen=True)
class TextPredictions:
    """Text answers by image, in the order of the data set.

    `classes` (n,) are read by the chosen parser (option `parser`), `strict_classes` (n,) by the strict one, -1 for
    none. `out_of_prompt` has the kind of each answer that is not in the list, "" for others; it is None if the prompt
    has no list. `is_mapped`: these answers were mapped to classes later. `requests` and `positions` (n,) are the
    request of each image and its position there, -1 if it is in none. `details` are further columns.
    `ranked` (n, ranks) are the classes of answers that rank several names, -1 for a name that is no class.
    `log_probabilities` (n,) are those of whole responses, NaN for an error, None if there are none; `cost` is USD.
    """

    completions: tuple[str, ...]
    classes: Ints
    strict_classes: Ints
    requests: Ints
    positions: Ints
    usage: Usage
    out_of_prompt: tuple[str, ...] | None = None
    is_mapped: bool = False
    details: Mapping[str, Sequence[str]] | None = None
    log_probabilities: Float64s | None = None
    cost: float | None = None
    ranked: Ints | None = None

    @property
    def n_requests(self) -> int:
        """The number of requests."""
        return int(self.requests.max(initial=-1)) + 1

    def columns(self) -> dict[str, Sequence[str]]:
        """Return the text columns of the sample table."""
        scores = () if self.log_probabilities is None else self.log_probabilities.tolist()
        likely = ["" if np.isnan(score) else f"{score:.6g}" for score in scores]
        return {
            "response": self.completions,
            "strict_top1": [str(index) if index >= 0 else "" for index in self.strict_classes.tolist()],
            "out_of_prompt": self.out_of_prompt or ("",) * len(self.completions),
            "request": [str(index) if index >= 0 else "" for index in self.requests.tolist()],
            "position": [str(index + 1) if index >= 0 else "" for index in self.positions.tolist()],
            **(self.details or {}),
            **({} if self.log_probabilities is None else {"log_probability": likely}),
        }
