"""Scenes in the formats of four data sets, with a table of what is really there."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from eyechart.samples.files import write_table
from eyechart.toybox.art.scenes import RenderedScene, box
from eyechart.toybox.art.shapes import styles
from eyechart.toybox.art.styles import TRAINING
from eyechart.toybox.art.toy_classes import names
from eyechart.toybox.formats import cityscapes_files, coco_files, lvis_files, nuscenes_files

Writer = Callable[[Path, int, Sequence[str], int], list[RenderedScene]]
WRITERS: Mapping[str, Writer] = {
    "coco": coco_files.write,
    "lvis": lvis_files.write,
    "nuscenes": nuscenes_files.write,
    "cityscapes": cityscapes_files.write,
}
TRUTH = ("scene", "style", "trained", "thing", "name", "main", "crowd", "left", "top", "width", "height", "seen")


def write(folder: Path, seed: int, number: int) -> None:
    """Write every format into a folder of its own, all styles in turn, and `truth.csv` beside its files."""
    for name, writer in WRITERS.items():
        rendered = writer(folder / name, seed, styles(), number)
        write_table(folder / name / "truth.csv", TRUTH, truth(rendered))


def truth(rendered: Sequence[RenderedScene]) -> Iterator[dict[str, object]]:
    """Yield every thing that was drawn: whether it is the main one or one of a crowd, its box and visible share."""
    for picture in rendered:
        scene = picture.scene
        for index, thing in enumerate(scene.things):
            where = box(picture.masks[index]) if picture.masks[index].any() else (0, 0, 0, 0)
            kind = (int(index == scene.main), int(index < scene.crowd))
            facts = (scene.key, scene.style, int(scene.style in TRAINING), index, names()[thing.label], *kind)
            yield dict(zip(TRUTH, (*facts, *where, f"{picture.visible_fractions[index]:.4f}"), strict=True))
