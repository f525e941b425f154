"""Functions shared by all sweeps over a threshold: ranking, ties, running rates and resampling."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics._checks import check_length, check_outcomes, require

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Step = TypeVar("Step", np.int64, np.float64)
Samples = Iterable[ArrayLike]  # how often each of n units is taken, resample by resample
TOGETHER = 16  # resamples that are summed up in one product
CELLS = 1 << 12  # of a block: as many as stay in a processor's cache


class RankedSamples(NamedTuple):
    """The scored images in the order of falling confidence, with their indices in the input."""

    confidence: Floats
    correct: Floats
    weight: Floats
    indices: Ints


def check_vector(function: str, parameter: str, values: ArrayLike) -> Floats:
    """Return the values as a float64 vector.

    >>> check_vector("ua_a", "uncertainty", [1, 2])
    array([1., 2.])
    """
    array = np.asarray(values, dtype=np.float64)
    require(array.ndim == 1, function, parameter, "an array of 1 dimension", array)
    return array


def rank_by_confidence(
    function: str, confidences: ArrayLike, correct: ArrayLike, weights: ArrayLike | None = None
) -> RankedSamples:
    """Return the images that have a confidence, an outcome and a weight, the most confident first.

    >>> rank_by_confidence("accuracy_coverage", [0.2, 0.9, 0.5], [1, 0, float("nan")]).indices
    array([1, 0])
    """
    confidence = check_vector(function, "confidences", confidences)
    outcome = check_outcomes(function, "correct", correct, ndim=1)
    check_length(function, "correct", outcome, len(confidence))
    weight = np.ones(len(confidence)) if weights is None else np.asarray(weights, dtype=np.float64)
    require(weight.shape == confidence.shape, function, "weights", f"an array of shape ({len(confidence)},)", weight)
    invalid = weight[~(np.isfinite(weight) & (weight >= 0))]
    require(invalid.size == 0, function, "weights", "finite and at least 0", invalid[0] if invalid.size else None)
    counts = ~np.isnan(confidence) & ~np.isnan(outcome) & (weight > 0)
    order = np.flatnonzero(counts)[np.argsort(-confidence[counts], kind="stable")]
    return RankedSamples(confidence[order], outcome[order], weight[order], order)


def run_ends(values: Floats) -> Ints:
    """Return the index of the last element of each run of equal values; a threshold can only lie there.

    >>> run_ends(np.array([0.9, 0.6, 0.6, 0.2]))
    array([0, 2, 3])
    """
    return np.flatnonzero(np.append(values[1:] != values[:-1], True)[: len(values)])


def take_at(values: NDArray[Step], last: Ints | slice) -> NDArray[Step]:
    """Return the values at some indices of the last axis.

    >>> take_at(np.array([[1, 2, 3], [4, 5, 6]]), np.array([0, 2])).tolist()
    [[1, 3], [4, 6]]
    """
    return values[..., last] if isinstance(last, slice) else values.take(last, axis=-1)


def running_rate(outcome: Floats | Ints, weight: Floats | Ints, last: Ints | slice) -> tuple[NDArray[Any], Floats]:
    """Return the cumulative weight at some indices and the weighted rate of the outcome up to there, 0 without weight.

    >>> running_rate(np.array([1, 0, 1]), np.array([0, 1, 1]), slice(None))
    (array([0, 1, 2]), array([0. , 0. , 0.5]))
    """
    mass, right = (take_at(np.cumsum(values, axis=-1), last) for values in (weight, weight * outcome))
    return mass, right / np.where(mass > 0, mass, 1)


def coverage_steps(coverage: NDArray[Step]) -> NDArray[Step]:
    """Return the increase of coverage at each point.

    >>> coverage_steps(np.array([0.25, 0.75, 1.0]))
    array([0.25, 0.5 , 0.25])
    """
    increments = coverage.copy()
    # numpy's diff takes ten times as long to prepend a 0, which resamples wait for
    increments[..., 1:] -= coverage[..., :-1]
    return increments


def count_blocks(function: str, samples: Samples, length: int, rows: Ints | slice) -> Iterator[Ints]:
    """Yield how often each row is taken, several resamples at a time, because single short resamples are slow.

    A block is (k, rows), or (rows,) where they are too many for more than one.

    >>> [block.tolist() for block in count_blocks("ua_a_draws", [[2, 1, 0], [0, 3, 0]], 3, np.array([2, 0]))]
    [[[0, 2], [0, 0]]]
    """
    left, many = iter(samples), max(1, CELLS // max(length, 1))
    while block := [np.asarray(counts, np.int64) for counts in islice(left, many)]:
        for invalid in (counts for counts in block if counts.shape != (length,)):
            check_length(function, "samples", invalid, length)
        yield take_at(np.array(block) if many > 1 else block[0], rows)


def measure_blocks(samples: Iterable[Ints], measure: Callable[[Ints], Floats]) -> Floats:
    """Return one value per resample for resamples that come in blocks.

    >>> measure_blocks([np.array([[1, 2], [3, 4]]), np.array([5, 6])], lambda counts: counts.sum(axis=-1) / 2)
    array([1.5, 3.5, 5.5])
    """
    return np.concatenate([np.zeros(0), *(np.atleast_1d(measure(counts)) for counts in samples)])


def measure_resamples(
    function: str, samples: Samples, length: int, rows: Ints, measure: Callable[[Ints], float]
) -> Floats:
    """Return one value per resample from how often each row is taken; NaN if no row is taken.

    >>> measure_resamples("ua_a_draws", [[2, 1, 0], [0, 3, 0]], 3, np.array([2, 0]), lambda counts: counts.max())
    array([ 2., nan])
    """
    taken = (counts for block in count_blocks(function, samples, length, rows) for counts in np.atleast_2d(block))
    return np.array([measure(counts) if counts.any() else float("nan") for counts in taken], np.float64)


def total_resamples(function: str, samples: Samples, sides: Floats) -> Floats:
    """Return the totals (resamples, d) of what each of n units adds to d sums, taken as often as the resample has it.

    >>> total_resamples("mean_per_class_recall_bootstrap", [[2, 1], [0, 2]], np.array([[0.5, 1], [0, 1]])).tolist()
    [[1.0, 3.0], [0.0, 2.0]]
    """
    left, totals = iter(samples), [np.zeros((0, sides.shape[1]))]
    while block := [*islice(left, TOGETHER)]:
        for invalid in (counts for counts in block if np.shape(counts) != (len(sides),)):
            check_length(function, "samples", np.asarray(invalid), len(sides))
        totals.append(np.array(block, np.float64) @ sides)
    return np.concatenate(totals)


def concordance(without: NDArray[np.bool_], last: Ints, counts: Ints) -> Floats:
    """Return the share of pairs in the right order, ties as a half, for images taken `counts` (..., n) times.

    NaN where there is no pair. The least certain come first; `last` has the last place of each run of equally certain
    ones.

    >>> float(concordance(np.array([True, False, True, False]), np.array([0, 2, 3]), np.ones(4, np.int64)))
    0.875
    """
    positive, total = (take_at(np.cumsum(values, axis=-1), last) for values in (counts * without, counts))
    negative = total - positive
    twice = (coverage_steps(negative) * (2 * positive - coverage_steps(positive))).sum(
        axis=-1
    )  # a product by BLAS waits for threads
    pairs = positive[..., -1:].sum(axis=-1) * negative[..., -1:].sum(axis=-1)  # none where there is no image
    shares: Floats = np.where(pairs > 0, twice / np.maximum(2 * pairs, 1), np.nan)
    return shares
