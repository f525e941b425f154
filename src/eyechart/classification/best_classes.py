"""The best classes of images: all that accuracy needs of scores over many classes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.models.replay.answer_file import as_floats
from eyechart.statistics.accuracy import top_k

TOP = 5
ROWS = 2048  # whose scores are copied at a time
SINGLE: np.dtype[np.floating] = np.dtype(np.float32)


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
