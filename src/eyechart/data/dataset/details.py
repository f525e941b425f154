"""What a study knows of the images of a data set beside their labels, such as observations or annotated objects."""

from collections.abc import Iterable, Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.slice_variables import SliceVariable


class Details(Protocol):
    """One row per image. The reader of a data set fills them, and the protocols of its study read them.

    A study finds its own by their class: `isinstance(dataset.selected_details, Observations)`.
    """

    @property
    def sha256(self) -> str:
        """The sha256 of all that an answer or a number depends on."""

    def select(self, rows: Sequence[int]) -> Self:
        """Return the details of some rows, in the order of `rows`."""

    def slice_variables(self) -> Iterable[SliceVariable]:
        """Return the variables that split the images into slices; none if the original class is the only one."""

    def image_classes(self) -> NDArray[np.int64] | None:
        """Return the class of each image for a limit by class, None if the images have no classes."""
