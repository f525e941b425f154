"""Classification by the nearest images of a support split, in the space of an image encoder."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import DataError
from eyechart.models.types import Floats
from eyechart.protocols.zero_shot import unit

Weights = Literal["uniform", "cosine"]
_CELLS = 2**25  # similarities held at a time, so that 50,000 queries against 1.3 million supports fit in memory


def knn_scores(
    queries: Floats, support: Floats, labels: NDArray[np.int64], classes: int, k: int = 11, weights: str = "uniform"
) -> Floats:
    """Return each class's votes among the k nearest supports by cosine, of shape (n, classes).

    `queries` has shape (n, d), `support` (m, d) and `labels` (m,), classes from 0. `uniform` counts votes, and less
    than one vote decides between equal counts: the class whose voters are more similar, then the first. `cosine` adds
    similarities up instead. A class without a vote has -inf: it is no answer, whatever its rank. Of equally near
    supports the first ones vote; with m < k all do.

    Raises DataError for labels outside 0..classes-1, a support of another length, an empty support; ValueError for
    k < 1 or unknown weights.

    Source: k = 11 by cosine is the k-NN row for DINOv3 in arXiv 2603.06578; weighting by similarity follows Wu et al.
    2018, "Unsupervised Feature Learning via Non-Parametric Instance Discrimination", section 3.4, without temperature.

    >>> support = np.array([[1, 0], [0.9, 0.1], [0, 1]], np.float32)
    >>> votes = knn_scores(np.array([[1, 0]], np.float32), support, np.array([2, 0, 1]), classes=3, k=3)
    >>> votes.round().tolist(), votes.argmax()
    ([[1.0, 1.0, 1.0]], np.int64(2))
    """
    _check(support, labels, classes, k, weights)
    targets, rows = unit(support).T, max(1, _CELLS // len(support))
    found = np.zeros((len(queries), classes), np.float32)
    for start in range(0, len(queries), rows):
        near = unit(queries[start : start + rows]) @ targets
        found[start : start + rows] = _votes(near, labels, classes, min(k, len(labels)), weights)
    return found


def _check(support: Floats, labels: NDArray[np.int64], classes: int, k: int, weights: str) -> None:
    if k < 1 or weights not in get_args(Weights):
        raise ValueError(f"k-NN needs k of at least 1 and weights uniform or cosine; got k={k}, weights={weights}.")
    if not len(support) or len(support) != len(labels):
        raise DataError(
            f"The support split gives {len(support)} features and {len(labels)} labels; use labelled images."
        )
    if labels.min() < 0 or labels.max() >= classes:
        raise DataError(f"The support split has labels {labels.min()} to {labels.max()}, expected 0 to {classes - 1}.")


def _votes(near: Floats, labels: NDArray[np.int64], classes: int, k: int, weights: str) -> Floats:
    chosen = _nearest(near, k)
    similar = np.take_along_axis(near, chosen, axis=1).astype(np.float64)
    # the second term decides ties only: cosines lie in -1..1, so k of these add up to less than half a vote
    gained = similar if weights == "cosine" else 1 + (similar + 1) / (4 * k + 2)
    found, voters = np.zeros((len(near), classes)), np.zeros((len(near), classes), bool)
    at = (np.arange(len(near))[:, None], labels[chosen])
    np.add.at(found, at, gained)
    voters[at] = True
    return np.where(voters, found, -np.inf).astype(np.float32)


def _nearest(near: Floats, k: int) -> NDArray[np.int64]:
    least = np.partition(near, -k, axis=1)[:, -k, None]
    nearer, equal = near > least, near == least
    chosen = nearer | (equal & (equal.cumsum(axis=1) <= k - nearer.sum(axis=1, keepdims=True)))
    return np.nonzero(chosen)[1].reshape(len(near), k)
