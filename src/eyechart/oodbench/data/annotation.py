"""Annotations of images with many objects: counts of categories, and which categories were annotated."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset, SliceVariable
from eyechart.errors import DataError

Bools = NDArray[np.bool_]
Counts = NDArray[np.int32]


@dataclass(frozen=True)
class Exclusion:
    """A kind of excluded items of an annotation file: what, why, how many, and the first item."""

    what: str
    why: str
    count: int
    first: str

    def __str__(self) -> str:
        return f"{self.count:,} × {self.what} left out: {self.why}; the first is {self.first}"


@dataclass(frozen=True)
class Annotation:
    """Images in the order of a data set's index × categories in the order of its names.

    `counts` (n, k) are the numbers of annotated objects. `known` (n, k) says whether the category was annotated, so
    that a count of 0 means absent. `countable` (n, k) says whether the count is complete. `image_ids` (n) and
    `category_ids` (k) come from the format. `source` is the format: coco, lvis, nuscenes or cityscapes.
    `object_areas` (n,) are the median shares of the image that one object takes, NaN for an image without objects or of
    unknown size; None for a format whose areas are not read.
    """

    counts: Counts
    known: Bools
    countable: Bools
    image_ids: tuple[str, ...]
    category_ids: tuple[str, ...]
    excluded: tuple[Exclusion, ...] = ()
    source: str = ""
    object_areas: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        shape = (len(self.image_ids), len(self.category_ids))
        for name in ("counts", "known", "countable"):
            if getattr(self, name).shape != shape:
                raise DataError(
                    f"The annotation's {name} have the shape {getattr(self, name).shape}, expected {shape}: one row an "
                    "image, one column a category."
                )

    @cached_property
    def present(self) -> Bools:
        """Mask (n, k) of categories that are present."""
        present: Bools = self.counts > 0
        return present

    @cached_property
    def known_absent(self) -> Bools:
        """Mask (n, k) of categories that are known to be absent."""
        mask: Bools = self.known & (self.counts == 0)
        return mask

    @cached_property
    def sha256(self) -> str:
        """The sha256 of the ids, and of what was counted, known and countable."""
        whole = sha256("\n".join((*self.image_ids, "", *self.category_ids)).encode())
        for part in (self.counts.astype("<i4"), self.known, self.countable):
            whole.update(np.ascontiguousarray(part).tobytes())
        return whole.hexdigest()

    def select(self, rows: Sequence[int]) -> "Annotation":
        """Return the annotation of some rows, in the order of `rows`."""
        chosen = list(rows)
        return Annotation(
            self.counts[chosen],
            self.known[chosen],
            self.countable[chosen],
            tuple(self.image_ids[row] for row in chosen),
            self.category_ids,
            self.excluded,
            self.source,
            None if self.object_areas is None else self.object_areas[chosen],
        )

    def slice_variables(self) -> tuple[SliceVariable, ...]:
        """Return no variables: an image has objects of many categories."""
        return ()

    def image_classes(self) -> None:
        """Return None: an image has objects of many categories."""

    def image_attributes(self) -> dict[str, NDArray[np.float64]]:
        """Return the number of annotated objects of each image, and the share of it that one takes, if it is known."""
        areas = {} if self.object_areas is None else {"object_area": self.object_areas}
        return {"objects": self.counts.sum(axis=1).astype(np.float64), **areas}


def find_annotation(dataset: Dataset) -> Annotation | None:
    """Return the annotation of the selected images, None for a data set without one."""
    details = dataset.selected_details
    return details if isinstance(details, Annotation) else None


def list_exclusions(what: str, why: str, items: Iterable[str]) -> tuple[Exclusion, ...]:
    """Return the exclusion of items for one reason, () if there are no items.

    >>> list_exclusions("annotation", "it names an image that is not there", ["17", "18"])[0].count
    2
    """
    every = list(items)
    return (Exclusion(what, why, len(every), every[0]),) if every else ()
