"""The node of a tree that is predicted for each image at every threshold."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyechart.statistics._checks import require

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ThresholdSteps:
    """The node predicted for each image at every threshold; each step holds from its threshold down to the next.

    Image i has the steps offsets[i] to offsets[i + 1] (without it): `thresholds`, falling within an image, the first
    of them 1, and `nodes`, the first of them the root, which is predicted above every threshold too.

    >>> ThresholdSteps(np.array([0, 2]), np.array([1.0, 0.4]), np.array([5, 0])).predict_at([0.7, 0.4]).tolist()
    [[5, 0]]
    """

    offsets: Ints
    thresholds: NDArray[np.float64]
    nodes: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def images(self) -> Ints:
        """The index (steps,) of the image that each step belongs to.

        >>> ThresholdSteps(np.array([0, 2, 3]), np.array([1.0, 0.4, 1.0]), np.array([5, 0, 5])).images.tolist()
        [0, 0, 1]
        """
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def predict_at(self, thresholds: ArrayLike) -> Ints:
        """Return the nodes (images, thresholds) predicted at some thresholds, in any order.

        Args:
            thresholds: (thresholds,) probabilities; above 1 the root is predicted.

        Raises:
            ValueError: If one is NaN, or they are no vector.

        >>> steps = ThresholdSteps(np.array([0, 2]), np.array([1.0, 0.4]), np.array([5, 0]))
        >>> steps.predict_at([0.3, 0.9, 0.4]).tolist()
        [[0, 5, 0]]
        """
        wanted = np.asarray(thresholds, np.float64)
        require(
            wanted.ndim == 1 and not np.isnan(wanted).any(),
            "ThresholdSteps.predict_at",
            "thresholds",
            "numbers",
            wanted,
        )
        order = np.argsort(wanted, kind="stable")
        reached = np.searchsorted(wanted[order], self.thresholds, side="right")  # how many thresholds a step is under
        step = np.repeat(self.offsets[:-1, None], len(wanted) + 1, axis=1)
        np.maximum.at(step, (self.images, reached), np.arange(len(self.nodes)))
        deepest = np.maximum.accumulate(step[:, :0:-1], axis=1)[:, ::-1]
        nodes = np.empty_like(deepest)
        nodes[:, order] = self.nodes[deepest]
        return nodes

    def select(self, rows: ArrayLike) -> "ThresholdSteps":
        """Return the steps of some images, selected by index or by mask.

        Args:
            rows: Places of images, or a boolean for each.

        >>> both = ThresholdSteps(np.array([0, 2, 3]), np.array([1.0, 0.4, 1.0]), np.array([5, 0, 5]))
        >>> both.select([1]).offsets.tolist(), both.select([True, False]).nodes.tolist()
        ([0, 1], [5, 0])
        """
        chosen = np.arange(len(self))[np.asarray(rows)]
        sizes = np.diff(self.offsets)[chosen]
        offsets = np.append(0, np.cumsum(sizes))
        steps = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], sizes)
        return ThresholdSteps(offsets, self.thresholds[steps], self.nodes[steps])

    @classmethod
    def concatenate(cls, many: Sequence["ThresholdSteps"]) -> "ThresholdSteps":
        """Return the steps of several blocks of images, one block after another.

        Args:
            many: Threshold steps on the same tree; an empty sequence gives the steps of no image.

        >>> one = ThresholdSteps(np.array([0, 2]), np.array([1.0, 0.4]), np.array([5, 0]))
        >>> ThresholdSteps.concatenate([one, one]).offsets.tolist(), len(ThresholdSteps.concatenate([]))
        ([0, 2, 4], 0)
        """
        sizes = [np.diff(steps.offsets) for steps in many]
        offsets = np.append(0, np.cumsum(np.concatenate([np.zeros(0, np.int64), *sizes])))
        thresholds = np.concatenate([np.zeros(0), *(steps.thresholds for steps in many)])
        return cls(offsets, thresholds, np.concatenate([np.zeros(0, np.int64), *(steps.nodes for steps in many)]))
