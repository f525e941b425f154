"""Bootstrap resamples and permutations of samples, clusters and strata.

Rows that are equal are exchangeable, so that only how often each distinct row is drawn matters. Drawing those numbers
is the same experiment as drawing row by row, and takes a hundredth of the time.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_integers, check_length, check_whole_number, require
from eyechart.statistics._sweeps import total_resamples
from eyechart.statistics.bootstrap_samples import BootstrapSamples, Counts, Seed
from eyechart.statistics.draws_cache import cached_array
from eyechart.statistics.intervals import Interval

Strata = tuple[ArrayLike, ArrayLike]  # of the first set's rows and of the second's


def bootstrap_totals(rows: ArrayLike, times: int = 2000, seed: Seed = 0, strata: ArrayLike | None = None) -> Counts:
    """Return the totals of bootstrap resamples: as many rows as there are, drawn with replacement.

    Args:
        rows: (m, d) counts, a row a unit that is drawn as a whole.
        times: How many resamples.
        seed: A whole number or a numpy Generator, which goes on from where it is.
        strata: (m,), the stratum of each row, such as a data set: of each as many rows are drawn as it has.

    Returns:
        (times, d) int64, the sum of each resample's rows; 0 where there are no rows.

    Raises:
        ValueError: If `rows` or `strata` are not whole numbers of at least 0, their lengths differ, or `times` is
            negative.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26; used in arXiv 2602.18094, Eq. (18).

    >>> bootstrap_totals([[1, 0], [1, 0], [0, 1]], times=3, seed=1).sum(axis=1)
    array([3, 3, 3])
    >>> bootstrap_totals([[1, 0], [1, 0], [0, 1]], times=2, strata=[0, 0, 1]).tolist()
    [[2, 1], [2, 1]]
    """
    times, table = (
        check_whole_number("bootstrap_totals", "times", times),
        check_integers("bootstrap_totals", "rows", rows, ndim=2, least=0),
    )
    stratum, random = _strata("bootstrap_totals", table, strata), np.random.default_rng(seed)
    totals = np.zeros((times, table.shape[1]), np.int64)
    for value in np.unique(stratum):
        kinds, counts = np.unique(table[stratum == value], axis=0, return_counts=True)
        totals += random.multinomial(counts.sum(), counts / counts.sum(), times).astype(np.int64) @ kinds
    return totals


def permutation_totals(
    first: ArrayLike, second: ArrayLike, times: int = 2000, seed: Seed = 0, strata: Strata | None = None
) -> tuple[Counts, Counts]:
    """Return the totals of two sets after permuting which rows belong to the first.

    Args:
        first: (m, d) counts, a row for each unit that stays whole.
        second: (n, d) counts of the other side.
        times: The number of shuffles.
        seed: As for `bootstrap_totals`.
        strata: (m,) and (n,), the stratum of each row, which no row leaves.

    Returns:
        Two (times, d) int64, the sums of the m rows that became first and of the n others; together they are always the
        total of all rows.

    Raises:
        ValueError: If rows or strata are not whole numbers of at least 0, rows not equally long, the lengths differ, or
            `times` is negative.

    Source: E. J. G. Pitman, Supplement to the Journal of the Royal Statistical Society 4 (1937) 119-130; used in
    arXiv 2602.18094, Section B.2.2 (1).

    >>> one, other = permutation_totals([[1, 0], [1, 0]], [[0, 1]], times=3, seed=1)
    >>> (one + other).tolist(), one.sum(axis=1).tolist()
    ([[2, 1], [2, 1], [2, 1]], [2, 2, 2])
    """
    times = check_whole_number("permutation_totals", "times", times)
    first_rows, second_rows = (
        check_integers("permutation_totals", name, rows, ndim=2, least=0)
        for name, rows in (("first", first), ("second", second))
    )
    require(
        first_rows.shape[1] == second_rows.shape[1],
        "permutation_totals",
        "second",
        f"of shape (n, {first_rows.shape[1]}), as first",
        second_rows,
    )
    sides = (first_rows, second_rows)
    inside = [
        _strata("permutation_totals", rows, side) for rows, side in zip(sides, strata or (None, None), strict=True)
    ]
    totals, random = np.zeros((times, first_rows.shape[1]), np.int64), np.random.default_rng(seed)
    for value in np.unique(np.concatenate(inside)):
        mine, its = (rows[stratum == value] for rows, stratum in zip(sides, inside, strict=True))
        kinds, counts = np.unique(np.concatenate([mine, its]), axis=0, return_counts=True)
        totals += random.multivariate_hypergeometric(counts, len(mine), times, method="marginals") @ kinds
    return totals, first_rows.sum(axis=0) + second_rows.sum(axis=0) - totals


def cluster_bootstrap_totals(
    rows: ArrayLike, clusters: ArrayLike, times: int = 2000, seed: Seed = 0, strata: ArrayLike | None = None
) -> Counts:
    """Return the totals of bootstrap resamples of whole clusters, such as images.

    Args:
        rows: (m, d) counts.
        clusters: (m,) which cluster a row is in, any whole numbers of at least 0.
        times: As for `bootstrap_totals`.
        seed: As for `bootstrap_totals`.
        strata: (m,), the stratum of each row: of each as many clusters are drawn as it has, and rows of two strata are
            in two clusters.

    Returns:
        (times, d) int64, the sum of the rows of as many clusters as there are, drawn with replacement.

    Raises:
        ValueError: If the lengths differ, a value is no whole number of at least 0 or `times` is negative.

    Source: A. C. Davison and D. V. Hinkley, Bootstrap Methods and their Application (1997), Section 3.8, resampling
    clusters and keeping what is in them.

    >>> totals = cluster_bootstrap_totals([[1, 1], [0, 1], [2, 0]], [7, 7, 3], times=50)
    >>> sorted(set(map(tuple, totals.tolist())))
    [(2, 4), (3, 2), (4, 0)]
    """
    table = check_integers("cluster_bootstrap_totals", "rows", rows, ndim=2, least=0)
    cluster = check_integers("cluster_bootstrap_totals", "clusters", clusters, ndim=1, least=0)
    require(
        len(cluster) == len(table),
        "cluster_bootstrap_totals",
        "clusters",
        f"of length {len(table)}, one a row",
        cluster,
    )
    stratum = _strata("cluster_bootstrap_totals", table, strata)
    names, index = np.unique(np.column_stack([stratum, cluster]), axis=0, return_inverse=True)
    return bootstrap_totals(cluster_sums(table, index.ravel(), len(names)), times, seed, names[:, 0])


def cluster_sums(rows: Counts, clusters: Counts, count: int) -> Counts:
    """Return the sums of the rows of each cluster.

    Args:
        rows: (m, d) counts.
        clusters: (m,) ints, the cluster of each row, less than `count`.
        count: The number of clusters.

    Returns:
        (count, d) int64, zeros for a cluster without a row.

    Raises:
        IndexError: If a cluster is not less than `count`.

    Source: own definition.

    >>> cluster_sums(np.array([[1, 0], [2, 0], [0, 4]]), np.array([1, 1, 0]), 3).tolist()
    [[0, 4], [3, 0], [0, 0]]
    """
    sums = np.zeros((count, rows.shape[1]), np.int64)
    np.add.at(sums, clusters, rows)
    return sums


def exchange_totals(first: ArrayLike, second: ArrayLike, times: int = 2000, seed: Seed = 0) -> tuple[Counts, Counts]:
    """Return the totals of two paired sets after each unit exchanged its two rows with probability 1/2.

    Args:
        first: (m, d) counts, the rows of the same m units in either set.
        second: (m, d) counts, the rows of the same m units in either set.
        times: As for `bootstrap_totals`.
        seed: As for `bootstrap_totals`.

    Returns:
        Two (times, d) int64, the sums of the first set and of the second; together they are always the total.

    Raises:
        ValueError: If rows are not whole numbers of at least 0, the shapes differ, or `times` is negative.

    Source: R. A. Fisher, The Design of Experiments (1935), Section 21, the randomisation test of paired differences.

    >>> one, other = exchange_totals([[1, 0]], [[0, 1]], times=4, seed=1)
    >>> one.tolist()
    [[0, 1], [0, 1], [1, 0], [0, 1]]
    """
    times = check_whole_number("exchange_totals", "times", times)
    first_rows, second_rows = (
        check_integers("exchange_totals", name, rows, ndim=2, least=0)
        for name, rows in (("first", first), ("second", second))
    )
    require(
        first_rows.shape == second_rows.shape,
        "exchange_totals",
        "second",
        f"of shape {first_rows.shape}, as first",
        second_rows,
    )
    moves, counts = np.unique(second_rows - first_rows, axis=0, return_counts=True)
    moved = np.random.default_rng(seed).binomial(counts, 0.5, (times, len(counts))) @ moves
    return first_rows.sum(axis=0) + moved, second_rows.sum(axis=0) - moved


def bootstrap_counts(
    n: int, times: int = 1000, seed: Seed = 0, strata: ArrayLike | None = None, clusters: ArrayLike | None = None
) -> BootstrapSamples:
    """Return how often each of n units is drawn in each bootstrap resample.

    Args:
        n: Units, a row each.
        times: As for `bootstrap_totals`.
        seed: As for `bootstrap_totals`.
        strata: (n,), the stratum of each unit: of each as many are drawn as it has.
        clusters: (n,), the cluster of each unit, whose units of one stratum are drawn all or none, as often as one
            another: of each stratum as many clusters are drawn as it has.

    Returns:
        An iterable of (n,) int64, `times` of them, each of sum n where no two units share a cluster. Each takes,
        stratum by stratum, as many whole numbers from `Generator.integers` as the stratum has clusters, in the order in
        which these first come, so that a loop over rows can draw the same. It can be iterated several times: a seed
        that is a whole number then gives the same numbers again.

    Raises:
        ValueError: If n or `times` is negative, or strata or clusters are no n whole numbers of at least 0.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26.

    >>> [counts.tolist() for counts in bootstrap_counts(4, times=2, strata=[0, 0, 0, 1])]
    [[0, 2, 1, 1], [3, 0, 0, 1]]
    """
    n, times = check_whole_number("bootstrap_counts", "n", n), check_whole_number("bootstrap_counts", "times", times)
    stratum = _strata("bootstrap_counts", np.zeros((n, 0), np.int64), strata)
    if clusters is not None:
        first, index = _cluster_index(stratum, clusters)
        if len(first) < n:
            return BootstrapSamples(times, seed, stratum[first], index)
    return BootstrapSamples(times, seed, stratum)


def _cluster_index(strata: ArrayLike, clusters: ArrayLike) -> tuple[Counts, Counts]:
    """Return the first unit of each cluster and each unit's cluster number, in order of first occurrence.

    Args:
        strata: (n,), the stratum and the cluster of each unit, whole numbers of at least 0.
        clusters: (n,), the stratum and the cluster of each unit, whole numbers of at least 0.

    Returns:
        (c,) the first unit of each cluster, and (n,) the number of each unit's cluster.

    Raises:
        ValueError: If the lengths differ or a number is no whole number of at least 0.

    Source: own definition.

    >>> first, index = _cluster_index([0, 0, 1, 0], [7, 5, 7, 7])
    >>> first.tolist(), index.tolist()
    ([0, 1, 2], [0, 1, 2, 0])
    """
    stratum = check_integers("cluster_index", "strata", strata, ndim=1, least=0)
    cluster = check_integers("cluster_index", "clusters", clusters, ndim=1, least=0)
    check_length("cluster_index", "clusters", cluster, len(stratum))
    pairs = np.column_stack([stratum, cluster])
    _, first, index = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return first[order].astype(np.int64), number[index.ravel()]


@cached_array
def unit_bootstrap_totals(
    rows: ArrayLike,
    times: int = 1000,
    seed: Seed = 0,
    strata: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return the totals of resamples of units in a fixed order, so that other rows of these units are drawn alike.

    `bootstrap_totals` draws kinds of rows, which is quicker, but another run's kinds are others.

    Args:
        rows: (n, d), what each of n units adds to d totals.
        times: As for `bootstrap_counts`, which says how often each unit is taken.
        seed: As for `bootstrap_counts`, which says how often each unit is taken.
        strata: As for `bootstrap_counts`, which says how often each unit is taken.
        clusters: As for `bootstrap_counts`, which says how often each unit is taken.

    Returns:
        (times, d), the sum of each resample's rows.

    Raises:
        ValueError: If `rows` are not of two dimensions, or as `bootstrap_counts` does.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26.

    >>> unit_bootstrap_totals([[1, 2], [0, 0], [0, 1]], times=3, seed=1).tolist()
    [[0.0, 1.0], [2.0, 5.0], [1.0, 4.0]]
    """
    table = np.asarray(rows, np.float64)
    require(table.ndim == 2, "unit_bootstrap_totals", "rows", "an array of 2 dimensions", table)
    samples = bootstrap_counts(len(table), times, seed, strata, clusters)
    return total_resamples("unit_bootstrap_totals", samples, table)


def unit_bootstrap_shares(
    right: ArrayLike,
    scored: ArrayLike,
    times: int = 1000,
    seed: Seed = 0,
    strata: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return shares in resamples of units: the total that is correct divided by the total that is scored.

    Args:
        right: (n,) or (n, k), what each of n units adds to either side of k shares.
        scored: (n,) or (n, k), what each of n units adds to either side of k shares.
        times: As for `bootstrap_counts`, which says how often each unit is taken.
        seed: As for `bootstrap_counts`, which says how often each unit is taken.
        strata: As for `bootstrap_counts`, which says how often each unit is taken.
        clusters: As for `bootstrap_counts`, which says how often each unit is taken.

    Returns:
        (times,) or (times, k) fractions, NaN where a resample has nothing that counts.

    Raises:
        ValueError: If the shapes differ or `times` is negative.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26.

    >>> unit_bootstrap_shares([1, 0, 2], [1, 1, 2], times=3, seed=1).round(2).tolist()
    [0.5, 1.0, 1.0]
    """
    numerators, denominators = (np.asarray(values, np.float64) for values in (right, scored))
    require(
        numerators.shape == denominators.shape and numerators.ndim in (1, 2),
        "unit_bootstrap_shares",
        "scored",
        f"of shape {numerators.shape}",
        denominators,
    )
    sides = np.concatenate(
        [side.reshape(len(side), numerators[:1].size) for side in (numerators, denominators)], axis=1
    )
    part, total = np.split(unit_bootstrap_totals(sides, times, seed, strata, clusters), 2, axis=1)
    shares = ratios(part, total)
    return shares.reshape(len(shares), *numerators.shape[1:])


def ratios(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """Return part / whole elementwise; NaN where the whole is not positive.

    Args:
        part: Numbers of any shape.
        whole: Numbers of the same shape.

    Returns:
        Quotients of that shape, NaN where the whole is not greater than 0.

    Raises:
        ValueError: If the shapes differ.

    Source: own definition: a resample in which nothing counts has no share.

    >>> ratios([1, 0], [2, 0]).tolist()
    [0.5, nan]
    """
    numerators, denominators = (np.asarray(values, np.float64) for values in (part, whole))
    require(numerators.shape == denominators.shape, "ratios", "whole", f"of shape {numerators.shape}", denominators)
    quotients: NDArray[np.float64] = np.divide(
        numerators, denominators, out=np.full(numerators.shape, np.nan), where=denominators > 0
    )
    return quotients


def percentile_interval(draws: ArrayLike, level: float = 0.95) -> Interval:
    """Return Efron's percentile interval: the central part of the bootstrap samples.

    Args:
        draws: (times,), NaN where a resample has no value, which is left out.
        level: In (0, 1).

    Returns:
        Interval in the draws' unit, from their (1 - level) / 2 to their (1 + level) / 2 quantile; NaN without draws.

    Raises:
        ValueError: If `draws` is not a vector or the level is no level.

    Source: B. Efron, The Jackknife, the Bootstrap and Other Resampling Plans (1982), Section 10.4; the 5th and 95th
    percentiles of arXiv 2602.18094, Eq. (25), are level 0.9.

    >>> percentile_interval(range(101), 0.5)
    Interval(low=25.0, high=75.0)
    """
    require(0 < level < 1, "percentile_interval", "level", "between 0 and 1", level)
    values = np.asarray(draws, dtype=np.float64)
    require(values.ndim == 1, "percentile_interval", "draws", "an array of 1 dimension", values)
    values = values[~np.isnan(values)]
    if not values.size:
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def _strata(function: str, rows: Counts, strata: ArrayLike | None) -> Counts:
    """Return the stratum of each row; one stratum for all rows if none is given."""
    values = np.zeros(len(rows), np.int64) if strata is None else strata
    stratum = check_integers(function, "strata", values, ndim=1, least=0)
    check_length(function, "strata", stratum, len(rows))
    return stratum
