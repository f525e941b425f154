"""Operating points of scores of two classes: the sensitivity at a given specificity, the reverse, and thresholds."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_length, check_outcomes, require
from eyechart.statistics._sweeps import check_vector, run_ends
from eyechart.statistics.measures import Measure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_ROUNDING = 1e-9


def sensitivity_at_specificity(scores: ArrayLike, positive: ArrayLike, specificity: float) -> Measure:
    """Return the largest sensitivity of a threshold whose specificity is at least a given one.

    A sample is called positive if its score reaches the threshold. The threshold is chosen on the same samples, and
    anew in each resample, so that intervals have the error of choosing it.

    Args:
        scores: (n,) any numbers, higher for a sample that is more likely positive.
        positive: (n,) of 1, 0 and NaN; a sample where either is NaN is left out.
        specificity: In (0, 1].

    Returns:
        Measure, NaN unless samples of both classes count. Each class is resampled by itself.

    Raises:
        ValueError: If the lengths differ, `positive` has something else or the specificity is out of range.

    Source: scikit-learn's roc_curve, the largest true positive rate where the false positive rate is at most one less
    the specificity.

    >>> sensitivity_at_specificity([0.9, 0.8, 0.7, 0.4, 0.2], [1, 0, 1, 1, 0], 0.5).value
    1.0
    >>> round(sensitivity_at_specificity([0.9, 0.8, 0.7, 0.4, 0.2], [1, 0, 1, 1, 0], 0.9).value, 3)
    0.333
    """
    return _measure("sensitivity_at_specificity", scores, positive, "specificity", specificity)


def specificity_at_sensitivity(scores: ArrayLike, positive: ArrayLike, sensitivity: float) -> Measure:
    """Return the largest specificity of a threshold whose sensitivity is at least a given one.

    Args:
        scores: As for `sensitivity_at_specificity`.
        positive: As for `sensitivity_at_specificity`.
        sensitivity: In (0, 1].

    Returns:
        Measure, as `sensitivity_at_specificity`.

    Raises:
        ValueError: As `sensitivity_at_specificity`.

    Source: as `sensitivity_at_specificity`.

    >>> specificity_at_sensitivity([0.9, 0.8, 0.7, 0.4, 0.2], [1, 0, 1, 1, 0], 0.9).value
    0.5
    """
    negated, others = -np.asarray(scores, np.float64), 1 - np.asarray(positive, np.float64)
    return _measure("specificity_at_sensitivity", negated, others, "sensitivity", sensitivity)


def threshold_at_specificity(scores: ArrayLike, positive: ArrayLike, specificity: float) -> float:
    """Return the smallest threshold whose specificity is at least a given one.

    A sample is called positive if its score reaches the threshold. Of the thresholds with that specificity this one has
    the largest sensitivity, that of `sensitivity_at_specificity`.

    Args:
        scores: As for `sensitivity_at_specificity`.
        positive: As for `sensitivity_at_specificity`.
        specificity: In (0, 1].

    Returns:
        One of the scores, or the next number above all of them if each of them calls too many samples positive. NaN
        unless samples of both classes count, or if no number is large enough.

    Raises:
        ValueError: As `sensitivity_at_specificity`.

    Source: as `sensitivity_at_specificity`.

    >>> threshold_at_specificity([0.9, 0.8, 0.7, 0.4, 0.2], [1, 0, 1, 1, 0], 0.5)
    0.4
    >>> threshold_at_specificity([0.9, 0.8, 0.7, 0.4, 0.2], [1, 0, 1, 1, 0], 0.9)
    0.9
    """
    called, others = _classes("threshold_at_specificity", scores, positive, "specificity", specificity)
    if not len(called) or not len(others):
        return float("nan")
    known = np.union1d(called, others)
    thresholds = np.append(known, np.nextafter(known[-1], np.inf))
    reached = np.searchsorted(np.sort(others), thresholds) / len(others) >= specificity - _ROUNDING
    return float(thresholds[reached.argmax()]) if reached.any() else float("nan")


def threshold_at_sensitivity(scores: ArrayLike, positive: ArrayLike, sensitivity: float) -> float:
    """Return the largest threshold whose sensitivity is at least a given one.

    Args:
        scores: As for `sensitivity_at_specificity`.
        positive: As for `sensitivity_at_specificity`.
        sensitivity: In (0, 1].

    Returns:
        One of the scores of positive samples. NaN unless samples of both classes count.

    Raises:
        ValueError: As `sensitivity_at_specificity`.

    Source: as `sensitivity_at_specificity`.

    >>> threshold_at_sensitivity([0.9, 0.8, 0.7, 0.4, 0.2], [1, 0, 1, 1, 0], 0.6)
    0.7
    """
    called, others = _classes("threshold_at_sensitivity", scores, positive, "sensitivity", sensitivity)
    if not len(called) or not len(others):
        return float("nan")
    needed = int(np.ceil(sensitivity * len(called) - _ROUNDING))
    return float(np.sort(called)[-needed])


def _classes(function: str, scores: ArrayLike, positive: ArrayLike, name: str, least: float) -> tuple[Floats, Floats]:
    """Return the scores of the positive samples that count, and those of the others."""
    score, outcome = _check(function, scores, positive, name, least)
    return score[(outcome == 1) & ~np.isnan(score)], score[(outcome == 0) & ~np.isnan(score)]


def _check(function: str, scores: ArrayLike, positive: ArrayLike, name: str, least: float) -> tuple[Floats, Floats]:
    """Return the scores and outcomes (n,)."""
    score = check_vector(function, "scores", scores)
    outcome = check_outcomes(function, "positive", positive, ndim=1)
    check_length(function, "positive", outcome, len(score))
    require(0 < least <= 1, function, name, "above 0 and at most 1", least)
    return score, outcome


def _measure(function: str, scores: ArrayLike, positive: ArrayLike, name: str, least: float) -> Measure:
    """Return the largest share of positive samples that are kept while a share of at least `least` others is not."""
    score, outcome = _check(function, scores, positive, name, least)
    known = np.flatnonzero(~np.isnan(score) & ~np.isnan(outcome))
    rows = known[np.argsort(-score[known], kind="stable")]
    ends, kinds = run_ends(score[rows]), outcome[rows].astype(np.int64)

    def share(counts: Ints) -> Floats:
        hits, alarms = (np.cumsum(counts * kind, axis=-1) for kind in (kinds, 1 - kinds))
        totals = [sums[..., -1:] if sums.shape[-1] else np.zeros((*sums.shape[:-1], 1)) for sums in (hits, alarms)]
        allowed = alarms[..., ends] <= (1 - least) * totals[1] + _ROUNDING
        kept = np.where(allowed, hits[..., ends], 0).max(axis=-1, initial=0)
        n, others = totals[0][..., 0], totals[1][..., 0]
        shares: Floats = np.divide(kept, n, out=np.full(np.shape(kept), np.nan), where=(n > 0) & (others > 0))
        return shares

    return Measure((function, least, score[rows], kinds), len(score), rows, share, kinds)
