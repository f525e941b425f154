"""Shares as cells of tables, with their intervals."""

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.intervals import wilson

from .render import NumberCell

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def proportion_of_counts(hits: int, n: int) -> NumberCell:
    """Return hits / n with its Wilson interval; a cell without a value if n is 0."""
    ci = wilson(hits, n)
    return NumberCell(hits / n, n, (ci.low, ci.high)) if n else NumberCell(None, 0)
