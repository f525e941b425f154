"""The change of areas under threshold sweeps when the same images are answered from another list of choices."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.realbirdid.statistics._gains import threshold_events
from eyechart.realbirdid.statistics.hierarchy import Tree
from eyechart.realbirdid.statistics.threshold_steps import ThresholdSteps
from eyechart.statistics._checks import check_booleans, check_length, require
from eyechart.statistics._sweeps import check_vector, concordance, count_blocks, measure_blocks, run_ends
from eyechart.statistics.bootstrap_samples import Seed
from eyechart.statistics.degenerate_intervals import max_unseen_share
from eyechart.statistics.draws_cache import cached_tuple
from eyechart.statistics.intervals import Interval
from eyechart.statistics.resampling import bootstrap_counts, percentile_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Measure = Callable[[Ints], Floats]  # a number, by how often each image is taken


class _PairedChange(NamedTuple):
    """After minus before, with its paired interval; both fractions."""

    value: float
    interval: Interval


UNDEFINED_CHANGE = _PairedChange(float("nan"), Interval(float("nan"), float("nan")))


@cached_tuple
def information_gain_change(
    tree: Tree,
    before: ThresholdSteps,
    after: ThresholdSteps,
    truth: ArrayLike,
    *,
    times: int = 1000,
    seed: Seed = 0,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> _PairedChange:
    """Return the change of the area of `information_gain` between two predictions for the same images.

    Args:
        tree: The tree of the nodes.
        before: The threshold steps of n images.
        after: The threshold steps of the same images in the same order.
        truth: (n,) as for `information_gain`.
        times: How many resamples, each of the same images on both sides.
        seed: A whole number or a numpy Generator.
        level: In (0, 1).
        clusters: (n,), the cluster of each image, such as its observation, whose images are drawn all or none.

    Returns:
        Change with a percentile interval. If no resample differs, the interval is a rule-of-three bound for images
        of a kind that was not seen. NaN without an image, its interval also without resamples.

    Raises:
        ValueError: As `information_gain` does, where the numbers of images differ, `times` is negative or the level is
            no level.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26, over pairs; RealBirdID, arXiv 2603.27033, Figures 6 and
    19, which have the changes without intervals.

    >>> from eyechart.realbirdid.statistics.hierarchy import threshold_steps
    >>> tree = Tree.from_levels([[0, 1, 2, 3], [0, 0, 1, 1]])
    >>> one, other = (threshold_steps(tree, [row] * 9) for row in ([0.2, 0.6, 0.1, 0.1], [0.9, 0.1, 0.0, 0.0]))
    >>> found = information_gain_change(tree, one, other, [0] * 9)
    >>> round(found.value, 3), found.interval.low < found.value <= found.interval.high
    (0.25, True)
    """
    sides = [threshold_events("information_gain_change", tree, steps, truth) for steps in (before, after)]
    kept = np.flatnonzero(np.asarray(truth) >= 0)
    unit = kept if clusters is None else np.asarray(clusters)[kept]
    areas, units = (sides[0].area, sides[1].area), len(np.unique(unit))
    return _change("information_gain_change", areas, sides[0].n, units, (None, unit), times, seed, level)


@cached_tuple
def ua_a_change(
    before: ArrayLike,
    after: ArrayLike,
    unanswerable: ArrayLike,
    *,
    times: int = 1000,
    seed: Seed = 0,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> _PairedChange:
    """Return the change of UA/A between two uncertainties for the same images.

    Args:
        before: (n,) as `ua_a`'s uncertainty, in one order; an image counts that has both.
        after: (n,) as `ua_a`'s uncertainty, in one order; an image counts that has both.
        unanswerable: (n,) booleans.
        times: As for `information_gain_change`, the resamples within the answerable and within the unanswerable images.
        seed: As for `information_gain_change`, the resamples within the answerable and within the unanswerable images.
        level: As for `information_gain_change`, the resamples within the answerable and within the unanswerable images.
        clusters: As for `information_gain_change`, the resamples within the answerable and within the unanswerable
            images.

    Returns:
        Change, as for `information_gain_change`; NaN without answerable or unanswerable images.

    Raises:
        ValueError: If the lengths differ, an uncertainty is infinity, `times` is negative or the level is no level.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26, over pairs in two strata; E. R. DeLong, D. M. DeLong and
    D. L. Clarke-Pearson, Biometrics 44 (1988) 837-845, for why areas of the same images are compared in pairs.

    >>> found = ua_a_change([0.1, 0.9, 0.5, 0.6], [0.1, 0.2, 0.5, 0.6], [False, False, True, True])
    >>> found.value, found.interval.high
    (0.5, 1.0)
    """
    name = "ua_a_change"
    before_values, after_values = check_vector(name, "before", before), check_vector(name, "after", after)
    check_length(name, "after", after_values, len(before_values))
    without = check_booleans(name, "unanswerable", unanswerable, len(before_values))
    require(
        not np.isposinf([*before_values, *after_values]).any(),
        name,
        "before and after",
        "below infinity or NaN",
        np.inf,
    )
    both = ~np.isnan(before_values) & ~np.isnan(after_values)
    sides = _ranked(before_values[both], without[both]), _ranked(after_values[both], without[both])
    kinds = without[both].astype(np.int64)
    unit = np.flatnonzero(both) if clusters is None else np.asarray(clusters)[both]
    fewest = min(len(np.unique(unit[kinds == kind])) for kind in (0, 1))
    return _change(name, sides, len(kinds) if fewest else 0, fewest, (kinds, unit), times, seed, level)


def _ranked(uncertainty: Floats, without: NDArray[np.bool_]) -> Measure:
    """Return a function that computes UA/A from how often each image is taken."""
    order = np.argsort(-uncertainty, kind="stable")
    kind, last = without[order], run_ends(uncertainty[order])

    def value(counts: Ints) -> Floats:
        return concordance(kind, last, counts.take(order, axis=-1))

    return value


def _change(
    function: str,
    sides: tuple[Measure, Measure],
    n: int,
    units: int,
    drawn_by: tuple[Ints | None, Ints],
    times: int,
    seed: Seed,
    level: float,
) -> _PairedChange:
    """Return the change of a value that both sides compute from how often each of n images is taken."""
    require(0 < level < 1, function, "level", "between 0 and 1", level)
    samples = bootstrap_counts(n, times, seed, *(drawn_by if n else ()))
    if not n:
        return UNDEFINED_CHANGE
    before, after = sides

    def moved(counts: Ints) -> Floats:
        return after(counts) - before(counts)

    value, draws = (
        float(moved(np.ones(n, np.int64))),
        measure_blocks(count_blocks(function, samples, n, slice(None)), moved),
    )
    return _PairedChange(value, _interval(draws.round(12), value, units, level))


def _interval(draws: Floats, value: float, units: int, level: float) -> Interval:
    """Return the percentile interval, or one that allows for images that did not occur if all resamples agree."""
    if len({*draws[~np.isnan(draws)].tolist()}) != 1:
        return percentile_interval(draws, level)
    other = max_unseen_share(units, level)
    return Interval(max(-1.0, (1 - other) * value - other), min(1.0, (1 - other) * value + other))
