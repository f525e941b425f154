"""Statements about a population of models from a sample of models."""

from typing import NamedTuple

from scipy.special import betaincinv

from eyechart.statistics._checks import check_whole_number, require
from eyechart.statistics.intervals import Interval, clopper_pearson


class _PopulationShare(NamedTuple):
    """A share of the population, estimated from a sample, with the Clopper-Pearson and the posterior interval."""

    share: float
    exact: Interval
    posterior: Interval


def population_share(k: float, n: float, level: float = 0.95) -> _PopulationShare:
    """Return the share of a population of models, estimated from k of n sampled models.

    Limits: models share data, parts and makers, so that n models are fewer than n independent ones; both intervals are
    too narrow by as much.

    Args:
        k: The number of models that meet a criterion, a whole number.
        n: The number of models, a whole number.
        level: The confidence level, in (0, 1).

    Returns:
        Population: the share k / n; Clopper and Pearson's interval, exact; the posterior's equal-tailed interval from
        the prior Beta(1, 1). Without models the share and the exact interval are NaN, and the posterior is the prior.

    Raises:
        ValueError: If k is not in [0, n] or the level is no level.

    Source: arXiv 2602.18094, Eqs. (3) and (4).

    >>> found = population_share(49, 50)
    >>> round(found.exact.low, 4), round(found.posterior.low, 4)
    (0.8935, 0.8955)
    """
    require(0 < level < 1, "population_share", "level", "between 0 and 1", level)
    n = check_whole_number("population_share", "n", n)
    k = check_whole_number("population_share", "k", k, most=n)
    ends = betaincinv(k + 1, n - k + 1, [(1 - level) / 2, (1 + level) / 2])
    return _PopulationShare(k / n if n else float("nan"), clopper_pearson(k, n, level), Interval(*map(float, ends)))


def upper_limit_below(hits: float, n: float, epsilon: float, level: float = 0.95) -> bool:
    """Return whether the upper confidence limit of a share is below epsilon: Z = 1[UCI(r) < epsilon].

    Args:
        hits: The number of pairs that are in what the model was trained on, a whole number.
        n: The number of pairs, a whole number.
        epsilon: The largest acceptable share, in (0, 1].
        level: The confidence level, in (0, 1).

    Returns:
        Whether the upper end of Clopper and Pearson's two-sided interval is below epsilon; False without pairs.

    Raises:
        ValueError: If hits is not in [0, n] or epsilon or the level is out of range.

    Source: arXiv 2602.18094, Eq. (2), which does not say which upper bound at 95 % it takes: this is the bound of the
    two-sided interval, the 97.5 % quantile, as the 2.5 % one is in its Eq. (3); it accepts less than the one-sided.

    >>> upper_limit_below(3, 200, 0.05), upper_limit_below(6, 200, 0.05)
    (True, False)
    """
    require(0 < level < 1, "upper_limit_below", "level", "between 0 and 1", level)
    require(0 < epsilon <= 1, "upper_limit_below", "epsilon", "above 0 and at most 1", epsilon)
    n = check_whole_number("upper_limit_below", "n", n)
    return clopper_pearson(check_whole_number("upper_limit_below", "hits", hits, most=n), n, level).high < epsilon
