"""What a model answered about each image: texts with the classes that were read in them, or the best classes by score.

The best classes are all that accuracy needs of scores over many classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.models.replay.answer_file import as_floats
from eyechart.models.types import Usage
from eyechart.statistics.accuracy import top_k

TOP = 5
ROWS = 2048  # whose scores are copied at a time
SINGLE: np.dtype[np.floating] = np.dtype(np.float32)
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


@dataclass(frozen=True)
class BestClasses:
    """The five best classes of each image (n, 5), best first, -1 for none, and their scores.

    A row of scores is NaN where there is no answer, and -inf for each class that is none.
    """

    classes: NDArray[np.int64]
    scores: NDArray[np.floating]

    @classmethod
    def of_scores(cls, scores: NDArray[np.floating]) -> "BestClasses":
        """Return the best classes of scores (n, classes); one with -inf is none, and a row of NaN is no answer."""
        best = cls.fill(len(scores), as_floats(scores[:0]).dtype)
        for start in range(0, len(scores), ROWS):
            block = as_floats(scores[start : start + ROWS])
            classes = top_k(block, min(TOP, block.shape[1]))
            values = np.take_along_axis(block, np.maximum(classes, 0), axis=1)
            ended = start + len(block)
            best.scores[start:ended, : classes.shape[1]] = values
            best.classes[start:ended, : classes.shape[1]] = np.where(np.isneginf(values), -1, classes)
        return best

    @classmethod
    def of_ranked(cls, ranked: NDArray[np.int64]) -> "BestClasses":
        """Return the first five classes of ranked answers (n, ranks), without -1 and repeated ones.

        The score of a class is the number of answers from its rank on, so that the first one has the highest.
        """
        best, counts, ranks = cls.fill(len(ranked)), np.zeros(len(ranked), np.int64), ranked.shape[1]
        for rank, classes in enumerate(ranked.T):
            new = np.flatnonzero((classes >= 0) & (counts < TOP) & (best.classes != classes[:, None]).all(axis=1))
            best.classes[new, counts[new]] = classes[new]
            best.scores[new, counts[new]] = ranks - rank
            counts[new] += 1
        return best

    @classmethod
    def fill(cls, count: int, dtype: np.dtype[np.floating] = SINGLE) -> "BestClasses":
        """Return a number of rows without classes."""
        return cls(np.full((count, TOP), -1, np.int64), np.full((count, TOP), -np.inf, dtype))

    def select(self, rows: NDArray[np.int64]) -> "BestClasses":
        """Return some rows; -1 is a row without an answer."""
        selected, known = self.fill(len(rows), self.scores.dtype), rows >= 0
        selected.scores[~known] = np.nan
        selected.classes[known], selected.scores[known] = self.classes[rows[known]], self.scores[rows[known]]
        return selected
