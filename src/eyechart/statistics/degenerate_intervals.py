"""Intervals for samples whose bootstrap resamples are all equal; a percentile interval would be a point."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import check_integers, check_length, check_whole_number, require
from eyechart.statistics.intervals import Interval, wilson
from eyechart.statistics.resampling import percentile_interval
from eyechart.statistics.yes_no import MEASURES, confusion_measures

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # how far apart sums of equal shares in another order may be


def max_unseen_share(n: int, level: float = 0.95) -> float:
    """Return the largest plausible share of units of a kind that does not occur in a sample: Wilson's upper end.

    Args:
        n: Units, at least 1.
        level: In (0, 1).

    Returns:
        A fraction, z² / (n + z²).

    Raises:
        ValueError: For n below 1 or no level.

    Source: E. B. Wilson, JASA 22 (1927) 209-212, at 0 of n.

    >>> round(max_unseen_share(41), 4)
    0.0857
    """
    return wilson(0, check_whole_number("max_unseen_share", "n", n, least=1), level).high


def share_interval(draws: ArrayLike, share: float, n: int, level: float = 0.95) -> Interval:
    """Return the percentile interval of a share; if all resamples agree, allow for units that did not occur.

    Args:
        draws: (times,) of the share, as its resamples have it.
        share: In [0, 1] as observed.
        n: Units that were resampled, at least 1.
        level: In (0, 1).

    Returns:
        Interval of fractions. If all draws are equal, it allows for unseen units; at 0 or 1 it is Wilson's.

    Raises:
        ValueError: If the share, n or the level is out of range.

    Source: own definition, from `max_unseen_share`.

    >>> low, high = share_interval([1.0, 1.0, 1.0], 1.0, 41)
    >>> round(low, 4), high
    (0.9143, 1.0)
    """
    require(0 <= share <= 1, "share_interval", "share", "in [0, 1]", share)
    if not is_constant(draws):
        return percentile_interval(draws, level)
    other = max_unseen_share(n, level)
    return Interval((1 - other) * share, (1 - other) * share + other)


def measure_intervals(
    tables: ArrayLike, draws: dict[str, Floats], level: float = 0.95, clusters: ArrayLike | None = None
) -> dict[str, Interval]:
    """Return percentile intervals of the yes/no measures; if all resamples agree, allow for unseen units.

    A unit is a pair, or a cluster of pairs such as an image. The other units are as large as the mean one and have all
    questions of either kind answered in one way; `max_unseen_share` gives their share of the mixture, and the
    interval holds the measures of all such mixtures.

    Args:
        tables: (m, 4), each pair's counts as `yes_no.confusion_tables` gives them.
        draws: Each measure's (times,) values of resamples.
        level: In (0, 1).
        clusters: (m,), the unit of each pair that was resampled, None if each is its own.

    Returns:
        For each of MEASURES an Interval around its value; NaN without an answer.

    Raises:
        ValueError: If there are not four counts, the clusters are no m whole numbers or the level is no level.

    Source: own definition.

    >>> points = dict.fromkeys(MEASURES, np.ones(9))
    >>> low, high = measure_intervals([[1, 0, 0, 1]] * 41, points)["mcc"]  # every answer is right
    >>> round(low, 3), high
    (0.829, 1.0)
    >>> low, high = measure_intervals([[1, 0, 0, 1]] * 82, points, clusters=[*range(41)] * 2)["mcc"]  # of 41 images
    >>> round(low, 3), high
    (0.829, 1.0)
    """
    rows = check_integers("measure_intervals", "tables", tables, ndim=2, least=0)
    require(rows.shape[1] == 4, "measure_intervals", "tables", "of shape (m, 4)", rows)
    cluster_values = np.arange(len(rows)) if clusters is None else clusters
    unit = check_integers("measure_intervals", "clusters", cluster_values, ndim=1, least=0)
    check_length("measure_intervals", "clusters", unit, len(rows))
    answered = rows.sum(axis=1) > 0
    units = len(np.unique(unit[answered]))
    constant = identical_unit_intervals(rows.sum(axis=0) / units, units, level) if units else {}
    return {
        name: constant[name] if units and is_constant(draws[name]) else percentile_interval(draws[name], level)
        for name in MEASURES
    }


def is_constant(draws: ArrayLike) -> bool:
    """Return whether all bootstrap samples that have a value are equal up to rounding.

    Args:
        draws: (times,), NaN where a resample has no value.

    Returns:
        True also where no draw has a value.

    Raises:
        ValueError: If a draw is no number.

    Source: own definition.

    >>> is_constant([0.5, float("nan"), 0.5]), is_constant([0.5, 0.6])
    (True, False)
    """
    values = np.asarray(draws, np.float64)
    known = values[~np.isnan(values)]
    return not known.size or bool(np.ptp(known) <= ROUNDING)


def identical_unit_intervals(row: ArrayLike, n: int, level: float = 0.95) -> dict[str, Interval]:
    """Return the intervals of the yes/no measures for n units whose resamples are all equal.

    Args:
        row: (4,), the mean unit's true and false positives, false and true negatives, not always whole.
        n: The number of units, at least 1.
        level: The confidence level, in (0, 1).

    Returns:
        For each of MEASURES an Interval around the measure of `row`.

    Raises:
        ValueError: For n below 1 or no level.

    Source: own definition, as `measure_intervals` says; every measure grows with the true positives and falls with the
    false ones, so that units that are all right or all wrong about either question give its extremes.

    >>> low, high = identical_unit_intervals([0, 0, 1, 1], 41)["recall"]  # never yes
    >>> low, round(high, 4)
    (0.0, 0.0857)
    """
    mean = np.asarray(row, np.float64)
    yes, no = mean[0] + mean[2], mean[1] + mean[3]
    kinds = np.array([[a, b, yes - a, no - b] for a in (0.0, yes) for b in (0.0, no)])
    share = max_unseen_share(n, level)
    measures = confusion_measures(np.concatenate([mean[None], (1 - share) * mean + share * kinds]))
    return {name: Interval(float(values.min()), float(values.max())) for name, values in measures.items()}
