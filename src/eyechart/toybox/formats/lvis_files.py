"""Scenes as LVIS v1 keeps them: `val2017/*.jpg` and `lvis_v1_val.json`.

An image is annotated for its positive categories and its `neg_category_ids` alone. Every fourth image, if it has two
things of a class, leaves one of them out, and the class is among its `not_exhaustive_category_ids`.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.scenes import RenderedScene, render
from eyechart.toybox.art.toy_classes import classes, equivalent_classes
from eyechart.toybox.formats.coco_files import Json, annotation, filename, image, scenes
from eyechart.toybox.formats.shards import encode_image
from eyechart.toybox.formats.write_json import write_bytes, write_json

NAME = "lvis"
NEGATIVES = 6
FEW, SOME = 10, 100


def unannotated_thing(rendered: RenderedScene, number: int) -> int | None:
    """The thing that stays without annotation: the smallest of a class that has several, in every fourth image."""
    counts = Counter(thing.label for thing in rendered.scene.things)
    several = [index for index, thing in enumerate(rendered.scene.things) if counts[thing.label] > 1]
    chosen = min(several, key=lambda index: rendered.scene.things[index].size, default=None)
    return chosen if number % 4 == 0 else None


def annotated(rendered: Sequence[RenderedScene]) -> list[tuple[int, int, RenderedScene]]:
    """Every annotated thing: the image's number, the thing's, and the rendering."""
    return [
        (number, index, picture)
        for number, picture in enumerate(rendered, 1)
        for index in range(len(picture.scene.things))
        if index != unannotated_thing(picture, number)
    ]


def content(rendered: Sequence[RenderedScene], seed: int) -> Json:
    """Return the content of the annotation file for scenes that are numbered from 1."""
    chosen, numbers = annotated(rendered), count(1)
    return {
        "info": {"description": "toy world", "version": "v1.0", "year": 2020, "date_created": "2020-01-01"},
        "licenses": [{"id": 1, "name": "that of the picture's style", "url": ""}],
        "images": [_image(number, picture, seed) for number, picture in enumerate(rendered, 1)],
        "annotations": [_annotation(number, index, picture, next(numbers)) for number, index, picture in chosen],
        "categories": _categories([(number, picture.scene.things[index].label) for number, index, picture in chosen]),
    }


def _annotation(number: int, index: int, rendered: RenderedScene, identity: int) -> Json:
    entry = annotation(number, rendered.scene.things[index].label, rendered.masks[index], identity)
    del entry["iscrowd"]
    return entry


def _image(number: int, rendered: RenderedScene, seed: int) -> Json:
    """Describe an image, whose file is named by its URL alone; absent are classes that are like no present one."""
    entry, hidden = image(number, rendered), unannotated_thing(rendered, number)
    del entry["file_name"]
    present = {other for label in rendered.labels for other in equivalent_classes(label)}
    absent = [label for label in range(len(classes())) if label not in present]
    negative = Draw(seed, NAME, "negative", number).sample(absent, NEGATIVES)
    entry["neg_category_ids"] = sorted(label + 1 for label in negative)
    entry["not_exhaustive_category_ids"] = [] if hidden is None else [rendered.scene.things[hidden].label + 1]
    return entry


def _categories(annotated: Sequence[tuple[int, int]]) -> list[Json]:
    """Describe every class, with the number of its annotations and of their images."""
    images, counts = Counter(label for _, label in {*annotated}), Counter(label for _, label in annotated)
    return [
        {
            "id": toy_class.index + 1,
            "name": toy_class.name.replace(" ", "_"),
            "synset": f"toybox.n.{toy_class.index + 1:03}",
            "synonyms": [toy_class.name.replace(" ", "_")],
            "def": f"a toy of the group {toy_class.group}, {toy_class.subgroup}",
            "frequency": _frequency(images[toy_class.index]),
            "image_count": images[toy_class.index],
            "instance_count": counts[toy_class.index],
        }
        for toy_class in classes()
    ]


def _frequency(images: int) -> str:
    return "r" if images <= FEW else "c" if images <= SOME else "f"


def write(folder: Path, seed: int, styles: Sequence[str], number: int) -> list[RenderedScene]:
    """Write pictures and annotations; return what was rendered."""
    rendered = [render(scene) for scene in scenes(seed, styles, number, NAME)]
    for index, picture in enumerate(rendered, 1):
        write_bytes(folder / filename(index), encode_image(picture.image, "JPEG"))
    write_json(folder / "lvis_v1_val.json", content(rendered, seed))
    return rendered
