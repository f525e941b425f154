"""Whether two models whose logits differ by rounding are equal: no answer can have changed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from eyechart.statistics._checks import require


class LogitChange(NamedTuple):
    """The largest change of a logit, and the smallest top-1 margin before: the largest logit minus the second one."""

    largest: float
    margin: float

    @property
    def is_equal(self) -> bool:
        """Whether no answer can have changed: no logit moved by half of the smallest top-1 margin, or none moved."""
        return self.largest == 0 or 2 * self.largest < self.margin


def logit_change(before: ArrayLike, after: ArrayLike) -> LogitChange:
    """Return how much the logits of a model moved, beside the margins of its answers.

    Args:
        before: (n, k) logits of the original, at least one row and two columns, or scores that rank the classes. A
            class that was no candidate has -inf, and a sample without an answer NaN.
        after: (n, k) logits of the other model for the same samples.

    Returns:
        LogitChange(largest, margin). `largest` is infinite if a number is finite on one side alone, or none is.

    Raises:
        ValueError: If a shape is wrong.

    Source: a sum of two changes below m / 2 each is below m, so that the largest logit of a row stays the largest one.

    >>> change = logit_change([[3.0, 1.0], [0.5, 1.0]], [[3.1, 1.0], [0.5, 0.9]])
    >>> round(change.largest, 6), change.margin, change.is_equal
    (0.1, 0.5, True)
    """
    first, second = np.asarray(before, np.float64), np.asarray(after, np.float64)
    fits = first.ndim == 2 and first.shape[0] >= 1 and first.shape[1] >= 2
    require(fits, "logit_change", "before", "a matrix of at least one row and two columns", first)
    require(second.shape == first.shape, "logit_change", "after", f"of the shape {first.shape}", second)
    known = np.isfinite(first)
    if not known.any() or not np.array_equal(known, np.isfinite(second)):
        return LogitChange(float("inf"), float("nan"))
    rows = known.any(axis=1)
    top = np.partition(np.where(known, first, -np.inf)[rows], -2, axis=1)[:, -2:]
    return LogitChange(float(np.abs(second[known] - first[known]).max()), float((top[:, 1] - top[:, 0]).min()))
