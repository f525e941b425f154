"""What a model answered about each image: texts with the classes that were read in them, or the best classes by score.

The best classes are all that accuracy needs of scores over many classes. The cells of sample tables are made of both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.models.replay.answer_file import as_floats
from eyechart.models.types import Usage
from eyechart.statistics.accuracy import top_k

TOP = 5
UNRANKED = -2  # behind the last name of an answer that ranks several
ROWS = 2048  # whose scores are copied at a time
IMAGES = 4096  # whose cells are made at once: a text takes ten times the memory of the number that it shows
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
    `ranked` (n, ranks) are the classes of answers that rank several names, -1 for a name that is no class, UNRANKED
    behind the last name.
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
    def ranks(self) -> Ints | None:
        """The number of names that each answer ranks (n,), at most five; None for answers of one name."""
        return None if self.ranked is None else np.minimum((self.ranked > UNRANKED).sum(axis=1), TOP)

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
            "strict_top1": [*format_classes(self.strict_classes)],
            "out_of_prompt": self.out_of_prompt or ("",) * len(self.completions),
            "request": [*format_classes(self.requests)],
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


def format_outcomes(correct: NDArray[np.float64]) -> Iterator[str]:
    """Return outcomes (n,) as text, "" for NaN.

    >>> [*format_outcomes(np.array([1.0, 0.0, np.nan]))]
    ['1', '0', '']
    """
    texts = np.array(["0", "1", ""], object)

    def cells(part: NDArray[np.float64]) -> list[str]:
        return texts[np.where(np.isnan(part), 2, part).astype(np.int64)].tolist()  # type: ignore[no-any-return]

    return _by_parts(cells, correct)


def format_scores(scores: NDArray[np.floating], classes: Ints) -> Iterator[str]:
    """Return scores (n,) with 6 digits, "" where the class (n,) is -1.

    >>> [*format_scores(np.array([0.5, 1e-9]), np.array([3, -1]))]
    ['0.5', '']
    """

    def cells(part: NDArray[np.floating], indices: Ints) -> list[str]:
        pairs = zip(part.tolist(), indices.tolist(), strict=True)
        return [f"{score:.6g}" if index >= 0 else "" for score, index in pairs]

    return _by_parts(cells, scores, classes)


def format_classes(classes: Ints, text: Callable[[int], str] = str) -> Iterator[str]:
    """Return classes (n,) as text, "" for -1.

    >>> [*format_classes(np.array([3, -1]))]
    ['3', '']
    """
    cell = _class_cell(text)
    return _by_parts(lambda part: map(cell, part.tolist()), classes)


def join_texts(labels: Ints, text: Callable[[int], str], separator: str) -> Iterator[str]:
    """Return the texts of each image's labels (n, L), padded with -1, as one text.

    >>> [*join_texts(np.array([[1, 2], [3, -1], [-1, -1]]), str, ";")]
    ['1;2', '3', '']
    """
    cell = _class_cell(text)

    def cells(part: Ints) -> list[str]:
        joined = [*map(cell, part[:, 0].tolist())] if part.shape[1] else [""] * len(part)
        for row in np.flatnonzero((part[:, 1:] >= 0).any(axis=1)).tolist():  # most images have one label
            joined[row] = separator.join(map(cell, part[row, part[row] >= 0].tolist()))
        return joined

    return _by_parts(cells, labels)


def _class_cell(text: Callable[[int], str]) -> Callable[[int], str]:
    """Return a function that gives the text of a class, "" for -1; images are many, and classes are few."""
    return cache(lambda index: text(index) if index >= 0 else "")


def _by_parts(cells: Callable[..., Any], *arrays: NDArray[Any]) -> Iterator[str]:
    """Return the cells of all rows, made part by part; a generator's `yield` of each takes as long as the cell."""
    starts = range(0, len(arrays[0]), IMAGES)
    return chain.from_iterable(cells(*(array[start : start + IMAGES] for array in arrays)) for start in starts)
