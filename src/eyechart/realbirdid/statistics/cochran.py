"""Cochran's Q: whether several prompts give the same share of answers on the same images."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from eyechart.statistics._checks import check_integers, check_length, check_outcomes, require


class Cochran(NamedTuple):
    """Cochran's Q, its degrees of freedom, the p-value and the number of images."""

    q: float
    df: int
    p: float
    n: int


def cochran_q(outcomes: ArrayLike, clusters: ArrayLike | None = None) -> Cochran:
    """Test with Cochran's Q whether the shares of 1 differ between prompts that were used on the same images.

    Limits: p comes from the chi-squared distribution, which holds for many images whose outcomes are not all alike;
    images with outcomes that are all alike do not change it. Of two wordings this is McNemar's test without its
    correction.

    Args:
        outcomes: (n, k), a row an image and a column a wording, booleans, or 1, 0 and NaN; an image that has NaN is
            left out.
        clusters: (n,), the cluster of each image, such as its observation: Q is divided by the design effect, so that
            images of one cluster count as what they say.

    Returns:
        Cochran(q, df = k - 1, p, n); q 0 and p 1 where every image has the same outcome under all wordings; NaN without
        images.

    Raises:
        ValueError: If there are fewer than two wordings or an outcome is something else.

    Source: W. G. Cochran, Biometrika 37 (1950) 256-266; J. N. K. Rao and A. J. Scott, Journal of the American
    Statistical Association 76 (1981) 221-230, the first-order correction, with the mean design effect of the contrasts.

    >>> found = cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 0]])
    >>> round(found.q, 3), found.df, round(found.p, 3), found.n
    (4.5, 2, 0.105, 5)
    """
    table = check_outcomes("cochran_q", "outcomes", outcomes, ndim=2)
    require(table.shape[1] >= 2, "cochran_q", "outcomes", "of shape (n, k) with k at least 2", table)
    unit = (
        np.arange(len(table))
        if clusters is None
        else check_integers("cochran_q", "clusters", clusters, ndim=1, least=0)
    )
    check_length("cochran_q", "clusters", unit, len(table))
    kept = ~np.isnan(table).any(axis=1)
    table, unit = table[kept], unit[kept]
    n, k = table.shape
    if not n:
        return Cochran(float("nan"), k - 1, float("nan"), 0)
    wordings, images = table.sum(axis=0), table.sum(axis=1)
    spread = float((images * (k - images)).sum())
    q = (k - 1) * float(k * (wordings**2).sum() - wordings.sum() ** 2) / spread if spread else 0.0
    if spread:
        q /= max(1.0, _design_effect(table - table.mean(axis=1, keepdims=True), unit))
    return Cochran(q, k - 1, float(chdtrc(k - 1, q)), n)


def _design_effect(apart: NDArray[np.float64], unit: NDArray[np.int64]) -> float:
    """Return the variance of column sums over clusters divided by that over rows; 1 without clusters."""
    _, index = np.unique(unit, return_inverse=True)
    if len(index) == index.max() + 1:
        return 1.0
    sums = np.zeros((int(index.max()) + 1, apart.shape[1]))
    np.add.at(sums, index, apart)
    return float((sums**2).sum() / (apart**2).sum())
