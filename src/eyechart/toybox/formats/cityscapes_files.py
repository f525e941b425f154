"""Streets as Cityscapes keeps them: `leftImg8bit/val/CITY/*_leftImg8bit.png`, `gtFine/val/CITY/*_gtFine_polygons.json`.

Objects are listed from back to front, sky and road first; a crowd is one polygon of `…group`. What Cityscapes has no
name for is drawn nowhere.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from eyechart.toybox.art.backdrops import horizon
from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.outlines import Mask, polygons
from eyechart.toybox.art.scenes import RenderedScene, Scene, render, street_scene
from eyechart.toybox.art.toy_classes import classes
from eyechart.toybox.formats.coco_files import Json
from eyechart.toybox.formats.shards import encode_image
from eyechart.toybox.formats.write_json import write_bytes, write_json

NAME = "cityscapes"
CITIES = ("playroom", "sandpit")
SIZE = (144, 96)
CROWDED = 12
GROUPED = frozenset({"person", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle"})


def scenes(seed: int, styles: Sequence[str], number: int) -> Iterator[Scene]:
    """Yield streets, styles in turn; every twelfth has a crowd."""
    for index in range(number):
        style, crowd = styles[index % len(styles)], index % CROWDED == CROWDED - 1
        city = CITIES[index % len(CITIES)]
        draw, key = Draw(seed, NAME, index), f"{city}/{city}_000000_{index:06}"
        yield street_scene(draw, key, style, SIZE, lambda concept: concept.cityscapes, crowd=crowd)


def _polygon_file(rendered: RenderedScene) -> Json:
    """Return the content of an annotation file."""
    scene = rendered.scene
    line = horizon(scene.backdrop, scene.height)
    back = [_object("sky", _rectangle(scene, 0, line)), _object("road", _rectangle(scene, line, scene.height))]
    crowd = [np.logical_or.reduce(rendered.masks[: scene.crowd])] if scene.crowd else []
    groups = [_object(_group(_name(scene, 0)), mask) for mask in crowd]
    things = [_object(_name(scene, index), rendered.masks[index]) for index in range(scene.crowd, len(scene.things))]
    return {"imgHeight": scene.height, "imgWidth": scene.width, "objects": [*back, *groups, *things]}


def _rectangle(scene: Scene, first: int, last: int) -> Mask:
    rows = np.arange(scene.height)[:, None]
    return np.broadcast_to((rows >= first) & (rows < last), (scene.height, scene.width))


def _object(label: str, mask: Mask) -> Json:
    """Describe an object by the outline of its largest part."""
    return {"label": label, "polygon": [[*point] for point in polygons(mask)[0]]}


def _name(scene: Scene, index: int) -> str:
    return classes()[scene.things[index].label].concept.cityscapes


def _group(label: str) -> str:
    return f"{label}group" if label in GROUPED else label


def filename(key: str) -> str:
    """Return where a scene's picture lies."""
    return f"leftImg8bit/val/{key}_leftImg8bit.png"


def write(folder: Path, seed: int, styles: Sequence[str], number: int) -> list[RenderedScene]:
    """Write pictures and polygons; return what was rendered."""
    rendered = [render(scene) for scene in scenes(seed, styles, number)]
    for picture in rendered:
        key = picture.scene.key
        write_bytes(folder / filename(key), encode_image(picture.image, "PNG"))
        write_json(folder / f"gtFine/val/{key}_gtFine_polygons.json", _polygon_file(picture))
    return rendered
