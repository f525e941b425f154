"""Maximum mean discrepancy under a joint kernel: whether two samples of labelled images have one distribution.

k((x, c), (x', c')) = exp(-|x - x'|² / 2h²) where c = c', else 0. The kernel matrix is computed once, class by class and
tile by tile; every permutation, split and resample is a column of weights that each tile is multiplied with.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_integers, check_whole_number, require
from eyechart.statistics.intervals import Interval

BLOCK = 1024  # samples along a side of a tile
PAIRS = 100_000  # pairs that the median distance is taken over, where a sample has more
CHUNK = 4096  # pairs whose differences are in memory together
SAME = 1e-5  # of the largest draw: nearer than that to the observed value is equal to it

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Weights = NDArray[np.uint8]


class MmdEquivalence(NamedTuple):
    """The MMD² between two samples, and the MMD² expected between samples of one distribution.

    `mmd2` is observed, `ci` its 95% bootstrap interval; `tau` is the 95th percentile of half-splits of the reference,
    `null` that of permutations, `p` the permutation test's; `is_equivalent` is the paper's `null` < `tau`, `within` the
    stronger `ci.high` < `tau`.
    """

    mmd2: float
    ci: Interval
    tau: float
    null: float
    p: float
    bandwidth: float
    equivalent: bool
    within: bool


@dataclass(frozen=True)
class _Pool:
    """Both samples sorted by class, centred on their class mean, in units of the bandwidth."""

    features: Floats
    first: Weights
    edges: tuple[int, ...]
    bandwidth: float


def mmd2(
    x: ArrayLike,
    x_classes: ArrayLike,
    y: ArrayLike,
    y_classes: ArrayLike,
    bandwidth: float | None = None,
    *,
    block: int = BLOCK,
) -> float:
    """Return the unbiased squared maximum mean discrepancy of two samples of labelled images; it can be negative.

    Args:
        x: (n, d) features, at least two samples.
        x_classes: (n,) classes from 0.
        y: (m, d) features, at least two samples.
        y_classes: (m,) classes from 0.
        bandwidth: H in the unit of the features, by default `median_distance` of both samples together.
        block: A bound of the memory, which changes nothing else.

    Returns:
        Float without a unit, at most 2.

    Raises:
        ValueError: If shapes or lengths differ, features are not finite, or an argument is out of range.

    Source: arXiv 2602.18094, equations 7 to 11; the unbiased estimator is A. Gretton et al., JMLR 13 (2012) 723-773,
    equation 3. The paper states neither the kernel nor its bandwidth; we assume this estimator and the median.

    >>> round(mmd2([[0.0], [1.0], [2.0]], [0, 0, 0], [[1.0], [2.0], [9.0]], [0, 0, 0], bandwidth=1.0), 4)
    -0.2272
    >>> mmd2([[0.0], [1.0]], [0, 0], [[0.0], [1.0]], [1, 1], bandwidth=1.0) > 1
    True
    """
    pool = _pooled("mmd2", (x, x_classes), (y, y_classes), bandwidth, least=2)
    first = pool.first[:, None]
    return float(_discrepancies(pool, first, 1 - first, check_whole_number("mmd2", "block", block, least=1))[0])


def mmd_equivalence(
    x: ArrayLike,
    x_classes: ArrayLike,
    y: ArrayLike,
    y_classes: ArrayLike,
    *,
    times: int = 500,
    splits: int = 200,
    seed: int = 0,
    bandwidth: float | None = None,
    block: int = BLOCK,
) -> MmdEquivalence:
    """Test whether a sample is as close to a reference as two halves of the reference are to each other.

    The permutations shuffle which samples are the reference, in all classes together; p counts the observed order. The
    bootstrap draws as many samples from each side as it has, with replacement. Two draws of one sample are no pair, as
    a sample and itself are none; what is summed is divided by the number of pairs that are left, so that the draws are
    centred on the observed value.

    Limits: the paper's criterion does not look at the observed value. It compares the noise of permutations with that
    of half-splits, whose samples are smaller: in simulations it held in 72 to 100 per cent of the draws, also where the
    samples had little in common. `within` and `p` do look. The bootstrap of a statistic that is degenerate at no
    difference is too wide there: it then covers in above 99 per cent of simulated draws, elsewhere in 90 (30 samples in
    one dimension) to 100. Samples are taken as independent, also those of one image under several classes.

    Args:
        x: (n, d) features of the reference, at least four samples.
        x_classes: (n,) classes from 0.
        y: (m, d) features, at least four samples.
        y_classes: (m,) classes from 0.
        times: The number of permutations, and of bootstrap draws.
        splits: The number of half-splits of the reference.
        seed: The seed of all three.
        bandwidth: As for `mmd2`.
        block: As for `mmd2`.

    Returns:
        Equivalence, everything at the observed samples' bandwidth.

    Raises:
        ValueError: If shapes or lengths differ, features are not finite, or an argument is out of range.

    Source: arXiv 2602.18094, B.1.4, equations 11 to 14; p is B. Phipson and G. K. Smyth, Statistical Applications in
    Genetics and Molecular Biology 9 (2010) 39. The paper does not say how it resamples; this bootstrap is our own.

    >>> x, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [[0.5], [1.5], [2.5]] * 5
    >>> near = mmd_equivalence(x, [0] * 20, y, [0] * 15, times=99)
    >>> near.p > 0.05, near.bandwidth
    (True, 1.0)
    """
    pool = _pooled("mmd_equivalence", (x, x_classes), (y, y_classes), bandwidth, least=4)
    times, splits = (
        check_whole_number("mmd_equivalence", name, n, least=1)
        for name, n in {"times": times, "splits": splits}.items()
    )
    seed, block = (
        check_whole_number("mmd_equivalence", "seed", seed),
        check_whole_number("mmd_equivalence", "block", block, least=1),
    )
    first, second = _draws(pool.first, times, splits, seed)
    discrepancies = _discrepancies(pool, first, second, block)
    null, halves, drawn = np.split(discrepancies[1:], [times, times + splits])
    return _judged(float(discrepancies[0]), null, halves, drawn, pool.bandwidth)


def median_distance(x: ArrayLike, classes: ArrayLike, *, pairs: int = PAIRS, seed: int = 0) -> float:
    """Return the median distance between samples of one class, the usual bandwidth of a radial kernel.

    Pairs at distance 0 count only while the median is above 0; where it is not, the others' median is taken, and 1
    where there are none.

    Args:
        x: (n, d) features.
        classes: (n,) from 0.
        pairs: The most pairs; if there are more, so many are drawn.
        seed: The seed of this draw.

    Returns:
        Float above 0, in the unit of the features.

    Raises:
        ValueError: If lengths differ, features are not finite, or an argument is out of range.

    Source: A. Gretton et al., JMLR 13 (2012) 723-773, section 8, within classes, since others never meet in the kernel.

    >>> median_distance([[0.0], [3.0], [4.0], [90.0]], [0, 0, 0, 1])
    3.0
    """
    features, label = _sample("median_distance", "x", x, "classes", classes, least=0)
    order = np.argsort(label, kind="stable")
    pairs, seed = (
        check_whole_number("median_distance", "pairs", pairs, least=1),
        check_whole_number("median_distance", "seed", seed),
    )
    return _median(features[order], _edges(label[order]), pairs, seed)


def _sample(
    function: str, name: str, values: ArrayLike, classes_name: str, classes: ArrayLike, least: int
) -> tuple[Floats, Ints]:
    features = np.asarray(values, dtype=np.float64)
    require(features.ndim == 2, function, name, "an array of 2 dimensions", features)
    require(len(features) >= least, function, name, f"at least {least} samples", features)
    broken = features[~np.isfinite(features)]
    require(broken.size == 0, function, name, "finite", broken[0] if broken.size else None)
    label = check_integers(function, classes_name, classes, ndim=1, least=0)
    require(len(label) == len(features), function, classes_name, f"of length {len(features)}, one a sample", label)
    return features, label


def _pooled(
    function: str,
    x: tuple[ArrayLike, ArrayLike],
    y: tuple[ArrayLike, ArrayLike],
    bandwidth: float | None,
    least: int,
) -> _Pool:
    x_values, x_classes = _sample(function, "x", x[0], "x_classes", x[1], least)
    y_values, y_classes = _sample(function, "y", y[0], "y_classes", y[1], least)
    require(
        x_values.shape[1] == y_values.shape[1],
        function,
        "y",
        f"of {x_values.shape[1]} features a sample, as x is",
        y_values,
    )
    require(bandwidth is None or 0 < bandwidth < np.inf, function, "bandwidth", "above 0 and finite", bandwidth)
    label = np.concatenate([x_classes, y_classes])
    order = np.argsort(label, kind="stable")
    features, edges = np.concatenate([x_values, y_values])[order], _edges(label[order])
    width = _median(features, edges, PAIRS, 0) if bandwidth is None else float(bandwidth)
    for start, stop in pairwise(edges):  # centred, so that the distances within a class lose no digits
        features[start:stop] = (features[start:stop] - features[start:stop].mean(0)) / width
    return _Pool(features, (order < len(x_values)).astype(np.uint8), edges, width)


def _edges(label: Ints) -> tuple[int, ...]:
    """Return where each class begins in sorted labels, and where the last one ends."""
    return (*np.unique(label, return_index=True)[1].tolist(), len(label))


def _median(features: Floats, edges: tuple[int, ...], most: int, seed: int) -> float:
    starts, sizes = np.array(edges[:-1], dtype=np.int64), np.diff(edges)
    pairs = sizes * (sizes - 1) // 2
    if pairs.sum() <= most:
        from scipy.spatial.distance import pdist  # a tenth of a second that few runs need

        every = [pdist(features[start:stop]) for start, stop in pairwise(edges)]
    else:
        every = [*_drawn_distances(features, starts, sizes, pairs / pairs.sum(), most, seed)]
    distances = np.concatenate([*every, np.empty(0)])
    if distances.size and np.median(distances) == 0:
        distances = distances[distances > 0]
    return float(np.median(distances)) if distances.size else 1.0


def _drawn_distances(
    features: Floats, starts: Ints, sizes: Ints, shares: Floats, count: int, seed: int
) -> Iterator[Floats]:
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(sizes), count, p=shares)
    left = rng.integers(sizes[drawn])
    two = (left + rng.integers(1, sizes[drawn])) % sizes[drawn]
    for indices in np.array_split(np.arange(count), -(-count // CHUNK)):
        base = starts[drawn[indices]]
        yield np.sqrt(((features[base + left[indices]] - features[base + two[indices]]) ** 2).sum(1))


def _draws(first: Weights, times: int, splits: int, seed: int) -> tuple[Weights, Weights]:
    """Return the weights (samples, draws) of both sides: observed, permuted, reference halves and bootstrap."""
    shuffling, halving, resampling = np.random.default_rng(seed).spawn(3)
    observed = first[:, None]
    permuted = shuffling.permuted(np.repeat(observed, times, axis=1), axis=0)
    half, other_half = _halves(halving, first, splits)
    drawn = [_resampled(resampling, side, times) for side in (first, 1 - first)]
    return np.hstack([observed, permuted, half, drawn[0]]), np.hstack(
        [1 - observed, 1 - permuted, other_half, drawn[1]]
    )


def _halves(rng: np.random.Generator, first: Weights, splits: int) -> tuple[Weights, Weights]:
    indices = np.flatnonzero(first)
    chosen = (np.arange(len(indices)) < len(indices) // 2).astype(np.uint8)
    half, other_half = np.zeros((2, len(first), splits), np.uint8)
    half[indices] = rng.permuted(np.repeat(chosen[:, None], splits, axis=1), axis=0)
    other_half[indices] = 1 - half[indices]
    return half, other_half


def _resampled(rng: np.random.Generator, side: Weights, times: int) -> Weights:
    """Return how often each sample of one side is drawn; a count above 255 has negligible probability."""
    indices = np.flatnonzero(side)
    counts = np.zeros((len(side), times), np.uint8)
    counts[indices] = rng.multinomial(len(indices), np.full(len(indices), 1 / len(indices)), times).T
    return counts


def _discrepancies(pool: _Pool, first: Weights, second: Weights, block: int) -> Floats:
    """Return MMD² (draws,) of weighted samples, from pairs within each side and pairs between the sides."""
    sums = np.zeros((3, first.shape[1]))
    for start, stop in pairwise(pool.edges):
        sides = [slice(index, min(index + block, stop)) for index in range(start, stop, block)]
        for rows, columns in combinations_with_replacement(sides, 2):
            sums += _tile(pool.features, first, second, rows, columns)
    sizes = [side.sum(0, dtype=np.float64) for side in (first, second)]
    squares = [np.square(side, dtype=np.float64).sum(0) for side in (first, second)]
    with np.errstate(invalid="ignore"):  # one sample, drawn again and again, has no pairs: NaN
        within = [total / (size**2 - square) for total, size, square in zip(sums, sizes, squares, strict=False)]
    return np.asarray(within[0] + within[1] - 2 * sums[2] / (sizes[0] * sizes[1]))


def _tile(features: Floats, first: Weights, second: Weights, rows: slice, columns: slice) -> Floats:
    """Return the sums of one tile of the kernel: within the first side, within the second, and between them."""
    kernel = _kernel(features[rows], features[columns])
    if rows == columns:
        np.fill_diagonal(kernel, 0)
    ones, twos = (side[rows].astype(np.float32) for side in (first, second))
    to_ones, to_twos = (kernel @ side[columns].astype(np.float32) for side in (first, second))
    across = _columns(ones, to_twos)
    if rows == columns:
        return np.stack([_columns(ones, to_ones), _columns(twos, to_twos), across])
    return np.stack([2 * _columns(ones, to_ones), 2 * _columns(twos, to_twos), across + _columns(twos, to_ones)])


def _columns(left: Singles, right: Singles) -> Floats:
    return np.asarray((left * right).sum(0, dtype=np.float64))


def _kernel(left: Floats, right: Floats) -> Singles:
    """Return one tile of the kernel; distances are computed in float64, values in float32."""
    squares = [np.square(side).sum(1) / 2 for side in (left, right)]
    exponent = left @ right.T
    exponent -= squares[0][:, None]
    exponent -= squares[1]
    values: Singles = np.exp(np.minimum(exponent, 0, out=exponent), dtype=np.float32, casting="same_kind")
    return values


def _judged(observed: float, null: Floats, halves: Floats, drawn: Floats, bandwidth: float) -> MmdEquivalence:
    reached = int((null >= observed - SAME * np.abs(null).max()).sum())
    tau, upper = float(np.quantile(halves, 0.95)), float(np.quantile(null, 0.95))
    low, high = map(float, np.nanquantile(drawn, [0.025, 0.975]))
    p = (1 + reached) / (1 + len(null))
    return MmdEquivalence(observed, Interval(low, high), tau, upper, p, bandwidth, upper < tau, high < tau)
