"""Agreement between models: correlation matrices over images or classes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_fractions, check_outcomes


def phi_matrix(correct: ArrayLike) -> NDArray[np.float64]:
    """Return the phi coefficient between the correctness of every two models.

    Args:
        correct: (models, n) of 1, 0 and NaN; two models are compared on the images scored for both.

    Returns:
        (models, models), symmetric, in [-1, 1]; NaN where one of the two is constant on the common images.

    Raises:
        ValueError: If an outcome is something else.

    Source: arXiv 2603.06578, Figure 9, right; phi is Matthews' correlation of two binary vectors.

    >>> phi_matrix([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]]).round(3)
    array([[1.   , 0.577,   nan],
           [0.577, 1.   ,   nan],
           [  nan,   nan,   nan]])
    """
    table = check_outcomes("phi_matrix", "correct", correct, ndim=2)
    scored = (~np.isnan(table)).astype(np.float64)
    right = np.nan_to_num(table)
    n, both, mine = scored @ scored.T, right @ right.T, right @ scored.T
    spread = mine * (n - mine)
    return _ratio(n * both - mine * mine.T, spread, spread.T)


def spearman_matrix(recalls: ArrayLike) -> NDArray[np.float64]:
    """Return Spearman's rank correlation between the per-class recalls of every two models.

    Args:
        recalls: (models, classes) fractions, NaN where a class has no image; two models are compared on the classes
            that both have.

    Returns:
        (models, models), symmetric, in [-1, 1]; NaN where one of the two is constant on the common classes.

    Raises:
        ValueError: If a recall is not in [0, 1].

    Source: arXiv 2603.06578, Figure 9, left.

    >>> spearman_matrix([[0.1, 0.5, 0.9], [0.2, 0.3, 0.4], [0.9, 0.8, 0.1]])
    array([[ 1.,  1., -1.],
           [ 1.,  1., -1.],
           [-1., -1.,  1.]])
    """
    table = check_fractions("spearman_matrix", "recalls", recalls, ndim=2)
    models = len(table)
    result = np.empty((models, models))
    for row in range(models):
        for column in range(row, models):
            result[row, column] = result[column, row] = _spearman(table[row], table[column])
    return result


def _spearman(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    from scipy.stats import rankdata  # half a second that few runs need

    common = ~np.isnan(a) & ~np.isnan(b)
    # Twice the ranks are whole numbers, so that constant vectors have a spread of exactly 0.
    x, y = (2 * rankdata(values[common]) - (common.sum() + 1) for values in (a, b))
    return float(_ratio(x @ y, x @ x, y @ y))


def _ratio(covariance: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    product = np.sqrt(a) * np.sqrt(b)
    result: NDArray[np.float64] = np.divide(
        covariance, product, out=np.full(np.shape(product), np.nan), where=product > 0
    )
    return result.clip(-1, 1)
