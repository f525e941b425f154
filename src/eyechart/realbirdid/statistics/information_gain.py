"""Accuracy by information gain on a tree of classes, over all thresholds."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.realbirdid.statistics._gains import threshold_events
from eyechart.realbirdid.statistics.hierarchy import Tree
from eyechart.realbirdid.statistics.threshold_steps import ThresholdSteps
from eyechart.statistics._checks import require
from eyechart.statistics._sweeps import Samples, count_blocks, measure_blocks
from eyechart.statistics.bootstrap_samples import Seed
from eyechart.statistics.degenerate_intervals import share_interval
from eyechart.statistics.draws_cache import cached_array, cached_tuple
from eyechart.statistics.intervals import Interval
from eyechart.statistics.resampling import bootstrap_counts

Floats = NDArray[np.float64]


class _GainCurve(NamedTuple):
    """Accuracy by information gain: the root's point (0, 1), then one point per threshold, the highest first."""

    thresholds: Floats
    gain: Floats
    accuracy: Floats
    area: float


def information_gain(
    tree: Tree, steps: ThresholdSteps, truth: ArrayLike, *, correct_only: bool = False, depth: bool = False
) -> _GainCurve:
    """Return mean information and accuracy of the predicted nodes at every threshold, and the area under the curve.

    A node is correct if it is the true node or its ancestor. The curve starts at (0, 1), joins its points by straight
    lines, and its area ends at the largest gain. Predictions that are always the root have the area 0, predictions that
    are always the true leaf the area 1. With `correct_only` or `depth` the gain can decrease; then only parts of the
    curve with a larger gain than all earlier points count.

    Args:
        tree: The tree of the nodes.
        steps: The threshold steps of n images.
        truth: (n,) the deepest node that is known to be true, -1 where the image is left out.
        correct_only: What is wrong gains nothing.
        depth: The gain is the depth below the root by that of the deepest leaf, instead of the information.

    Returns:
        GainCurve of (points,) arrays: thresholds, falling; the mean gain, a fraction; the accuracy, a fraction; and the
        area, in [0, 1]. Without an image there are no points and the area is NaN.

    Raises:
        ValueError: If there is not one node of the tree an image.

    Source: J. Deng, J. Krause, A. C. Berg and L. Fei-Fei, CVPR 2012, whose information gain is `correct_only`;
    IG of RealBirdID, arXiv 2603.27033, Section 4, Metric 2, and Table 2.

    >>> from eyechart.realbirdid.statistics.hierarchy import threshold_steps
    >>> tree = Tree.from_levels([[0, 1, 2, 3], [0, 0, 1, 1]])
    >>> found = information_gain(tree, threshold_steps(tree, [[0.6, 0.2, 0.1, 0.1]]), [1])  # the genus is right
    >>> found.thresholds.tolist(), found.gain.tolist(), found.accuracy.tolist(), found.area
    ([inf, 0.8, 0.6], [0.0, 0.5, 1.0], [1.0, 1.0, 0.0], 0.75)
    """
    events = threshold_events("information_gain", tree, steps, truth, correct_only=correct_only, depth=depth)
    if not events.n:
        return _GainCurve(np.zeros(0), np.zeros(0), np.zeros(0), float("nan"))
    once = np.ones(events.n, np.int64)
    return _GainCurve(np.append(np.inf, events.thresholds), *events.curve(once), float(events.area(once)))


@cached_tuple
def information_gain_interval(
    tree: Tree,
    steps: ThresholdSteps,
    truth: ArrayLike,
    *,
    correct_only: bool = False,
    depth: bool = False,
    times: int = 1000,
    seed: Seed = 0,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> Interval:
    """Return the percentile interval of the area of `information_gain` over resampled images.

    Args:
        tree: As for `information_gain`.
        steps: As for `information_gain`.
        truth: As for `information_gain`.
        correct_only: As for `information_gain`.
        depth: As for `information_gain`.
        times: The number of resamples.
        seed: A whole number or a numpy Generator.
        level: The confidence level, in (0, 1).
        clusters: (n,), the cluster of each image, such as its observation, whose images are drawn all or none.

    Returns:
        Interval of fractions; where no resample differs it is widened as `share_interval` does; NaN without an image or
        without resamples.

    Raises:
        ValueError: As `information_gain` does, and where `times` is negative or the level is no level.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26.

    >>> from eyechart.realbirdid.statistics.hierarchy import threshold_steps
    >>> tree = Tree.from_levels([[0, 1, 2, 3], [0, 0, 1, 1]])
    >>> steps = threshold_steps(tree, [[0.6, 0.2, 0.1, 0.1]] * 4)
    >>> interval = information_gain_interval(tree, steps, [0, 1, 1, 2], times=99)
    >>> interval.low < 0.5 < interval.high
    True
    """
    require(0 < level < 1, "information_gain_interval", "level", "between 0 and 1", level)
    events = threshold_events("information_gain_interval", tree, steps, truth, correct_only=correct_only, depth=depth)
    kept = np.flatnonzero(np.asarray(truth) >= 0)
    unit = kept if clusters is None else np.asarray(clusters)[kept]
    samples, once = bootstrap_counts(events.n, times, seed, clusters=unit), np.ones(events.n, np.int64)
    taken = count_blocks("information_gain_interval", samples, events.n, slice(None))
    draws = measure_blocks(taken, events.area).round(12) if events.n else np.zeros(0)
    if not draws.size:
        return Interval(float("nan"), float("nan"))
    return share_interval(draws, float(events.area(once)), len(np.unique(unit)), level)


@cached_array
def information_gain_bootstrap(
    tree: Tree,
    steps: ThresholdSteps,
    truth: ArrayLike,
    samples: Samples,
    *,
    correct_only: bool = False,
    depth: bool = False,
) -> Floats:
    """Return the area of `information_gain` for given resamples, so that two models can be compared on them.

    Args:
        tree: As for `information_gain`.
        steps: As for `information_gain`.
        truth: As for `information_gain`.
        samples: Resample by resample, how often each image is taken, (n,) whole numbers, as
            `resampling.bootstrap_counts` has them.
        correct_only: As for `information_gain`.
        depth: As for `information_gain`.

    Returns:
        A fraction for each resample, NaN where it has no image that counts.

    Raises:
        ValueError: As `information_gain` does, and where a resample has another length.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26; the area as `information_gain`.

    >>> from eyechart.realbirdid.statistics.hierarchy import threshold_steps
    >>> tree = Tree.from_levels([[0, 1, 2, 3], [0, 0, 1, 1]])
    >>> found = threshold_steps(tree, [[0.6, 0.2, 0.1, 0.1], [0.9, 0.1, 0.0, 0.0]])
    >>> information_gain_bootstrap(tree, found, [1, 0], [[2, 0], [0, 2]]).tolist()
    [0.75, 1.0]
    """
    events = threshold_events("information_gain_bootstrap", tree, steps, truth, correct_only=correct_only, depth=depth)
    rows = np.flatnonzero(np.asarray(truth) >= 0)
    return measure_blocks(count_blocks("information_gain_bootstrap", samples, len(steps), rows), events.area)
