"""Read annotation files in the format of COCO and LVIS: images, categories, and one annotation per object.

Outlines are not kept, so that a file of 200 MB takes little more memory than its own size.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyechart.data.labels.class_names import fingerprint
from eyechart.data.names import fold_name
from eyechart.errors import DataError
from eyechart.files.text_files import MARK
from eyechart.oodbench.data.annotated_images import index_by_id, read_json
from eyechart.oodbench.data.annotation import Annotation, Exclusion, list_exclusions
from eyechart.oodbench.data.tallies import Tally, tally_instances

Ints = NDArray[np.int64]
Id = int | str
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

    id: Id
    name: str
    supercategory: Any = None


class Image(msgspec.Struct, frozen=True, gc=False):
    """An image, with sides of 0 if they are unknown; the lists of categories are LVIS's."""

    id: Id
    width: float = 0
    height: float = 0
    file_name: str = ""
    coco_url: str = ""
    neg_category_ids: tuple[Id, ...] = ()
    not_exhaustive_category_ids: tuple[Id, ...] = ()


class Thing(msgspec.Struct, frozen=True, gc=False):
    """One annotated thing, or a crowd of them; the box is left, top, width, height in pixels."""

    image_id: Id
    category_id: Id
    bbox: tuple[float, float, float, float]
    id: Id | None = None
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
    content = read_json(path, Instances, what, _repair_instances)
    if _has_text_ids(content):
        content = msgspec.convert(_repair_instances(msgspec.to_builtins(content)), Instances)
    for kind, parts in (("images", content.images), ("categories", content.categories)):
        if not parts:
            raise DataError(f"{path} has no {kind}, expected those of {what}: copy it again from where it came from.")
        index_by_id((part.id for part in parts), path, kind)
    categories = [_plain_category(category, path) for category in content.categories]
    return Instances(
        tuple(sorted(content.images, key=picture)),
        content.annotations,
        tuple(sorted(categories, key=lambda category: (isinstance(category.id, str), category.id))),
    )


def _plain_category(category: Category, path: Path) -> Category:
    """Return a category whose name has no outer spaces and no byte order mark."""
    name = category.name.strip().removeprefix(MARK).strip()
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{path} has the category {name!r}, which is no UTF-8 text: rename it.") from error
    return category if name == category.name else msgspec.structs.replace(category, name=name)


def _has_text_ids(content: Instances) -> bool:
    ids = chain(
        (image.id for image in content.images),
        (category.id for category in content.categories),
        *((thing.image_id, thing.category_id) for thing in content.annotations),
    )
    return any(isinstance(number, str) for number in ids)


def _repair_instances(content: Any) -> Any:
    """Return the content of an annotation file with fields of the types that they have in COCO's own.

    Other tools write null for what they do not know, ids as texts or fractions, booleans, and names that are numbers.
    """
    if not isinstance(content, dict):
        return content
    lists = {name: content[name] or [] for name in LISTS if name in content}
    return {
        name: [_repair_part(part) for part in parts] if isinstance(parts, list | tuple) else parts
        for name, parts in lists.items()
    }


def _repair_part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    known = {key: value for key, value in part.items() if value is not None and key in FIELDS}
    return {key: FIELDS[key](value) for key, value in known.items() if not _is_unknown(key, value)}


def _is_unknown(key: str, value: Any) -> bool:
    """Return whether an optional number is not one, such as NaN."""
    return key in _OPTIONAL and isinstance(value, float) and not math.isfinite(value)


def _repair_id(value: Any) -> Any:
    if isinstance(value, str) and (text := value.strip()).removeprefix("-").isdecimal():
        return int(text)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _repair_ids(value: Any) -> Any:
    return [*map(_repair_id, value)] if isinstance(value, list | tuple) else value


def _repair_number(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _repair_flag(value: Any) -> Any:
    if isinstance(value, str) and value.strip().casefold() in _FLAGS:
        return _FLAGS.index(value.strip().casefold()) % 2
    return int(value) if isinstance(value, bool | float) else value


def _repair_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


_NO_CATEGORIES = (
    "background",
    "__background__",
    "_background_",
    "bg",
    "none",
    "n/a",
    "unlabeled",
    "ignore",
    "__ignore__",
    *("ignored", "ignored region", "ignored regions", "dontcare", "don't care", "void", "unlabelled", "unknown"),
    *("undefined", "null", "nothing", "no object", "root", "empty", "blank", "negative"),
)
LISTS = ("images", "annotations", "categories")
_FLAGS = ("0", "1", "false", "true", "no", "yes")
_OPTIONAL = ("area", "width", "height")
FIELDS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("id", "image_id", "category_id"), _repair_id),
    **dict.fromkeys(("neg_category_ids", "not_exhaustive_category_ids"), _repair_ids),
    **dict.fromkeys(("name", "file_name", "coco_url"), _repair_text),
    **dict.fromkeys(_OPTIONAL, _repair_number),
    "bbox": lambda box: [*map(_repair_number, box)] if isinstance(box, list | tuple) else box,
    "iscrowd": _repair_flag,
    "supercategory": lambda value: value,
}  # by the name of a field that is read


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


def count_instances(instances: Instances) -> tuple[Tally, NDArray[np.float64], tuple[Exclusion, ...]]:
    """Return the counts of objects by image and category, the share of an image that one takes, and what is excluded.

    A crowd counts as one object and makes the count incomplete. A box that is empty or outside its image is not counted
    and makes the category unknown. Equal boxes of a category count once.
    """
    things, where = instances.annotations, _where(instances)
    crowded = np.array([bool(thing.iscrowd) for thing in things], np.bool_)
    fault = _faults(instances, where)
    areas = _object_areas(instances, where[:, 0], (fault < 0) & ~crowded)
    good = np.flatnonzero(fault < 0)
    good = good[np.argsort(~crowded[good], kind="stable")]  # of a crowd and a thing in one box the crowd is kept
    kept = good[_first_of_equals(where[good], _boxes(things)[good])]
    fault[np.setdiff1d(good, kept)] = REPEATED
    crowds, singles = where[kept[crowded[kept]]], where[kept[~crowded[kept]]]
    tally = tally_instances(
        (len(instances.images), len(instances.categories)), singles, crowds, where[np.isin(fault, DOUBTFUL)]
    )
    return tally, areas, tuple(_exclusions(things, fault))


def leave_out_namesakes(instances: Instances) -> tuple[Instances, tuple[Exclusion, ...]]:
    """Return annotations without categories that nothing is annotated with and that have the name of another one.

    Roboflow writes the name of a project as category 0, also where a class has it.
    """
    used, names = _used(instances), Counter(fold_name(category.name) for category in instances.categories)
    annotated = {fold_name(category.name) for category in instances.categories if category.id in used}
    out = [
        category
        for category in instances.categories
        if category.id not in used and (name := fold_name(category.name)) in annotated and names[name] > 1
    ]
    kept = tuple(category for category in instances.categories if category not in out)
    why = "nothing is annotated with it, and another one has its name"
    listed = list_exclusions("category", why, (f"{category.name} ({category.id})" for category in out))
    return msgspec.structs.replace(instances, categories=kept), listed


def hide_parents(instances: Instances, tally: Tally) -> tuple[Tally, tuple[Exclusion, ...]]:
    """Return a tally in which no image is known to be without a category that is none of its own.

    Such are the parent of others, which Roboflow writes as category 0, and the background, if nothing is annotated with
    them: what is below a parent is one, so that it is not absent where nothing is annotated with it.
    """
    used, above = _used(instances), Counter[str]()
    for category in instances.categories:
        if isinstance(category.supercategory, str) and fold_name(category.supercategory) != fold_name(category.name):
            above[fold_name(category.supercategory)] += 1
    hidden = [
        category.id not in used and (above[fold_name(category.name)] > 0 or fold_name(category.name) in _NO_CATEGORIES)
        for category in instances.categories
    ]
    names = (category.name for category, out in zip(instances.categories, hidden, strict=True) if out)
    why = "nothing is annotated with it, and it is the parent of others or the background: it is absent nowhere"
    shown = ~np.array(hidden, np.bool_)
    return Tally(tally.counts, tally.known & shown, tally.countable & shown), list_exclusions("category", why, names)


def _used(instances: Instances) -> set[Id]:
    return {thing.category_id for thing in instances.annotations}


def build_annotation(
    instances: Instances, tally: Tally, areas: NDArray[np.float64], left_out: tuple[Exclusion, ...]
) -> Annotation:
    """Return the annotation of counts and areas with the ids of images and categories."""
    images, categories = (tuple(str(part.id) for part in parts) for parts in (instances.images, instances.categories))
    return Annotation(*tally, images, categories, left_out, object_areas=areas)


def _object_areas(instances: Instances, rows: Ints, usable: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the median share of each image (n,) that one of its usable annotations takes.

    An object takes its `area`, which COCO measures within its outline; without one it takes its box.
    """
    sizes = np.array([image.width * image.height for image in instances.images], np.float64)
    usable = usable & (sizes[rows] > 0)
    rows, objects = rows[usable], (instances.annotations[index] for index in np.flatnonzero(usable).tolist())
    areas = np.array([thing.area or thing.bbox[2] * thing.bbox[3] for thing in objects], np.float64)
    shares = np.minimum(areas / sizes[rows], 1.0)
    shares, counts = shares[np.lexsort((shares, rows))], np.bincount(rows, minlength=len(sizes))
    seen, first = counts > 0, np.cumsum(counts) - counts  # of the sorted shares of an image, the two in the middle
    medians = np.full(len(sizes), np.nan)
    medians[seen] = (shares[(first + (counts - 1) // 2)[seen]] + shares[(first + counts // 2)[seen]]) / 2
    return medians


def _where(instances: Instances) -> Ints:
    """Return the row and column of every annotation, -1 for an unknown image or category."""
    rows = {image.id: row for row, image in enumerate(instances.images)}
    columns = {category.id: column for column, category in enumerate(instances.categories)}
    indices = [(rows.get(thing.image_id, -1), columns.get(thing.category_id, -1)) for thing in instances.annotations]
    return np.array(indices, np.int64).reshape(-1, 2)


def _faults(instances: Instances, where: Ints) -> Ints:
    """Return the first of FAULTS of each annotation, -1 for none; repetitions are not checked."""
    left, top, width, height = _boxes(instances.annotations).T
    sides = [(image.width or np.inf, image.height or np.inf) for image in instances.images]
    wide, high = np.array(sides, np.float64)[where[:, 0]].T
    flat = np.array([thing.area == 0 for thing in instances.annotations], np.bool_)
    empty = (width <= 0) | (height <= 0) | flat | ~np.isfinite(left + top + width + height)
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
            "annotation", why, (str(things[index]) for index in np.flatnonzero(fault == number).tolist())
        )
