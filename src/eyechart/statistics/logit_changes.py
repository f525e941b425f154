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
        """Whether no answer can have changed: every logit moved less than half of the smallest top-1 margin."""
        return 2 * self.largest < self.margin


def logit_change(before: ArrayLike, after: ArrayLike) -> LogitChange:
    """Return how much the logits of a model moved, beside the margins of its answers.

    Args:
        before: (n, k) logits of the original, at least one row and two columns. Logarithms of probabilities serve, too.
        after: (n, k) logits of the other model for the same samples.

    Returns:
        LogitChange(largest, margin). A row that is not finite on either side makes `largest` infinite.

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
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return LogitChange(float("inf"), float("nan"))
    top = np.partition(first, -2, axis=1)[:, -2:]
    return LogitChange(float(np.abs(second - first).max()), float((top[:, 1] - top[:, 0]).min()))
