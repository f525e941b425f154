"""Wordings of a prompt as a source of variance: how a result varies over them, and what a choice among them costs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, stdtrit

from eyechart.statistics._checks import check_integers, check_length, check_outcomes, require
from eyechart.statistics.intervals import Interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FOLDS, REPEATS, DRAWS = 10, 5, 500
_NONE = Interval(float("nan"), float("nan"))
_NEAR_ONE = 0.95  # accuracy from which the interval of a new wording is made on the scale of log odds
_TIE = 1e-9  # wordings whose accuracies differ by less are equal, and one of them is drawn


@dataclass(frozen=True)
class WordingComponents:
    """Components of the variance of an outcome: of wordings, of sampling units, and the rest.

    The rest is the interaction of wordings and units and, if answers are sampled, the chance of an answer: with one
    answer to each wording the two cannot be told apart. Each component is at least 0; `negative` names those whose
    estimate was below.
    """

    wording: float
    unit: float
    rest: float
    negative: tuple[str, ...] = ()


@dataclass(frozen=True)
class BestWording:
    """The accuracy of the procedure "take the best wording".

    `observed` is the highest accuracy, on the samples on which it was chosen. `value` is the accuracy on samples that
    did not choose, and `ci` its interval.
    """

    index: int
    observed: float
    value: float
    ci: Interval


def wording_components(outcomes: ArrayLike, units: ArrayLike | None = None) -> WordingComponents:
    """Return the components of the variance of outcomes under several wordings of one prompt.

    Args:
        outcomes: (n, t) of 0 and 1, of n samples under t wordings, both at least 2.
        units: (n,) ints of at least 0, the sampling unit of each sample; every sample is its own without it.

    Returns:
        Variances, of which that of units and the rest are of unit means.

    Raises:
        ValueError: If there are too few samples, wordings or units, or an outcome is something else.

    Source: S. R. Searle, G. Casella and C. E. McCulloch, Variance Components (1992), Section 4: two crossed random
    factors with one observation in each cell.

    >>> found = wording_components([[1, 0], [1, 0], [1, 1], [0, 0]])
    >>> round(found.wording, 3), round(found.unit, 3), round(found.rest, 3)
    (0.083, 0.083, 0.167)
    """
    values = _by_unit("wording_components", outcomes, units)
    n, t = values.shape
    require(n > 1, "wording_components", "outcomes", "of at least 2 sampling units", values)
    mean, by_wording, by_unit = values.mean(), values.mean(axis=0), values.mean(axis=1)
    square_wording = n * float(((by_wording - mean) ** 2).sum()) / (t - 1)
    square_unit = t * float(((by_unit - mean) ** 2).sum()) / (n - 1)
    rest = float(((values - by_wording - by_unit[:, None] + mean) ** 2).sum()) / ((n - 1) * (t - 1))
    found = {"wording": (square_wording - rest) / n, "unit": (square_unit - rest) / t}
    negative = tuple(name for name, value in found.items() if value < 0)
    return WordingComponents(max(0.0, found["wording"]), max(0.0, found["unit"]), rest, negative)


def new_wording_interval(accuracies: ArrayLike, level: float = 0.95) -> Interval:
    """Return the interval of the accuracy that a new wording would have on the same samples.

    The wordings are taken as drawn from those that somebody may write. Their variance about the mean has everything
    that a new wording adds, so that neither the number of samples nor their clusters matter beside it. With a mean
    above 0.95 the interval is made on the scale of log odds.

    Limits: simulated coverage at 0.95 is 0.93 to 0.97 for 3, 5 and 15 wordings and 60 to 1,000 samples. With 3
    wordings it is wide: about ± 20 points if the accuracies vary by 4 points.

    Args:
        accuracies: (t,) accuracy of each wording, a fraction.
        level: In (0, 1).

    Returns:
        Interval inside [0, 1]; NaN with fewer than 3 wordings.

    Raises:
        ValueError: If an accuracy is no fraction or the level is no level.

    Source: Student's prediction interval of one more value with t - 1 degrees of freedom.

    >>> low, high = new_wording_interval([0.80, 0.82, 0.84, 0.78, 0.81])
    >>> round(low, 3), round(high, 3)
    (0.742, 0.878)
    """
    values = np.asarray(accuracies, np.float64)
    fits = values.ndim == 1 and bool(((values >= 0) & (values <= 1)).all())
    require(fits, "new_wording_interval", "accuracies", "a vector of fractions", values)
    require(0 < level < 1, "new_wording_interval", "level", "between 0 and 1", level)
    t = len(values)
    if t < 3:
        return _NONE
    scale = logit if values.mean() > _NEAR_ONE and values.max() < 1 else np.asarray
    scaled = np.asarray(scale(values), np.float64)
    half = float(stdtrit(t - 1, (1 + level) / 2)) * float(np.sqrt((1 + 1 / t) * scaled.var(ddof=1)))
    low, high = scaled.mean() - half, scaled.mean() + half
    if scale is logit:
        return Interval(float(expit(low)), float(expit(high)))
    return Interval(max(0.0, float(low)), min(1.0, float(high)))


def best_wording(
    outcomes: ArrayLike, units: ArrayLike | None = None, level: float = 0.95, seed: int = 0
) -> BestWording:
    """Return the accuracy of the best of several wordings, without the gain from choosing on the same samples.

    The accuracy is cross-fitted: the best wording of nine tenths of the sampling units is read on the other tenth, five
    times. The interval has the percentiles of 500 bootstrap samples, in each of which the best wording of the units
    that were drawn is read on those that were not.

    Limits: the highest accuracy itself is 7 points too high on average with 15 equal wordings and 60 samples, and 2
    with 1,000. Simulated, the cross-fitted value is off by at most 0.7 points, and the interval covers the true
    accuracy of the chosen wording in 0.947 to 1 of sessions at 0.95: it is as wide as that of half of the samples.

    Args:
        outcomes: (n, t) of 0 and 1, of n samples under t wordings.
        units: (n,) ints of at least 0, the sampling unit of each sample; every sample is its own without it.
        level: In (0, 1), of the interval.
        seed: Of folds and draws.

    Returns:
        The best wording with both accuracies; the interval is NaN with fewer than 10 units.

    Raises:
        ValueError: If an outcome is something else, the lengths differ or the level is no level.

    Source: I. Tsamardinos, E. Greasidou and G. Borboudakis, Machine Learning 107 (2018) 1895-1922, the interval.

    >>> best = best_wording([[1, 0, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1]] * 10)
    >>> best.index, best.observed, best.value <= best.observed
    (0, 0.75, True)
    """
    values, unit = _check_outcomes("best_wording", outcomes, units)
    require(0 < level < 1, "best_wording", "level", "between 0 and 1", level)
    generator = np.random.default_rng(seed)
    sums = np.stack([np.bincount(unit, column) for column in values.T], axis=1)
    sizes = np.bincount(unit).astype(np.float64)
    count = len(sizes)
    accuracies = values.mean(axis=0)
    index = int(np.argmax(accuracies > accuracies.max() - _TIE))
    if count < FOLDS:
        return BestWording(index, float(accuracies.max()), float("nan"), _NONE)

    def choose(counts: Floats) -> int:
        """Return the best wording of units that count so often; of equal ones, one by chance."""
        correct = counts @ sums
        best = np.flatnonzero(correct >= correct.max() - _TIE)
        return int(generator.choice(best)) if len(best) > 1 else int(best[0])

    # The value: a wording is chosen on all folds but one, and counted on that one, which it was not chosen by.
    correct = 0.0
    for _ in range(REPEATS):
        fold = generator.permutation(count) % FOLDS
        for held_out in (fold == number for number in range(FOLDS)):
            correct += sums[held_out, choose((~held_out).astype(np.float64))].sum()
    # The interval: a wording is chosen on a bootstrap sample of units, and counted on the units that it left out.
    drawn = np.full(DRAWS, np.nan)
    for draw in range(DRAWS):
        counts = np.bincount(generator.integers(count, size=count), minlength=count).astype(np.float64)
        left = counts == 0
        if left.any():
            drawn[draw] = sums[left, choose(counts)].sum() / sizes[left].sum()
    low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    ci = Interval(float(low), float(high))
    return BestWording(index, float(accuracies.max()), float(correct / REPEATS / sizes.sum()), ci)


def _by_unit(function: str, outcomes: ArrayLike, units: ArrayLike | None) -> Floats:
    """Return the mean outcome of each unit under each wording (u, t)."""
    values, unit = _check_outcomes(function, outcomes, units)
    sizes = np.bincount(unit)
    return np.stack([np.bincount(unit, column) / sizes for column in values.T], axis=1)


def _check_outcomes(function: str, outcomes: ArrayLike, units: ArrayLike | None) -> tuple[Floats, Ints]:
    """Return the outcomes (n, t) and the units (n,), numbered from 0 without a gap."""
    values = check_outcomes(function, "outcomes", outcomes, ndim=2)
    require(
        not np.isnan(values).any(),
        function,
        "outcomes",
        "without NaN: leave out what a wording has not answered",
        outcomes,
    )
    require(
        values.shape[0] > 0 and values.shape[1] > 1,
        function,
        "outcomes",
        "of samples under at least 2 wordings",
        values,
    )
    unit = np.arange(len(values)) if units is None else check_integers(function, "units", units, ndim=1, least=0)
    check_length(function, "units", unit, len(values))
    return values, np.unique(unit, return_inverse=True)[1].astype(np.int64)
