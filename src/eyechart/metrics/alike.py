"""How sure a number is where resamples cannot differ, since all units are alike: a bootstrap would make it a point."""

from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics._checks import demand, integers, whole
from eyechart.metrics.intervals import Interval, wilson
from eyechart.metrics.resampling import percentile
from eyechart.metrics.yes_no import MEASURES, measures

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # how far apart sums of equal shares in another order may be


def unseen(n: int, level: float = 0.95) -> float:
    """The largest share that units of a kind may have of which none was seen: the upper end of Wilson's interval.

    Args: `n` units, at least 1; `level` in (0, 1).
    Returns: a fraction, z² / (n + z²).
    Raises: ValueError for n below 1 or no level.
    Source: E. B. Wilson, JASA 22 (1927) 209-212, at 0 of n.

    >>> round(unseen(41), 4)
    0.0857
    """
    return wilson(0, whole("unseen", "n", n, least=1), level).high


def share_interval(draws: ArrayLike, share: float, n: int, level: float = 0.95) -> Interval:
    """The percentile interval of a share; where no resample differs, what units without and with it could make of it.

    Args: `draws` (times,) of the share, as its resamples have it; `share` in [0, 1] as observed; `n` units that were
    resampled, at least 1; `level` in (0, 1).
    Returns: Interval of fractions; where the draws are all alike but for rounding, at a share of 0 or 1 it is Wilson's.
    Raises: ValueError where the share, n or the level is out of range.
    Source: own definition, from `unseen`.

    >>> low, high = share_interval([1.0, 1.0, 1.0], 1.0, 41)
    >>> round(low, 4), high
    (0.9143, 1.0)
    """
    demand(0 <= share <= 1, "share_interval", "share", "in [0, 1]", share)
    values = np.asarray(draws, np.float64)
    known = values[~np.isnan(values)]
    if known.size and np.ptp(known) > ROUNDING:
        return percentile(values, level)
    other = unseen(n, level)
    return Interval((1 - other) * share, (1 - other) * share + other)


def measure_intervals(tables: ArrayLike, draws: dict[str, Floats], level: float = 0.95) -> dict[str, Interval]:
    """The percentile intervals of the measures; where all pairs are alike, what others could make of them.

    A kind of pair is a way to answer its questions; what it could make is the measure of a mixture in which it has the
    share of `unseen`, and the interval holds that of every kind.

    Args: `tables` (m, 4), each pair's counts as `yes_no.tables` gives them; `draws`, each measure's (times,) values of
    resamples; `level` in (0, 1).
    Returns: for each of MEASURES an Interval around its value; NaN without an answer.
    Raises: ValueError where there are not four counts or the level is no level.
    Source: own definition.

    >>> points = dict.fromkeys(MEASURES, np.ones(9))
    >>> low, high = measure_intervals([[1, 0, 0, 1]] * 41, points)["mcc"]  # every answer is right
    >>> round(low, 3), high
    (0.829, 1.0)
    """
    rows = integers("measure_intervals", "tables", tables, ndim=2, least=0)
    demand(rows.shape[1] == 4, "measure_intervals", "tables", "of shape (m, 4)", rows)
    rows = rows[rows.sum(axis=1) > 0]
    if not len(rows) or (rows != rows[0]).any():
        return {name: percentile(draws[name], level) for name in MEASURES}
    return alike(rows[0], len(rows), level)


def alike(row: ArrayLike, n: int, level: float = 0.95) -> dict[str, Interval]:
    """The measures' intervals of n pairs that were all answered in one way.

    Args: `row` (4,), that way's true and false positives, false and true negatives; `n` pairs, at least 1; `level`.
    Returns: for each of MEASURES an Interval around the measure of `row`.
    Raises: ValueError for n below 1 or no level.
    Source: own definition, as `measure_intervals` says.

    >>> low, high = alike([0, 0, 1, 1], 41)["recall"]  # never yes
    >>> low, round(high, 4)
    (0.0, 0.0857)
    """
    tp, fp, fn, tn = (int(cell) for cell in np.asarray(row))
    yes, no = tp + fn, fp + tn
    kinds = np.array([[a, b, yes - a, no - b] for a, b in product(range(yes + 1), range(no + 1))], np.float64)
    share = unseen(n, level)
    found = measures((1 - share) * np.asarray(row, np.float64) + share * kinds)
    return {name: Interval(float(values.min()), float(values.max())) for name, values in found.items()}
