"""LVIS v1: `lvis_v1_val.json` with the images of COCO in `val2017/` and `train2017/`.

Annotators checked only some categories in each image: the annotated ones are present, and those in `neg_category_ids`
are absent. It is unknown whether any other category is present.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import numpy as np

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.image_files import find_first, index_images, plain_path
from eyechart.oodbench.data.annotated_images import build_annotated_dataset
from eyechart.oodbench.data.annotation import Annotation, Bools, Exclusion, list_exclusions
from eyechart.oodbench.data.instances import (
    Id,
    Image,
    Instances,
    PublishedFile,
    build_annotation,
    count_instances,
    expected_images,
    leave_out_namesakes,
    read_instances,
)
from eyechart.oodbench.data.tallies import Tally

NAMES = "a9ee517d3071bff0d31ab0d5698968cfa0df40d0a4635c746c991fdbd2099ddd"  # of the 1203 categories
PUBLISHED = {"val": PublishedFile(19_809, 244_707, NAMES), "train": PublishedFile(100_170, 1_270_141, NAMES)}
REMEDY = "LVIS has pictures of COCO's train2017 and val2017, so unpack both there, or keep only your own in the file."


def annotation_file(folder: Path, part: str = "val") -> Path:
    """Return the path of a part's annotation file: in the folder, or in its subfolder `annotations`."""
    name = f"lvis_v1_{part}.json"
    inner = folder / "annotations" / name
    return inner if inner.is_file() and not (folder / name).is_file() else folder / name


def open_lvis(folder: Path, benchmark: str, split: str, *, part: str = "val", cache: Path | None = None) -> Dataset:
    """Return the data set of a part of LVIS v1, or of other images in its format, in the order of the images' paths.

    Each `_` in a category name becomes a space. A category is known in an image that has annotations of it or lists it
    as absent; those of `not_exhaustive_category_ids` are not countable. A split named `lvis` or `lvis-train` with the
    categories of LVIS must have the published numbers of images and annotations.
    """
    path = annotation_file(folder, part)
    instances, namesakes = leave_out_namesakes(read_instances(path, "LVIS v1 annotations", image_path))
    published = PUBLISHED.get(part) if split.casefold() in ("lvis", f"lvis-{part}") else None
    expected = expected_images(path, f"{benchmark}/{split}", instances, published)
    pictures = [_location(folder, image) for image in instances.images]
    entries = index_images(folder, pictures, named_by=path, remedy=REMEDY, cache=cache)
    names = [category.name.replace("_", " ") for category in instances.categories]
    annotation = _build_federated_annotation(instances)
    annotation = replace(annotation, excluded=(*annotation.excluded, *namesakes))
    return build_annotated_dataset(folder, benchmark, split, entries, names, annotation, expected=expected)


def image_path(image: Image) -> str:
    """Return the path of an image: the last folder and the file name of its `coco_url`, or else its `file_name`."""
    address = PurePosixPath(urlsplit(image.coco_url).path)
    return "/".join(address.parts[-2:]) if image.coco_url else image.file_name


def _location(folder: Path, image: Image) -> str:
    """Return where a picture lies, which may be written without its folder, or as it lay on another machine."""
    path = image_path(image)
    name = plain_path(path).rpartition("/")[2]
    return find_first(folder, (path, *(f"{part}2017/{name}" for part in ("val", "train") if name)))


def _build_federated_annotation(instances: Instances) -> Annotation:
    """Return the annotation of the checked categories; a category that is both annotated and negative is present."""
    tally, areas, left_out = count_instances(instances)
    present = np.greater(tally.counts, 0)
    negative, unknown = _category_mask(instances, "negative category", lambda image: image.neg_category_ids)
    partly, strange = _category_mask(
        instances, "not exhaustive category", lambda image: image.not_exhaustive_category_ids
    )
    known = (present | negative & ~partly) & tally.known
    listed = (*left_out, *unknown, *strange, *_contradictions(instances, present & negative))
    return build_annotation(instances, Tally(tally.counts, known, known & ~partly & tally.countable), areas, listed)


def _category_mask(
    instances: Instances, what: str, ids: Callable[[Image], Sequence[Id]]
) -> tuple[Bools, tuple[Exclusion, ...]]:
    """Return the mask (n, k) of the categories that each image lists, and the listed ids that are not categories."""
    columns = {category.id: column for column, category in enumerate(instances.categories)}
    marked = np.zeros((len(instances.images), len(columns)), np.bool_)
    strangers = []
    for row, image in enumerate(instances.images):
        strangers += [
            f"category {category_id} of image {image.id}" for category_id in ids(image) if category_id not in columns
        ]
        marked[row, [columns[category_id] for category_id in ids(image) if category_id in columns]] = True
    return marked, list_exclusions(what, "it names a category that is not there", strangers)


def _contradictions(instances: Instances, both: Bools) -> tuple[Exclusion, ...]:
    named = (
        f"category {instances.categories[column].id} of image {instances.images[row].id}"
        for row, column in np.argwhere(both).tolist()
    )
    return list_exclusions("negative category", "it is annotated in the same image", named)
