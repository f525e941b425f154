"""Read annotation files in the format of COCO and LVIS: images, categories, and one annotation per object.

Outlines are not kept, so that a file of 200 MB takes little more memory than its own size.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.data.class_names import fingerprint
from eyechart.data.detection.annotation import Annotation, Exclusion, list_exclusions
from eyechart.data.detection.image_index import index_by_id, read_json
from eyechart.data.detection.tallies import Tally, tally_instances
from eyechart.errors import DataError

Ints = NDArray[np.int64]
FAULTS = (
    "it names an image that is not there",
    "it names a category that is not there",
    "its box or area is empty",
    "its box lies outside its image",
    "it repeats another one's image, category and box",
)
DOUBTFUL, REPEATED = (2, 3), 4


class Category(msgspec.Struct, frozen=True, gc=False):
    """A category by its id."""

    id: int
    name: str


class Image(msgspec.Struct, frozen=True, gc=False):
    """An image; the lists of categories are LVIS's."""

    id: int
    width: int
    height: int
    file_name: str = ""
    coco_url: str = ""
    neg_category_ids: tuple[int, ...] = ()
    not_exhaustive_category_ids: tuple[int, ...] = ()


class Thing(msgspec.Struct, frozen=True, gc=False):
    """One annotated thing, or a crowd of them; the box is left, top, width, height in pixels."""

    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float]
    id: int | None = None
    area: float | None = None
    iscrowd: int = 0

    def __str__(self) -> str:
        return f"annotation {self.id} of image {self.image_id}"


class Instances(msgspec.Struct, frozen=True):
    """The content of an annotation file."""

    images: tuple[Image, ...]
    annotations: tuple[Thing, ...]
    categories: tuple[Category, ...]


@dataclass(frozen=True)
class PublishedFile:
    """What a published annotation file holds, and the fingerprint of its category names in the order of their ids."""

    images: int
    annotations: int
    names_sha256: str


def read_instances(path: Path, what: str, picture: Callable[[Image], str]) -> Instances:
    """Read an annotation file, images in the order of their pictures and categories in that of their ids.

    Raises DataError for a file that holds something else, two equal ids, no images or no categories.
    """
    content = read_json(path, Instances, what)
    for kind, parts in (("images", content.images), ("categories", content.categories)):
        if not parts:
            raise DataError(f"{path} has no {kind}, expected those of {what}: copy it again from where it came from.")
        index_by_id((part.id for part in parts), path, kind)
    return Instances(
        tuple(sorted(content.images, key=picture)),
        content.annotations,
        tuple(sorted(content.categories, key=lambda category: category.id)),
    )


def expected_images(path: Path, split: str, instances: Instances, published: PublishedFile | None) -> int | None:
    """Return the published number of images, checked, where the category names are the published ones; else None."""
    names = fingerprint([category.name for category in instances.categories])
    if published is None or names != published.names_sha256:
        return None
    numbers = (
        ("images", instances.images, published.images),
        ("annotations", instances.annotations, published.annotations),
    )
    for what, there, expected in numbers:
        if len(there) != expected:
            raise DataError(
                f"{path} has {len(there):,} {what}, expected the {expected:,} of {split}: copy it again, or give the "
                "folder of a selection of your own another name."
            )
    return published.images


def count_instances(instances: Instances) -> tuple[Tally, tuple[Exclusion, ...]]:
    """Return the counts of objects by image and category, and the excluded annotations.

    A crowd counts as one object and makes the count incomplete. A box that is empty or outside its image is not counted
    and makes the category unknown. Equal boxes of a category count once.
    """
    things, where = instances.annotations, _where(instances)
    crowded = np.array([bool(thing.iscrowd) for thing in things], np.bool_)
    fault = _faults(instances, where)
    good = np.flatnonzero(fault < 0)
    good = good[np.argsort(~crowded[good], kind="stable")]  # of a crowd and a thing in one box the crowd is kept
    kept = good[_first_of_equals(where[good], _boxes(things)[good])]
    fault[np.setdiff1d(good, kept)] = REPEATED
    crowds, singles = where[kept[crowded[kept]]], where[kept[~crowded[kept]]]
    tally = tally_instances(
        (len(instances.images), len(instances.categories)), singles, crowds, where[np.isin(fault, DOUBTFUL)]
    )
    return tally, tuple(_exclusions(things, fault))


def build_annotation(instances: Instances, tally: Tally, left_out: tuple[Exclusion, ...]) -> Annotation:
    """Return the annotation of counts with the ids of images and categories."""
    images, categories = (tuple(str(part.id) for part in parts) for parts in (instances.images, instances.categories))
    return Annotation(*tally, images, categories, left_out)


def _where(instances: Instances) -> Ints:
    """Return the row and column of every annotation, -1 for an unknown image or category."""
    rows = {image.id: row for row, image in enumerate(instances.images)}
    columns = {category.id: column for column, category in enumerate(instances.categories)}
    places = [(rows.get(thing.image_id, -1), columns.get(thing.category_id, -1)) for thing in instances.annotations]
    return np.array(places, np.int64).reshape(-1, 2)


def _faults(instances: Instances, where: Ints) -> Ints:
    """Return the first of FAULTS of each annotation, -1 for none; repetitions are not checked."""
    left, top, width, height = _boxes(instances.annotations).T
    wide, high = np.array([(image.width, image.height) for image in instances.images])[where[:, 0]].T
    flat = np.array([thing.area == 0 for thing in instances.annotations], np.bool_)
    empty = (width <= 0) | (height <= 0) | flat
    outside = (left >= wide) | (top >= high) | (left + width <= 0) | (top + height <= 0)
    conditions = [where[:, 0] < 0, where[:, 1] < 0, empty, outside]
    return np.select(conditions, range(len(conditions)), default=-1).astype(np.int64)


def _boxes(things: Sequence[Thing]) -> NDArray[np.float64]:
    return np.array([thing.bbox for thing in things], np.float64).reshape(-1, 4)


def _first_of_equals(where: Ints, boxes: NDArray[np.float64]) -> Ints:
    whole = np.column_stack((where, boxes))
    return np.unique(whole, axis=0, return_index=True)[1].astype(np.int64)


def _exclusions(things: Sequence[Thing], fault: Ints) -> Iterator[Exclusion]:
    for number, why in enumerate(FAULTS):
        yield from list_exclusions(
            "annotation", why, (str(things[place]) for place in np.flatnonzero(fault == number).tolist())
        )
