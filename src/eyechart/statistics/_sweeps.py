"""Functions shared by all sweeps over a threshold: ranking, ties, running rates and resampling."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_length, check_outcomes, require
from eyechart.statistics.bootstrap_samples import BootstrapSamples

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Step = TypeVar("Step", np.uint8, np.int64, np.float64)
Samples = Iterable[ArrayLike]  # how often each of n units is taken, resample by resample
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


def check_outcome_columns(function: str, parameter: str, values: ArrayLike) -> Floats:
    """Return outcomes of 1, 0 and NaN as columns (n, L), one for each label set; (n,) is one column.

    An image is NaN in all columns or in none.

    >>> check_outcome_columns("accuracy_coverage_auc", "correct", [1, float("nan")])
    array([[ 1.],
           [nan]])
    """
    outcomes = np.asarray(values, np.float64)
    columns = check_outcomes(function, parameter, outcomes if outcomes.ndim == 2 else outcomes[..., None], ndim=2)
    require(columns.shape[1] > 0, function, parameter, "of one label set at least", columns)
    unscored = np.isnan(columns)
    partly = int((unscored.any(axis=1) & ~unscored.all(axis=1)).sum())
    require(partly == 0, function, parameter, "with 0 images that are NaN under some label sets only", partly)
    return columns


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
    order = _falling_order(confidence.tobytes())
    order = order[counts[order]]
    return RankedSamples(confidence[order], outcome[order], weight[order], order)


@lru_cache(maxsize=1)  # every label set of a case, and its area, interval and thresholds, ask for one order
def _falling_order(confidences: bytes) -> Ints:
    """Return the indices of float64 confidences, the highest first, equal ones in their order, NaN at the end."""
    order = np.argsort(-np.frombuffer(confidences), kind="stable")
    order.flags.writeable = False
    return order


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

    A block is (k, rows); k is 1 where rows are many.

    >>> [block.tolist() for block in count_blocks("Measure.resample", [[2, 1, 0], [0, 3, 0]], 3, np.array([2, 0]))]
    [[[0, 2], [0, 0]]]
    """
    many = max(1, CELLS // max(length, 1))
    if (table := _table(function, samples, length)) is not None:
        for start in range(0, len(table), many):
            yield take_at(table[start : start + many], rows).astype(np.int64)
        return
    left = samples.small() if isinstance(samples, BootstrapSamples) else iter(samples)
    while block := [_checked(function, counts, length) for counts in islice(left, many)]:
        yield take_at(np.array(block), rows).astype(np.int64)


def total_resamples(function: str, samples: Samples, sides: Floats) -> Floats:
    """Return the totals (resamples, d) of what each of n units adds to d sums, taken as often as the resample has it.

    >>> total_resamples("mean_per_class_recall_bootstrap", [[2, 1], [0, 2]], np.array([[0.5, 1], [0, 1]])).tolist()
    [[1.0, 3.0], [0.0, 2.0]]
    """
    if (table := _table(function, samples, len(sides))) is not None:
        # a product by BLAS waits for threads
        sums: Floats = np.einsum("kn,nd->kd", table.astype(np.float64), sides)
        return sums
    columns = np.asfortranarray(sides)  # a vector times such columns takes a tenth of the time of a matrix product
    rows = samples.floats() if isinstance(samples, BootstrapSamples) else samples
    totals = [_checked(function, counts, len(sides)).astype(np.float64, copy=False) @ columns for counts in rows]
    return np.array(totals).reshape(-1, sides.shape[1])


def _table(function: str, samples: Samples, length: int) -> NDArray[np.uint8] | None:
    """Return how often each of n units is taken in each resample where these are few, else None."""
    table = samples.table() if isinstance(samples, BootstrapSamples) else None
    if table is not None and len(table):
        _checked(function, table[0], length)
    return table


def _checked(function: str, counts: ArrayLike, length: int) -> NDArray[Any]:
    """Return how often each of n units is taken. Raises ValueError for another length."""
    taken = np.asarray(counts)
    if taken.shape != (length,):
        check_length(function, "samples", taken, length)
    return taken
