"""Proper scores of predicted probabilities, and the test of their change.

A proper score is best in expectation for the true probabilities. It changes in every image, so that it shows a damaged
model with fewer images than accuracy does.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from eyechart.statistics._checks import check_integers, check_length, require
from eyechart.statistics.joint_tests import sign_flip_max_t
from eyechart.statistics.least_probability import LEAST
from eyechart.statistics.softmax import SoftmaxSums, softmax_sums

Floats = NDArray[np.float64]
_ROUNDING = 1e-3  # a sum of float32 may be above 1 by so much
_FEW = 1000  # so many units are tested with drawn signs
_SMALL = 0.01  # a p-value below it is computed from the normal limit, since few of the drawn signs reach it


def log_scores(logits: ArrayLike, labels: ArrayLike, sums: SoftmaxSums | None = None) -> Floats:
    """Return the log score of each image: the natural logarithm of the probability of its set of labels.

    The probabilities are the softmax of the logits. The probability of several labels is the sum of theirs, and one
    below 1e-6 counts as 1e-6.

    Args:
        logits: (n, classes), -inf for a class that is ruled out.
        labels: (n, L) integers in [0, classes), padded with -1.
        sums: The `softmax.softmax_sums` of the logits where they are known.

    Returns:
        (n,) at most 0 and at least log(1e-6), in nats; NaN for an image without a label, with a NaN logit, or with
        every class ruled out.

    Raises:
        ValueError: If the lengths differ or a label is no class.

    Source: I. J. Good, Journal of the Royal Statistical Society B 14 (1952) 107-114.

    >>> log_scores([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]], [[0, -1], [0, 1], [-1, -1]]).round(3).tolist()
    [-0.693, 0.0, nan]
    """
    scores = np.asarray(logits)
    require(scores.ndim == 2, "log_scores", "logits", "an array of 2 dimensions", scores)
    label = check_integers("log_scores", "labels", labels, ndim=2, below=scores.shape[1])
    check_length("log_scores", "labels", label, len(scores))
    largest, total = softmax_sums(scores) if sums is None else sums
    if not label.shape[1]:
        return np.full(len(scores), np.nan)
    chosen = np.take_along_axis(scores, np.maximum(label, 0), axis=1).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):  # a score of -inf is clipped, an undefined one is NaN
        masses = np.where(label >= 0, np.exp(chosen - largest[:, None]), 0).sum(axis=1)
        values = np.clip(np.log(masses / total), np.log(LEAST), 0.0)
    return np.where((label >= 0).any(axis=1), values, np.nan)


def log_scores_of_probabilities(probabilities: ArrayLike) -> Floats:
    """Return the log score of each image, the natural logarithm of the probability of its right answer.

    A probability below 1e-6 counts as 1e-6, and one above 1 by rounding as 1.

    Args:
        probabilities: (n,) from 0 to 1, NaN for an image that does not count.

    Returns:
        (n,) at most 0 and at least log(1e-6), in nats; NaN stays NaN.

    Raises:
        ValueError: If a probability is below 0 or above 1 by more than 1e-3, or there is no vector.

    Source: I. J. Good, Journal of the Royal Statistical Society B 14 (1952) 107-114.

    >>> log_scores_of_probabilities([1.0, 0.5, 0.0]).round(3).tolist()
    [0.0, -0.693, -13.816]
    """
    p = np.asarray(probabilities, np.float64)
    require(p.ndim == 1, "log_scores_of_probabilities", "probabilities", "an array of 1 dimension", p)
    wrong = p[(p < 0) | (p > 1 + _ROUNDING)]
    require(not wrong.size, "log_scores_of_probabilities", "probabilities", "from 0 to 1", wrong.max(initial=-np.inf))
    return np.asarray(np.log(np.clip(p, LEAST, 1.0)), np.float64)


def brier_scores(scores: ArrayLike) -> Floats:
    """Return the Brier score of each image's set of labels, (1 - p)², from its log score.

    Args:
        scores: (n,) from `log_scores`, NaN for an image that does not count.

    Returns:
        (n,) in [0, 1], 0 for a certain and correct prediction; NaN stays NaN.

    Raises:
        ValueError: If a score is above 0 or there is no vector.

    Source: G. W. Brier, Monthly Weather Review 78 (1950) 1-3, for the two outcomes "in the set" and "not in it".

    >>> brier_scores([0.0, np.log(0.5)]).tolist()
    [0.0, 0.25]
    """
    values = np.asarray(scores, np.float64)
    require(values.ndim == 1, "brier_scores", "scores", "an array of 1 dimension", values)
    require(not (values > 0).any(), "brier_scores", "scores", "at most 0", values.max(initial=0))
    return np.asarray((1 - np.exp(values)) ** 2, np.float64)


def sign_flip_mean_p(changes: ArrayLike) -> float:
    """Test the mean of paired changes by random signs of the units.

    Up to 1,000 units the signs are drawn (all of them up to 13 units), unless p is then below 0.01. In every other case
    p comes from their normal limit.

    Args:
        changes: (c,) finite, after minus before of each unit, in any scale.

    Returns:
        The two-sided p-value, 1 where nothing changed.

    Raises:
        ValueError: If a change is not finite.

    Source: R. A. Fisher, The Design of Experiments (1935), Section 21.

    >>> sign_flip_mean_p([-0.3, -0.2, -0.1]), round(sign_flip_mean_p([-0.1] * 30), 9)
    (0.25, 4.3e-08)
    """
    change = np.asarray(changes, np.float64)
    require(change.ndim == 1 and bool(np.isfinite(change).all()), "sign_flip_mean_p", "changes", "finite", changes)
    moved = change[change != 0]
    if not len(moved):
        return 1.0
    limit = float(2 * ndtr(-abs(moved.sum()) / np.sqrt((moved**2).sum())))
    if len(moved) > _FEW:
        return limit
    drawn = float(sign_flip_max_t(np.zeros(len(moved), np.int64), np.arange(len(moved)), moved, 1)[0])
    return drawn if drawn >= _SMALL or len(moved) <= 13 else limit
