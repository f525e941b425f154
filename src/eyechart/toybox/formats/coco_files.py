"""Scenes as COCO keeps them: `val2017/*.jpg` and `annotations/instances_val2017.json`.

Category ids are the class plus one. A crowd is one annotation with `iscrowd` 1 and run lengths; some images are empty.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.outlines import Mask, fill_holes, polygons, run_lengths
from eyechart.toybox.art.scenes import RenderedScene, Scene, box, empty_scene, everyday_scene, render
from eyechart.toybox.art.toy_classes import classes
from eyechart.toybox.formats.shards import SCENE, encode_image
from eyechart.toybox.formats.write_json import write_bytes, write_json

NAME = "coco"
CROWDED, EMPTY = 12, 25
DATE = "2017-01-01 00:00:00"
Json = dict[str, Any]


def scenes(seed: int, styles: Sequence[str], number: int, name: str = NAME) -> Iterator[Scene]:
    """Yield scenes, styles in turn; every twelfth has a crowd, every twenty-fifth is empty."""
    for index in range(number):
        draw, key, style = Draw(seed, name, index), f"{name}/{index + 1:012}", styles[index % len(styles)]
        if index % EMPTY == EMPTY - 1:
            yield empty_scene(draw, key, style, SCENE)
        else:
            yield everyday_scene(draw, key, style, SCENE, crowd=name == NAME and index % CROWDED == CROWDED - 1)


def instances(rendered: Sequence[RenderedScene]) -> Json:
    """Return the content of the annotation file for scenes that are numbered from 1."""
    numbers = count(1)
    return {
        "info": {"description": "toy world", "version": "1.0", "year": 2017, "date_created": "2017/01/01"},
        "licenses": [{"id": 1, "name": "that of the picture's style", "url": ""}],
        "images": [image(index, picture) for index, picture in enumerate(rendered, 1)],
        "annotations": [
            entry for index, picture in enumerate(rendered, 1) for entry in annotations(index, picture, numbers)
        ],
        "categories": [
            {"supercategory": entry.subgroup, "id": entry.index + 1, "name": entry.name} for entry in classes()
        ],
    }


def image(number: int, rendered: RenderedScene) -> Json:
    """Describe an image."""
    return {
        "license": 1,
        "file_name": f"{number:012}.jpg",
        "coco_url": f"http://images.example/val2017/{number:012}.jpg",
        "height": rendered.scene.height,
        "width": rendered.scene.width,
        "date_captured": DATE,
        "flickr_url": "",
        "id": number,
    }


def annotations(number: int, rendered: RenderedScene, ids: Iterator[int]) -> Iterator[Json]:
    """Describe every thing of an image, a crowd as one."""
    things, crowd = rendered.scene.things, rendered.scene.crowd
    for index in range(crowd, len(things)):
        yield annotation(number, things[index].label, rendered.masks[index], next(ids))
    if crowd:
        mask: Mask = np.logical_or.reduce(rendered.masks[:crowd])
        entry = annotation(number, things[0].label, mask, next(ids))
        lengths = {"counts": run_lengths(mask), "size": [*mask.shape]}
        yield entry | {"segmentation": lengths, "area": int(mask.sum()), "iscrowd": 1}


def annotation(number: int, label: int, mask: Mask, identity: int) -> Json:
    """Describe one thing: the area is that inside its polygons."""
    return {
        "segmentation": [[float(value) for point in polygon for value in point] for polygon in polygons(mask)],
        "area": float(fill_holes(mask).sum()),
        "iscrowd": 0,
        "image_id": number,
        "bbox": [float(value) for value in box(mask)],
        "category_id": label + 1,
        "id": identity,
    }


def filename(number: int) -> str:
    """Return where the picture of an image lies."""
    return f"val2017/{number:012}.jpg"


def write(folder: Path, seed: int, styles: Sequence[str], number: int) -> list[RenderedScene]:
    """Write pictures and annotations; return what was rendered."""
    rendered = [render(scene) for scene in scenes(seed, styles, number)]
    for index, picture in enumerate(rendered, 1):
        write_bytes(folder / filename(index), encode_image(picture.image, "JPEG"))
    write_json(folder / "annotations/instances_val2017.json", instances(rendered))
    return rendered
