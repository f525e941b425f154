"""The denominator of the softmax of each image, from which its probabilities follow."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import require

_ROWS = 64  # rows converted to float64 together: as many as stay in a processor's cache


class SoftmaxSums(NamedTuple):
    """The largest logit of each image (n,), and the sum (n,) of exp(logit - largest) over its classes."""

    largest: NDArray[np.float64]
    total: NDArray[np.float64]

    @property
    def top(self) -> NDArray[np.float64]:
        """The probability of the best class of each image (n,), NaN where the total is.

        >>> SoftmaxSums(np.array([3.0]), np.array([2.0])).top
        array([0.5])
        """
        return 1 / self.total


def softmax_sums(logits: ArrayLike) -> SoftmaxSums:
    """Return the largest logit of each image and the sum of the exponentials relative to it.

    A class of logit x has the probability exp(x - largest) / total, so that the largest one has 1 / total. A logit of
    inf has the probability 1, shared among those of inf.

    Args:
        logits: (n, classes), -inf for a class that is ruled out.

    Returns:
        SoftmaxSums of (n,) float64; the total is NaN for an image with a NaN logit, or with every class ruled out.

    Raises:
        ValueError: If there is no table.

    Source: own definition: the denominator of the softmax, relative to the largest term so that it cannot overflow.

    >>> softmax_sums([[3.0, 3.0, -np.inf], [1000.0, 0.0, 0.0], [np.nan] * 3]).total
    array([ 2.,  1., nan])
    """
    table = np.asarray(logits)
    require(table.ndim == 2, "softmax_sums", "logits", "an array of 2 dimensions", table)
    largest, total = np.empty(len(table)), np.empty(len(table))
    for start in range(0, len(table), _ROWS):
        rows = slice(start, start + _ROWS)
        block = np.ascontiguousarray(table[rows], np.float64)  # the memory layout would change the order of sums
        largest[rows] = best = block.max(axis=1, initial=-np.inf)
        with np.errstate(invalid="ignore"):  # inf - inf, which the next line corrects
            below = block - best[:, None]
        if not np.isfinite(best).all():
            below[block == best[:, None]] = 0
        total[rows] = np.where(np.isneginf(best), np.nan, np.exp(below, out=below).sum(axis=1))
    return SoftmaxSums(largest, total)
