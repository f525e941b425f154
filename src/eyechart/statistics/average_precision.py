"""Average precision of the scores of each class, for images with several labels, and its mean over classes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import require
from eyechart.statistics._sweeps import Samples, check_vector, count_blocks, run_ends
from eyechart.statistics.draws_cache import cached_array

Floats = NDArray[np.float64]


def average_precision(scores: ArrayLike, relevant: ArrayLike) -> float:
    """Return the average precision of a class: the mean, over its images, of the precision at the score of each.

    Images with one score are taken together, so that their order does not matter.

    Args:
        scores: (n,), NaN for an image that does not count.
        relevant: (n,), true for an image of the class.

    Returns:
        A fraction; NaN where no image of the class counts.

    Raises:
        ValueError: If there are no vectors of one length.

    Source: scikit-learn's average_precision_score; without ties, CLIP_benchmark's average_precision_per_class.

    >>> average_precision([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])
    0.8333333333333333
    >>> average_precision([0.5, 0.5], [1, 0])
    0.5
    """
    score = check_vector("average_precision", "scores", scores)
    positive = check_vector("average_precision", "relevant", relevant)
    require(positive.shape == score.shape, "average_precision", "relevant", f"of length {len(score)}", positive)
    order, ends = _ranked(score)
    return float(_precision(positive[order], np.ones((1, len(order))), ends)[0])


def mean_average_precision(scores: ArrayLike, relevant: ArrayLike) -> float:
    """Return the mean of `average_precision` over the classes that have an image.

    Args:
        scores: (n, classes), rows of NaN for images that do not count.
        relevant: (n, classes), true for the classes of an image.

    Returns:
        A fraction; NaN where no class has an image.

    Raises:
        ValueError: If there are no two tables of one shape.

    Source: CLIP_benchmark's mean_average_precision of multilabel data sets.

    >>> mean_average_precision([[0.9, 0.1], [0.2, 0.3], [0.4, 0.8]], [[1, 0], [1, 1], [0, 0]])
    0.6666666666666666
    """
    table, labels = _tables("mean_average_precision", scores, relevant)
    values = np.array([average_precision(*columns) for columns in zip(table.T, labels.T, strict=True)])
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


@cached_array
def mean_average_precision_bootstrap(scores: ArrayLike, relevant: ArrayLike, samples: Samples) -> Floats:
    """Return `mean_average_precision` of given resamples of images.

    Args:
        scores: As for `mean_average_precision`.
        relevant: As for `mean_average_precision`.
        samples: Resample by resample how often each image is taken, (n,) whole numbers, as
            `resampling.bootstrap_counts` has them.

    Returns:
        A fraction for each resample, the mean over the classes with an image in it; NaN where it has none.

    Raises:
        ValueError: As `mean_average_precision`, and where a resample has another length.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26.

    >>> mean_average_precision_bootstrap([[0.9], [0.8], [0.7]], [[1], [0], [1]], [[1, 1, 1], [0, 3, 0], [0, 2, 1]])
    array([0.83333333,        nan, 0.33333333])
    """
    function = "mean_average_precision_bootstrap"
    table, labels = _tables(function, scores, relevant)
    ranks = {number: _ranked(table[:, number]) for number in np.flatnonzero(labels.any(axis=0))}
    means = [np.zeros(0)]
    for block in count_blocks(function, samples, len(table), slice(None)):
        counts = block.astype(np.float64)
        classes = [_precision(labels[order, number], counts[:, order], ends) for number, (order, ends) in ranks.items()]
        values = np.array(classes).reshape(len(ranks), len(counts))
        known = ~np.isnan(values)
        sums, numbers = np.where(known, values, 0).sum(axis=0), known.sum(axis=0)
        means.append(np.divide(sums, numbers, out=np.full(len(counts), np.nan), where=numbers > 0))
    return np.concatenate(means)


def _tables(function: str, scores: ArrayLike, relevant: ArrayLike) -> tuple[Floats, Floats]:
    table, labels = np.asarray(scores, np.float64), np.asarray(relevant, np.float64)
    require(table.ndim == 2, function, "scores", "an array of 2 dimensions", table)
    require(labels.shape == table.shape, function, "relevant", f"of shape {table.shape}", labels)
    return table, labels


def _ranked(score: Floats) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the images that count by falling score, and the last index of each run of equal scores."""
    known = np.flatnonzero(~np.isnan(score))
    order = known[np.argsort(-score[known], kind="stable")]
    return order, run_ends(score[order])


def _precision(positive: Floats, counts: Floats, ends: NDArray[np.int64]) -> Floats:
    """Return the average precision (k,) of ranked images (n,) that are taken `counts` (k, n) times."""
    hits, taken = (np.cumsum(values, axis=1)[:, ends] for values in (counts * positive, counts))
    gained = np.diff(hits, axis=1, prepend=0)
    precision = np.divide(hits, taken, out=np.zeros_like(hits), where=taken > 0)
    total = gained.sum(axis=1)
    means: Floats = np.full(len(total), np.nan)
    np.divide((gained * precision).sum(axis=1), total, out=means, where=total > 0)
    return means
