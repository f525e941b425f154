"""Whether a slice of the samples changed more than the rest, for many slices at once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc, gammaln, stdtr

from eyechart.statistics._checks import check_integers, check_length, check_whole_number, require
from eyechart.statistics.clusters import sign_flip_p

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_TIE = 1e-9  # distances that differ by less are equal but for the order of a sum
_LEAST = 1e-40  # a probability below it adds nothing to a p-value that anybody reads


class SliceContrasts(NamedTuple):
    """The p-values of slices (s,), and the smallest ones that the numbers of changed units allow."""

    p: Floats
    least: Floats


def slice_contrasts(
    slices: ArrayLike, changes: ArrayLike, count: int, units: ArrayLike | None = None
) -> SliceContrasts:
    """Test each slice against the rest of the samples: whether its outcomes changed by more, or the other way.

    The p-value is the larger one of two, so that a slice is significant only by both.
    The first is a permutation test: if slice and rest changed alike, any samples could have been in the slice. It is
    exact for samples that are sampling units of their own, by all permutations of the changes; for larger units, it is
    their limit, Student's distribution with the variance over units.
    The second flips the signs of the changed units of the slice. The probability of a loss is 1/2, or, if the rest
    changed in the direction of the slice, what makes their means equal. It is exact if the rest did not change, and
    never below the p-value of the slice alone. It is needed because a slice whose outcomes go back and forth more often
    than the others has a large change by chance.
    A slice whose own change has the other direction than the difference, or that did not change, has the p-value 1.

    Limits: the mean of the rest is taken as known in the second test, which is nearly right for slices that are small.

    Args:
        slices: (n,) ints, the index of each sample's slice, -1 for a sample that is in the rest of every slice.
        changes: (n,) of -1, 0 and 1, the outcome after minus that before.
        count: How many slices there are.
        units: (n,) ints of at least 0, the sampling unit of each sample, such as its photograph or its patient. Every
            sample is a unit of its own without it. The samples of a unit may be in several slices.

    Returns:
        Two-sided p-values, 1 for a slice without samples and for one with all samples; and the smallest p-values that
        the second test can have, for `discrete_benjamini_hochberg`.

    Raises:
        ValueError: If the lengths differ, an index is out of range or a change is another number.

    Source: R. A. Fisher, The Design of Experiments (1935), Section 21, both tests; the union of both null hypotheses
    is tested as in R. L. Berger, Technometrics 24 (1982) 295-300.

    >>> lost = [0] * 40 + [-1] * 20 + [0] * 40
    >>> slice_contrasts([0] * 40 + [1] * 60, lost, 2).p.round(7).tolist()  # 20 of 60 samples against 0 of 40
    [1.0, 7.11e-05]
    >>> slice_contrasts([0, 1] * 50, [-1] * 100, 2).p.tolist()  # all changed alike
    [1.0, 1.0]
    """
    code = check_integers("slice_contrasts", "slices", slices, ndim=1, least=-1)
    change = check_integers("slice_contrasts", "changes", changes, ndim=1, least=-1, below=2)
    check_length("slice_contrasts", "changes", change, len(code))
    check_whole_number("slice_contrasts", "count", count)
    require(code.max(initial=-1) < count, "slice_contrasts", "slices", f"below {count}", slices)
    n = len(code)
    unit = np.arange(n) if units is None else check_integers("slice_contrasts", "units", units, ndim=1, least=0)
    check_length("slice_contrasts", "units", unit, n)

    _, unit = np.unique(unit, return_inverse=True)
    inside = code >= 0
    sizes = np.bincount(code[inside], minlength=count)
    sums = np.rint(np.bincount(code[inside], change[inside], minlength=count)).astype(np.int64)
    p, least = _sign_tests(code, change, unit, sizes, sums)
    tested = np.flatnonzero(p < 1)
    if unit.max(initial=-1) + 1 == n:
        permuted = _permutation_tests(change, sizes[tested], sums[tested])
    else:
        permuted = _unit_permutation_tests(code, change, unit, sizes, sums)[tested]
    p[tested] = np.maximum(p[tested], permuted)
    return SliceContrasts(p, least)


def _sign_tests(code: Ints, change: Ints, unit: Ints, sizes: Ints, sums: Ints) -> tuple[Floats, Floats]:
    """Return the p-values and the smallest possible ones of all slices, by signs of their changed units."""
    count, n, total = len(sizes), len(code), int(change.sum())
    moved = (code >= 0) & (change != 0)
    width = int(unit.max(initial=0)) + 1
    pairs, of_pair = np.unique(code[moved] * width + unit[moved], return_inverse=True)
    unit_sums = np.rint(np.bincount(of_pair.reshape(-1), change[moved], len(pairs))).astype(np.int64)
    slices, unit_sums = (pairs // width)[unit_sums != 0], unit_sums[unit_sums != 0]
    changed = np.bincount(slices, minlength=count)
    size = np.bincount(slices, np.abs(unit_sums), minlength=count)

    rest = np.where(sizes < n, total - sums, 0) / np.maximum(n - sizes, 1)  # the mean change of the rest
    loss = np.clip((1 - sizes * rest / np.maximum(size, 1)) / 2, 0, 1)  # the probability that a changed unit lost
    loss = np.where(sums < 0, np.maximum(loss, 0.5), np.minimum(loss, 0.5))
    lost = np.bincount(slices[unit_sums < 0], minlength=count)
    p = np.minimum(1, 2 * np.minimum(bdtr(lost, changed, loss), bdtrc(lost - 1, changed, loss)))
    for index in np.unique(slices[np.abs(unit_sums) > 1]).tolist():
        first, last = np.searchsorted(slices, [index, index + 1])
        p[index] = sign_flip_p(unit_sums[first:last], float(loss[index]))
    least = np.minimum(1, np.exp2(1.0 - changed))
    named = (sizes > 0) & (sizes < n) & (sums * (sums - sizes * rest) > 0)
    return np.where(named, p, 1.0), np.where((sizes > 0) & (sizes < n), least, 1.0)


def _permutation_tests(change: Ints, sizes: Ints, sums: Ints) -> Floats:
    """Return the p-values of slices over all permutations of the changes; slices of one size share them."""
    n, lost, gained = len(change), int((change < 0).sum()), int((change > 0).sum())
    p = np.empty(len(sizes))
    for size in np.unique(sizes).tolist():
        chances, first = _sum_of_drawn(n, lost, gained, size)
        expected = size * (gained - lost) / n
        distance = np.abs(first + np.arange(len(chances)) - expected)
        of_size = sizes == size
        reached = distance >= np.abs(sums[of_size] - expected)[:, None] - _TIE
        p[of_size] = np.minimum(1, reached @ chances)
    return p


def _sum_of_drawn(n: int, lost: int, gained: int, size: int) -> tuple[Floats, int]:
    """Return the probabilities of the sums of `size` of n changes, `lost` of which are -1 and `gained` 1.

    They are of the sums from the second result on.
    """
    losses, chances = _hypergeometric(n, lost, size)
    all_gains = np.arange(min(gained, size) + 1)
    first = -int(losses[-1])
    sums = np.zeros(int(losses[-1]) + len(all_gains))
    for drawn, chance in zip(losses.tolist(), chances.tolist(), strict=True):
        gains, of_gains = _hypergeometric(n - lost, gained, size - drawn)
        start = int(gains[0]) - drawn - first
        sums[start : start + len(gains)] += chance * of_gains
    return sums, first


def _hypergeometric(n: int, marked: int, size: int) -> tuple[Ints, Floats]:
    """Return the numbers of marked ones among `size` of n that have a probability, and the probabilities."""
    drawn = np.arange(max(0, size - (n - marked)), min(marked, size) + 1)
    if len(drawn) > 1:
        centre, spread = size * marked / n, (size * marked / n * (1 - marked / n) * (n - size) / max(1, n - 1)) ** 0.5
        near = np.abs(drawn - centre) <= 16 * spread + 100
        drawn = drawn[near]
    logs = _choices(marked, drawn) + _choices(n - marked, size - drawn) - _choices(n, np.array(size))
    chances = np.exp(logs)
    kept = chances > _LEAST
    return drawn[kept], chances[kept]


def _choices(n: int, k: Ints) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), np.float64)


def _unit_permutation_tests(code: Ints, change: Ints, unit: Ints, sizes: Ints, sums: Ints) -> Floats:
    """Return the p-values of slices by the variance over units: theirs, or if larger, that of units drawn at random."""
    n, count = len(code), len(sizes)
    deviations = change - change.mean()
    of_units = np.bincount(unit, deviations)
    inside = code >= 0
    pairs, of_pair, in_slice = np.unique(
        code[inside] * len(of_units) + unit[inside], return_inverse=True, return_counts=True
    )
    parts = np.bincount(of_pair.reshape(-1), deviations[inside], len(pairs))  # of a unit, in a slice
    slices, units = pairs // len(of_units), pairs % len(of_units)

    # The sum of a slice minus its share of the whole is a sum over units, whose squares add up to its variance.
    share, total = sizes / n, float((of_units**2).sum())
    own = np.bincount(slices, parts**2, minlength=count)
    both = np.bincount(slices, parts * of_units[units], minlength=count)
    variance = np.maximum(own - 2 * share * both + share**2 * total, share * (1 - share) * total)
    variance *= len(of_units) / max(1, len(of_units) - 1)
    distance = np.abs(sums - sizes * change.mean())
    z = np.divide(distance, np.sqrt(variance), out=np.zeros(count), where=variance > 0)
    whole = np.bincount(slices[in_slice == np.bincount(unit)[units]], minlength=count)  # units of the slice alone
    inner, outer = np.bincount(slices, minlength=count), len(of_units) - whole
    freedom = np.maximum(1, np.minimum(inner, outer) - 1)  # of the smaller side
    return np.asarray(np.minimum(1, 2 * stdtr(freedom, -z)), np.float64)
