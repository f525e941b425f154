"""Scenes in the formats of four data sets, with a table of what is really there."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from eyechart.samples.files import write_table
from eyechart.toybox import cityscapes, coco, lvis, nuscenes
from eyechart.toybox.art import styles
from eyechart.toybox.classes import names
from eyechart.toybox.scenes import RenderedScene, box
from eyechart.toybox.styles import TRAINING

Writer = Callable[[Path, int, Sequence[str], int], list[RenderedScene]]
WRITERS: Mapping[str, Writer] = {
    "coco": coco.write,
    "lvis": lvis.write,
    "nuscenes": nuscenes.write,
    "cityscapes": cityscapes.write,
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
        for place, thing in enumerate(scene.things):
            where = box(picture.masks[place]) if picture.masks[place].any() else (0, 0, 0, 0)
            kind = (int(place == scene.main), int(place < scene.crowd))
            facts = (scene.key, scene.style, int(scene.style in TRAINING), place, names()[thing.label], *kind)
            yield dict(zip(TRUTH, (*facts, *where, f"{picture.visible_fractions[place]:.4f}"), strict=True))
