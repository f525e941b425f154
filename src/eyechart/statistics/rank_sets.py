"""Rank sets: which ranks each of several models may have, all at once, on the same samples.

A model's rank is 1 plus the number of models that are truly better. Overlapping intervals of single models do not
answer this: their intervals are not made for differences, and nothing controls how many pairs are compared.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_fractions, check_integers, check_length, require
from eyechart.statistics.joint_tests import random_signs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_CHUNK = 250  # draws at once
_TIE = 1e-9  # statistics that differ by less are equal but for the order of a sum


@dataclass(frozen=True)
class RankSets:
    """The ranks that k models may have.

    Args:
        lowest: (k,) ints from 1, the best rank that is not excluded.
        highest: (k,) ints up to k, the worst rank that is not excluded.
        p: (k, k) adjusted p-values; `p[i, j]` is that of "model i is not better than model j", 1 on the diagonal.
        effective_units: How many units of equal weight decide as much as the units that there are.
    """

    lowest: Ints
    highest: Ints
    p: Floats
    effective_units: float


def rank_sets(
    scores: ArrayLike,
    units: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    alpha: float = 0.05,
    draws: int = 2000,
    seed: int = 0,
) -> RankSets:
    """Return simultaneous confidence sets of the ranks of models by their mean score; more is better.

    With a probability of about 1 - alpha, every model's true rank lies in its set, tied models having each rank that
    their tie allows. For each ordered pair of models, the hypothesis is that the first is not better. Its statistic is
    the sum of the differences of the sampling units over the root of their sum of squares. Random signs, one for each
    unit and the same in all pairs, give the distribution of the largest statistic, and the step-down method adjusts
    for all pairs. A model's best rank is 1 plus the number of models that are shown to be better than it; its worst
    rank is k minus the number of models that it is shown to be better than.

    Limits: exact if the differences of each unit are symmetric around 0 where two models are equal, and otherwise
    right in large samples. Simulated coverage at 0.95 is 0.93 to 0.98 if all models are equal, with 12 units or more,
    and up to 1 if they differ. With fewer than 6 units nothing can be shown at 0.05.

    Args:
        scores: (k, n) finite scores of k models on the same n samples, such as outcomes 0 and 1.
        units: (n,) ints of at least 0, the sampling unit of each sample, such as its photograph or its patient. Every
            sample is a unit of its own without it. A unit may have samples of several splits.
        weights: (n,) positive, the weight of each sample in the mean; equal without it.
        alpha: In (0, 1), the probability that some set is wrong.
        draws: How many times signs are drawn, at least 100.
        seed: Of the draws.

    Returns:
        The best and the worst rank of each model, and the p-value of each ordered pair.

    Raises:
        ValueError: If an array has another shape, a score is not finite, a weight is not positive, or alpha or the
            number of draws is out of range.

    Source: M. Mogstad, J. P. Romano, A. Shaikh and D. Wilhelm, Review of Economic Studies 91 (2024) 476-518, the sets;
    J. P. Romano and M. Wolf, Journal of the American Statistical Association 100 (2005) 94-108, the step-down method.

    >>> right = [[1] * 40, [1] * 30 + [0] * 10, [0] * 10 + [1] * 30]
    >>> sets = rank_sets(right)
    >>> sets.lowest.tolist(), sets.highest.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    values = np.asarray(scores, np.float64)
    fits = values.ndim == 2 and values.shape[0] > 0 and bool(np.isfinite(values).all())
    require(fits, "rank_sets", "scores", "a finite array of 2 dimensions with at least one model", values)
    count, n = values.shape
    unit = np.arange(n) if units is None else check_integers("rank_sets", "units", units, ndim=1, least=0)
    check_length("rank_sets", "units", unit, n)
    weight = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    positive = weight.shape == (n,) and bool((np.isfinite(weight) & (weight > 0)).all())
    require(positive, "rank_sets", "weights", f"positive and of length {n}", weight)
    require(0 < alpha < 1, "rank_sets", "alpha", "between 0 and 1", alpha)
    require(draws >= 100, "rank_sets", "draws", "at least 100", draws)

    _, index = np.unique(unit, return_inverse=True)
    sums = np.array([np.bincount(index, weight * row) for row in values]).reshape(count, -1)
    unit_weights = np.bincount(index, weight)
    p = _adjusted_p_values(sums, draws, np.random.default_rng(seed))
    effective = float((unit_weights**2).sum() ** 2 / (unit_weights**4).sum()) if n else 0.0
    return sets_of_p_values(p, alpha, effective)


def sets_of_p_values(p: ArrayLike, alpha: float, effective_units: float = float("nan")) -> RankSets:
    """Return the rank sets that adjusted p-values of ordered pairs imply.

    Args:
        p: (k, k) adjusted p-values; `p[i, j]` is that of "model i is not better than model j".
        alpha: In (0, 1), the probability that some set is wrong.
        effective_units: Of the test, NaN if it is not known.

    Returns:
        The best and the worst rank of each model.

    Raises:
        ValueError: If the p-values are no square of fractions, or alpha is out of range.

    Source: as `rank_sets`.

    >>> sets_of_p_values([[1, 0.01], [1, 1]], 0.05).highest.tolist()
    [1, 2]
    """
    array = check_fractions("sets_of_p_values", "p", p, ndim=2)
    require(array.shape[0] == array.shape[1], "sets_of_p_values", "p", "square", array)
    require(0 < alpha < 1, "sets_of_p_values", "alpha", "between 0 and 1", alpha)
    better = array <= alpha
    return RankSets(1 + better.sum(axis=0), len(array) - better.sum(axis=1), array, effective_units)


def _adjusted_p_values(sums: Floats, draws: int, generator: np.random.Generator) -> Floats:
    """Return the p-values (k, k) of all ordered pairs from the weighted scores of the units (k, u)."""
    p = np.ones((len(sums), len(sums)))
    pairs = np.array([*combinations(range(len(sums)), 2)], np.int64).reshape(-1, 2)
    differing = (sums != sums[:1]).any(axis=0)  # a unit in which all models agree has no difference, whatever its sign
    deviations = sums[:, differing] - sums[:, differing].mean(axis=0)
    totals, sizes = np.array([_sum_and_size(deviations[i] - deviations[j]) for i, j in pairs]).reshape(-1, 2).T
    # Weights that are no binary fractions leave a rest of rounding in pairs that never differ: they are tied.
    distinct = sizes > 1e-12 * max(1.0, float(sizes.max(initial=0)))
    first, second = pairs[distinct].T
    if not len(first):
        return p
    size = sizes[distinct]
    statistic = totals[distinct] / size

    # Both directions of a pair are hypotheses of the one family, so a direction that is wrong is a false rejection as
    # any other, and stepping down is allowed. The drawn statistics of the second direction are those of the first with
    # the other sign.
    observed = np.concatenate([statistic, -statistic])
    order = np.argsort(-observed, kind="stable")
    least = observed[order] - _TIE * (1 + np.abs(observed[order]))  # of drawn statistics that equal the observed one
    reached = np.zeros(len(order), np.int64)
    for signs in random_signs(deviations.shape[1], draws, generator, _CHUNK):
        drawn = deviations @ signs
        drawn = (drawn[first] - drawn[second]) / size[:, None]
        both = np.concatenate([drawn, -drawn])[order]
        largest = np.maximum.accumulate(both[::-1], axis=0)[::-1]  # of a hypothesis and all that are less significant
        reached += (largest >= least[:, None]).sum(axis=1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate((reached + 1) / (draws + 1))  # the observed signs are one of the draws
    p[first, second], p[second, first] = adjusted[: len(first)], adjusted[len(first) :]
    return p


def _sum_and_size(difference: Floats) -> tuple[float, float]:
    return float(difference.sum()), float(np.sqrt((difference**2).sum()))
