"""Changes of gain and accuracy from threshold to threshold, used by the information gain and by its change."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.realbirdid.statistics.hierarchy import Tree
from eyechart.realbirdid.statistics.threshold_steps import ThresholdSteps
from eyechart.statistics._checks import check_integers, check_length
from eyechart.statistics._sweeps import run_ends, take_at

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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


def threshold_events(
    function: str,
    tree: Tree,
    steps: ThresholdSteps,
    truth: ArrayLike,
    *,
    correct_only: bool = False,
    depth: bool = False,
) -> _ThresholdEvents:
    """Return the changes at each step of the images that have a true node.

    >>> from eyechart.realbirdid.statistics.hierarchy import threshold_steps
    >>> tree = Tree.from_levels([[0, 1, 2, 3], [0, 0, 1, 1]])
    >>> steps = threshold_steps(tree, [[0.6, 0.2, 0.1, 0.1]])
    >>> threshold_events("information_gain", tree, steps, [1]).thresholds.tolist()
    [0.8, 0.6]
    """
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
