"""Shares as cells of tables, with their intervals."""

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.clusters import clustered_wilson
from eyechart.metrics.intervals import wilson

from .render import NumberCell

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def proportion_of_counts(hits: int, n: int) -> NumberCell:
    """Return hits / n with its Wilson interval; a cell without a value if n is 0."""
    ci = wilson(hits, n)
    return NumberCell(hits / n, n, (ci.low, ci.high)) if n else NumberCell(None, 0)


def clustered_proportion(correct: Floats | Bools, clusters: Ints) -> NumberCell:
    """Return the share of n samples with Wilson's interval over clusters (n,), such as images.

    The cell has no value if there are no samples.
    """
    if not len(correct):
        return NumberCell(None, 0)
    ci = clustered_wilson(correct, clusters)
    return NumberCell(float(np.mean(correct)), len(correct), (ci.low, ci.high))
