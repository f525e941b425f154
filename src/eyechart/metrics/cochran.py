"""Whether several ways to ask get the same share of answers from the same images."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from eyechart.metrics._checks import demand, outcome_array


class Cochran(NamedTuple):
    """The statistic, its degrees of freedom, how likely one as great is by chance, and of how many images."""

    q: float
    df: int
    p: float
    n: int


def cochran_q(outcomes: ArrayLike) -> Cochran:
    """Cochran's Q: whether the shares of 1 differ over wordings that were put to the same images.

    Limits: p is that of the chi-squared distribution, which holds for many images whose outcomes are not all alike;
    those that are say nothing and change nothing. Of two wordings this is McNemar's test without its correction.

    Args: `outcomes` (n, k), a row an image and a column a wording, booleans, or 1, 0 and NaN; an image that has NaN is
    left out.
    Returns: Cochran(q, df = k - 1, p, n); q 0 and p 1 where every image has the same outcome under all wordings; NaN
    without images.
    Raises: ValueError where there are fewer than two wordings or an outcome is something else.
    Source: W. G. Cochran, Biometrika 37 (1950) 256-266.

    >>> found = cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 0]])
    >>> round(found.q, 3), found.df, round(found.p, 3), found.n
    (4.5, 2, 0.105, 5)
    """
    table = outcome_array("cochran_q", "outcomes", outcomes, ndim=2)
    demand(table.shape[1] >= 2, "cochran_q", "outcomes", "of shape (n, k) with k at least 2", table)
    table = table[~np.isnan(table).any(axis=1)]
    n, k = table.shape
    if not n:
        return Cochran(float("nan"), k - 1, float("nan"), 0)
    wordings, images = table.sum(axis=0), table.sum(axis=1)
    spread = float((images * (k - images)).sum())
    q = (k - 1) * float(k * (wordings**2).sum() - wordings.sum() ** 2) / spread if spread else 0.0
    return Cochran(q, k - 1, float(chdtrc(k - 1, q)), n)
