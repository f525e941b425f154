"""Accuracy by information gain on a tree of classes, over all thresholds."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.realbirdid.statistics.hierarchy import Tree
from eyechart.realbirdid.statistics.threshold_steps import ThresholdSteps
from eyechart.statistics._checks import check_integers, check_length
from eyechart.statistics._sweeps import run_ends, take_at
from eyechart.statistics.measures import Measure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class _GainCurve(NamedTuple):
    """Accuracy by information gain: the root's point (0, 1), then one point per threshold, the highest first."""

    thresholds: Floats
    gain: Floats
    accuracy: Floats
    area: float


class _ThresholdEvents(NamedTuple):
    """Changes of gain and accuracy in the order of falling thresholds; `last` ends each threshold."""

    n: int
    image: Ints
    gain: Floats
    correct: Floats
    last: Ints
    thresholds: Floats

    def curve(self, counts: Ints) -> tuple[Floats, Floats]:
        """Return mean gain and accuracy (..., points), the root first, for images taken `counts` (..., n) times."""
        taken, n = counts.take(self.image, axis=-1), np.maximum(counts.sum(axis=-1, keepdims=True), 1)
        sums = (take_at(np.cumsum(change * taken, axis=-1), self.last) for change in (self.gain, self.correct))
        gain, right = (np.concatenate([np.zeros(n.shape), values], axis=-1) / n for values in sums)
        return gain, 1 + right

    def area(self, counts: Ints) -> Floats:
        """Return the area (...) under that curve up to its largest gain; NaN if no image is taken."""
        gain, accuracy = self.curve(counts)
        reached = np.minimum(np.maximum.accumulate(gain, axis=-1), 1)
        twice = (np.diff(reached, axis=-1) * (accuracy[..., 1:] + accuracy[..., :-1])).sum(axis=-1)  # @ waits for BLAS
        area: Floats = np.where(counts.any(axis=-1), twice / 2, np.nan)
        return area


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
    events = _threshold_events("information_gain", tree, steps, truth, correct_only=correct_only, depth=depth)
    if not events.n:
        return _GainCurve(np.zeros(0), np.zeros(0), np.zeros(0), float("nan"))
    once = np.ones(events.n, np.int64)
    return _GainCurve(np.append(np.inf, events.thresholds), *events.curve(once), float(events.area(once)))


def information_gain_area(
    tree: Tree, steps: ThresholdSteps, truth: ArrayLike, *, correct_only: bool = False, depth: bool = False
) -> Measure:
    """Return the area of `information_gain` as a measure, to resample it and to compare it.

    Args:
        tree: As for `information_gain`.
        steps: As for `information_gain`.
        truth: As for `information_gain`.
        correct_only: As for `information_gain`.
        depth: As for `information_gain`.

    Returns:
        Measure, NaN without an image that counts.

    Raises:
        ValueError: As `information_gain` does.

    Source: as `information_gain`.

    >>> from eyechart.realbirdid.statistics.hierarchy import threshold_steps
    >>> tree = Tree.from_levels([[0, 1, 2, 3], [0, 0, 1, 1]])
    >>> steps = threshold_steps(tree, [[0.6, 0.2, 0.1, 0.1], [0.9, 0.1, 0.0, 0.0]])
    >>> information_gain_area(tree, steps, [1, 0]).resample([[2, 0], [0, 2]]).tolist()
    [0.75, 1.0]
    """
    name = "information_gain_area"
    events = _threshold_events(name, tree, steps, truth, correct_only=correct_only, depth=depth)
    key = (name, events.image, events.gain, events.correct, events.last)
    return Measure(key, len(steps), np.flatnonzero(np.asarray(truth) >= 0), events.area, decimals=12)


def _threshold_events(
    function: str,
    tree: Tree,
    steps: ThresholdSteps,
    truth: ArrayLike,
    *,
    correct_only: bool = False,
    depth: bool = False,
) -> _ThresholdEvents:
    """Return the changes at each step of the images that have a true node."""
    true = check_integers(function, "truth", truth, ndim=1, below=tree.root + 1)
    check_length(function, "truth", true, len(steps))
    kept = true >= 0
    chosen, true = steps.select(kept), true[kept]
    right = tree.is_same_or_ancestor(chosen.nodes, true[chosen.images]).astype(np.float64)
    value = tree.depth / tree.depth.max() if depth else tree.information
    gain = value[chosen.nodes] * (right if correct_only else 1)
    after_root = np.ones(len(chosen.nodes), np.bool_)
    after_root[chosen.offsets[:-1]] = False  # each image's first step is the root: gain 0, right
    order = np.flatnonzero(after_root)
    order = order[np.argsort(-chosen.thresholds[order], kind="stable")]
    thresholds = chosen.thresholds[order]
    last = run_ends(thresholds)
    gain_changes, correct_changes = (np.diff(values, prepend=0)[order] for values in (gain, right))
    return _ThresholdEvents(
        int(kept.sum()), chosen.images[order], gain_changes, correct_changes, last, thresholds[last]
    )
