"""How deep predictions go in a tree, and how often they are right: accuracy by information gain over all thresholds."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics._checks import demand, integers, lengths
from eyechart.metrics._sweeps import ends
from eyechart.metrics.alike import share_interval
from eyechart.metrics.hierarchy import Stairs, Tree
from eyechart.metrics.intervals import Interval
from eyechart.metrics.resampling import Seed, drawn

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Gain(NamedTuple):
    """A point a distinct threshold, the highest first; before them the root's point (0, 1), at the threshold inf."""

    thresholds: Floats
    gain: Floats
    accuracy: Floats
    area: float


def information_gain(
    tree: Tree, stairs: Stairs, truth: ArrayLike, *, correct_only: bool = False, depth: bool = False
) -> Gain:
    """Mean information and accuracy of the predicted nodes at every threshold, and the area under their curve.

    A predicted node is right where it is the truth or above it. The curve starts at the root's point (0, 1), which no
    data can move, and joins its points by straight lines. The area is that under the curve as far to the right as it
    goes: predictions that always stay at the root are one point, and their area is 0; always right at the leaves is 1.
    With `correct_only` or `depth` the curve may also turn back to the left, and only what lies to the right of all
    points before adds to the area.

    Args: `truth` (n,) the deepest node that is known to be true, -1 where the image is left out; `correct_only`: what
    is wrong gains nothing; `depth`: the gain is the depth below the root by that of the deepest leaf, in place of the
    information.
    Returns: Gain of (points,) arrays: thresholds, falling; the mean gain, a fraction; the accuracy, a fraction; and
    the area, in [0, 1]. Without an image there are no points and the area is NaN.
    Raises: ValueError where there is not one node of the tree an image.
    Source: J. Deng, J. Krause, A. C. Berg and L. Fei-Fei, CVPR 2012, whose information gain is that of `correct_only`;
    IG of RealBirdID, arXiv 2603.27033, Section 4, Metric 2, and Table 2.

    >>> from eyechart.metrics.hierarchy import stairs
    >>> tree = Tree.of_levels([[0, 1, 2, 3], [0, 0, 1, 1]])
    >>> found = information_gain(tree, stairs(tree, [[0.6, 0.2, 0.1, 0.1]]), [1])  # the genus is right
    >>> found.thresholds.tolist(), found.gain.tolist(), found.accuracy.tolist(), found.area
    ([inf, 0.8, 0.6], [0.0, 0.5, 1.0], [1.0, 1.0, 0.0], 0.75)
    """
    events = _events("information_gain", tree, stairs, truth, correct_only, depth)
    if not events.n:
        return Gain(np.zeros(0), np.zeros(0), np.zeros(0), float("nan"))
    gain, accuracy = _curve(events, np.ones(events.n, np.int64))
    return Gain(np.append(np.inf, events.thresholds), gain, accuracy, _area(gain, accuracy))


def information_gain_interval(
    tree: Tree,
    stairs: Stairs,
    truth: ArrayLike,
    *,
    correct_only: bool = False,
    depth: bool = False,
    times: int = 1000,
    seed: Seed = 0,
    level: float = 0.95,
) -> Interval:
    """The percentile interval of `information_gain`'s area over resamples of the images.

    Args: as for `information_gain`; `times`, how many resamples; `seed`, a whole number or a numpy Generator;
    `level` in (0, 1).
    Returns: Interval of fractions; where no resample differs it is widened as `share_interval` does; NaN without an
    image or without resamples.
    Raises: ValueError as `information_gain` does, and where `times` is negative or the level is no level.
    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26.

    >>> from eyechart.metrics.hierarchy import stairs
    >>> tree = Tree.of_levels([[0, 1, 2, 3], [0, 0, 1, 1]])
    >>> found = information_gain_interval(tree, stairs(tree, [[0.6, 0.2, 0.1, 0.1]] * 4), [0, 1, 1, 2], times=99)
    >>> found.low < 0.5 < found.high
    True
    """
    demand(0 < level < 1, "information_gain_interval", "level", "between 0 and 1", level)
    events = _events("information_gain_interval", tree, stairs, truth, correct_only, depth)
    samples, ones = drawn(events.n, times, seed), np.ones(events.n, np.int64)
    draws = np.round([_area(*_curve(events, counts)) for counts in samples], 12) if events.n else np.zeros(0)
    if not draws.size:
        return Interval(float("nan"), float("nan"))
    return share_interval(draws, _area(*_curve(events, ones)), events.n, level)


class _Events(NamedTuple):
    """What changes from threshold to threshold, falling: of which image, by how much; `last` of each threshold."""

    n: int
    image: Ints
    gain: Floats
    right: Floats
    last: Ints
    thresholds: Floats


def _events(function: str, tree: Tree, stairs: Stairs, truth: ArrayLike, correct_only: bool, depth: bool) -> _Events:
    true = integers(function, "truth", truth, ndim=1, below=tree.root + 1)
    lengths(function, "truth", true, len(stairs))
    kept = true >= 0
    chosen, true = stairs.of(kept), true[kept]
    right = tree.covers(chosen.nodes, true[chosen.images]).astype(np.float64)
    worth = tree.depth / tree.depth.max() if depth else tree.information
    gain = worth[chosen.nodes] * (right if correct_only else 1)
    later = np.ones(len(chosen.nodes), np.bool_)
    later[chosen.offsets[:-1]] = False  # each image's first step is the root: gain 0, right
    order = np.flatnonzero(later)
    order = order[np.argsort(-chosen.thresholds[order], kind="stable")]
    falling = chosen.thresholds[order]
    last = ends(falling)
    gained, turned = (np.diff(each, prepend=0)[order] for each in (gain, right))
    return _Events(int(kept.sum()), chosen.images[order], gained, turned, last, falling[last])


def _curve(events: _Events, counts: Ints) -> tuple[Floats, Floats]:
    """Gain and accuracy from the root's point on, each image taken so many times."""
    taken = counts[events.image]
    sums = (np.append(0, np.cumsum(change * taken)[events.last]) for change in (events.gain, events.right))
    gain, right = (each / events.n for each in sums)
    return gain, 1 + right


def _area(gain: Floats, accuracy: Floats) -> float:
    reached = np.minimum(np.maximum.accumulate(gain), 1)
    return float(np.diff(reached) @ (accuracy[1:] + accuracy[:-1]) / 2)
