"""A test of many paired changes at once, which knows how they depend on one another.

Before and after are exchangeable in every unit where nothing changed. Exchanging them turns the sign of the unit's
change in all numbers at once, so that numbers of the same images keep their correlation.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from eyechart.statistics._checks import check_integers, check_length, check_whole_number, require

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
DRAWS = 10_000
_CHUNK = 500  # draws at once
_UNITS = 4096  # units at once, for the correlation
_MOST_FLIPS = 2 * 10**10  # numbers × units × draws, which take about a second
_MOST_CORRELATED = 2000  # numbers with a matrix of correlations
_CHUNK_SIZE = 10**7  # signs or statistics at once
_SIGNS = 1 - 2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)  # of a byte's bits
_WHOLE = 2**24  # a sum of whole numbers of this size in all has no rounding error in single precision
_TIE = 1e-5  # equal statistics differ by so much in single precision, relative or absolute


def sign_flip_max_t(
    numbers: ArrayLike, units: ArrayLike, changes: ArrayLike, count: int, draws: int = DRAWS, seed: int = 0
) -> Floats:
    """Return p-values of paired changes, adjusted for all of them with the step-down method on the largest statistic.

    The statistic of a number is the absolute sum of its units' changes over the root of their sum of squares. Its
    distribution, and that of the largest of several, comes from random signs that all numbers share: one sign per unit.
    The chance of any p ≤ alpha among numbers whose units are exchangeable is at most alpha. A number with few changed
    units has a bounded statistic, and therefore takes nothing from the others; nor does a copy of another number.
    Whole changes are added up without rounding, so that equal sums are equal on every processor.
    Where numbers × units × draws is above 2 · 10^10, the signs of at most 2,000 numbers are replaced by their limit, a
    normal distribution with the same correlation; those of more numbers are multiplied with the changes alone.

    Args:
        numbers: (c,) ints from 0 to count - 1. For each change that is not 0, the index of the number (such as the
            accuracy of one case) that changed. A number has at most one change in a unit.
        units: (c,) ints of at least 0. For each change, the index of the unit (such as an image) in which it is.
        changes: (c,) finite, the size of each change, in any scale of its number.
        count: How many numbers there are, with those that did not change.
        draws: At least 100, all 2^units signs where these are fewer.
        seed: Of the draws.

    Returns:
        (count,) p-values, two-sided; at least 1 / (draws + 1) where signs are drawn; 1 for a number without changes.

    Raises:
        ValueError: If the lengths differ, an index is out of range, a change is not finite or there are too few draws.

    Source: P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing (1993), Algorithm 4.1; the limit is that
    of J. P. Romano and M. Wolf, Journal of the American Statistical Association 100 (2005) 94-108.

    >>> sign_flip_max_t([0, 0, 0, 0, 0], [0, 1, 2, 3, 4], [-1, -1, -1, -1, -1], 2).tolist()  # as McNemar's test
    [0.0625, 1.0]
    """
    number, unit = (
        check_integers("sign_flip_max_t", name, indices, ndim=1, least=0)
        for name, indices in (("numbers", numbers), ("units", units))
    )
    change = np.asarray(changes, np.float64)
    require(change.ndim == 1 and bool(np.isfinite(change).all()), "sign_flip_max_t", "changes", "finite", changes)
    for name, values in (("units", unit), ("changes", change)):
        check_length("sign_flip_max_t", name, values, len(number))
    check_whole_number("sign_flip_max_t", "count", count)
    require(number.max(initial=-1) < count, "sign_flip_max_t", "numbers", f"below {count}", numbers)
    require(draws >= 100, "sign_flip_max_t", "draws", "at least 100", draws)
    # 1. A number whose changes are all 0 cannot be significant. It keeps p = 1 and takes no part in the test.
    sizes = np.sqrt(np.bincount(number, change**2, minlength=count))
    tested = np.flatnonzero(sizes > 0)
    adjusted = np.ones(count)
    if not len(tested):
        return adjusted
    # 2. The changes are a sparse matrix: one row for each tested number, one column for each unit that changed.
    index = np.full(count, -1)
    index[tested] = np.arange(len(tested))
    kept = change != 0
    known, column = np.unique(unit[kept], return_inverse=True)
    rows, moved = index[number[kept]], change[kept]
    # 3. Whole changes are divided after they are added up, so that equal sums are equal in every bit. A sum of other
    #    changes has rounding errors anyway, and _step_down allows for them.
    scaled = (moved / sizes[number[kept]]).astype(np.float32)
    whole = bool((moved == np.rint(moved)).all()) and np.bincount(rows, np.abs(moved)).max() <= _WHOLE
    weights = moved.astype(np.float32) if whole else scaled
    divisor = (sizes[tested] if whole else np.ones(len(tested))).astype(np.float32)
    statistics = np.abs(np.bincount(rows, weights.astype(np.float64), len(tested)).astype(np.float32) / divisor)
    # 4. All signs are enumerated if they are fewer than the draws. A large problem uses the normal limit, or multiplies
    #    the sparse matrix if the matrix of correlations would not fit in memory.
    shape = (len(tested), len(known))
    generator = np.random.default_rng(seed)
    large = _is_large(*shape, draws)
    exact = takes_all_signs(shape[1], draws)
    if takes_normal_limit(*shape, draws):
        drawn = _normal_statistics(rows, column, scaled, shape, draws, generator)
    else:
        matrix = csr_array((weights, (rows, column)), shape)
        if large:  # numbers with the same units follow each other, so that their signs are in the processor's cache
            order = np.argsort(column[np.unique(rows, return_index=True)[1]], kind="stable")
            matrix, statistics, divisor, tested = matrix[order], statistics[order], divisor[order], tested[order]
        else:
            matrix = matrix.toarray()
        chunk = int(min(_CHUNK, max(1, _CHUNK_SIZE // max(shape)))) if large else _CHUNK
        signs = _all_signs(shape[1]) if exact else random_signs(shape[1], draws, generator, chunk)
        drawn = (matrix @ part / divisor[:, None] for part in signs)
    adjusted[tested] = _step_down(statistics, drawn, exact=exact)
    return adjusted


def takes_all_signs(units: int, draws: int = DRAWS) -> bool:
    """Return whether `sign_flip_max_t` takes all signs of some units, since these are no more than the draws.

    Args:
        units: The number of units that changed in any number.
        draws: How many times signs would be drawn.

    Returns:
        Whether the p-values are exact: a share of all 2^units signs.

    Source: own definition.

    >>> takes_all_signs(13), takes_all_signs(14)
    (True, False)
    """
    return bool(2 ** min(units, 62) <= draws)


def takes_normal_limit(numbers: int, units: int, draws: int = DRAWS) -> bool:
    """Return whether `sign_flip_max_t` replaces the signs by their limit, a normal distribution.

    Args:
        numbers: How many numbers changed in some unit.
        units: The number of units that changed in any number.
        draws: How many times signs are drawn.

    Returns:
        Whether numbers × units × draws is above 2 · 10^10, for at most 2,000 numbers.

    Source: own definition.

    >>> takes_normal_limit(6, 500), takes_normal_limit(1058, 50_000), takes_normal_limit(5000, 50_000)
    (False, True, False)
    """
    return _is_large(numbers, units, draws) and numbers <= _MOST_CORRELATED


def _is_large(numbers: int, units: int, draws: int) -> bool:
    return numbers * units * draws > _MOST_FLIPS


def _step_down(statistics: Singles, drawn: Iterator[Singles], *, exact: bool) -> Floats:
    """Return the adjusted p-values of statistics (m,) from chunks of drawn ones (m, draws)."""
    # The numbers stand from the largest statistic to the smallest one. A number is compared with the largest drawn
    # statistic of itself and of all numbers behind it, since those before it are decided already.
    order = np.argsort(-statistics, kind="stable")
    least = (statistics[order] * (1 - _TIE) - _TIE).astype(np.float32)
    reached, total = np.zeros(len(order), np.int64), 0
    for chunk in drawn:
        largest = np.maximum.accumulate(np.abs(chunk)[order[::-1]], axis=0)[::-1]
        reached += (largest >= least[:, None]).sum(axis=1)
        total += chunk.shape[1]
    observed = 0 if exact else 1  # the observed signs are one of the drawn ones
    # No number may have a smaller p-value than one with a larger statistic: the second maximum makes them monotone.
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate((reached + observed) / (total + observed))
    return np.minimum(adjusted, 1.0)


def _all_signs(units: int) -> Iterator[Singles]:
    """Yield all signs (units, 2^units) of some units."""
    numbers = np.arange(2**units)
    yield (1 - 2 * ((numbers >> np.arange(units)[:, None]) & 1)).astype(np.float32)


def random_signs(units: int, draws: int, generator: np.random.Generator, chunk: int) -> Iterator[Singles]:
    """Yield random signs of units, some draws at a time.

    Args:
        units: The number of units.
        draws: How many times signs are drawn.
        generator: The source of randomness.
        chunk: The most draws that are yielded at once.

    Returns:
        Arrays (units, at most chunk) of -1 and 1, of all draws together.

    Source: own definition; a sign is a bit of a random byte.

    >>> [signs.shape for signs in random_signs(3, 5, np.random.default_rng(0), 4)]
    [(3, 4), (3, 1)]
    """
    for start in range(0, draws, chunk):
        size = min(chunk, draws - start)
        numbers = generator.integers(0, 256, (units, (size + 7) // 8), np.uint8)
        yield _SIGNS[numbers].reshape(units, -1)[:, :size]


def _normal_statistics(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    scaled: Singles,
    shape: tuple[int, int],
    draws: int,
    generator: np.random.Generator,
) -> Iterator[Singles]:
    """Yield statistics (m, draws) with a normal distribution of mean 0 and the correlation of the changes."""
    # The correlation of two numbers is the sum of the products of their scaled changes. It is added up over blocks of
    # units, so that only one block is a dense matrix at a time.
    order = np.argsort(columns, kind="stable")
    ends = np.searchsorted(columns[order], np.arange(_UNITS, shape[1] + _UNITS, _UNITS))
    correlation = np.zeros((shape[0], shape[0]), np.float32)
    for number, some in enumerate(np.split(order, ends[:-1])):
        part = np.zeros((shape[0], _UNITS), np.float32)
        part[rows[some], columns[some] - number * _UNITS] = scaled[some]
        correlation += part @ part.T
    values, vectors = np.linalg.eigh(correlation)
    # The symmetric root is unique. Eigenvectors alone are not: libraries return different ones for equal eigenvalues,
    # and the draws would differ between machines.
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    for start in range(0, draws, _CHUNK):
        size = min(_CHUNK, draws - start)
        yield root @ generator.standard_normal((shape[0], size), np.float32)
