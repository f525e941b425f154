"""The packaged sample of OODBench: scenes in the formats of its four data sets, without any picture under the GPL."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path

from eyechart.samples.files import packaged, write_checksums, write_table
from eyechart.toybox.art.scenes import Scene
from eyechart.toybox.art.styles import STYLES
from eyechart.toybox.formats import annotated, cityscapes_files, coco_files, nuscenes_files

CHOSEN = tuple(name for name, style in STYLES.items() if not style.licence.startswith("GPL"))
NUMBERS: Mapping[str, int] = {"coco": 50, "lvis": 50, "nuscenes": 60, "cityscapes": 60}
WRITERS: Mapping[str, annotated.Writer] = {
    **annotated.WRITERS,
    "nuscenes": partial(nuscenes_files.write, plan=nuscenes_files.FRONT_OF_VAL),
}
PICTURES: Mapping[str, Callable[[int, Scene], str]] = {
    "coco": lambda index, _: coco_files.filename(index + 1),
    "lvis": lambda index, _: coco_files.filename(index + 1),
    "nuscenes": lambda index, _: nuscenes_files.filename(index, "CAM_FRONT"),
    "cityscapes": lambda _, scene: cityscapes_files.filename(scene.key),
}
MANIFEST = ("file", "title", "author", "licence", "source_url", "source_package", "source_path", "sha256")
SEALED = frozenset({".csv", ".jpg", ".json", ".png"})


def write(target: Path, seed: int) -> None:
    """Write every format into a folder of its own with its manifest and checksums, and the licences beside them."""
    for name, writer in WRITERS.items():
        rendered = writer(target / name, seed, CHOSEN, NUMBERS[name])
        pictures = (
            (PICTURES[name](index, picture.scene), picture.scene.style) for index, picture in enumerate(rendered)
        )
        write_table(target / name / "manifest.csv", MANIFEST, manifest(target / name, pictures))
        write_checksums(target / name, SEALED)
    _write_licences(target / "licences")


def manifest(folder: Path, pictures: Iterator[tuple[str, str]]) -> Iterator[dict[str, str]]:
    """Say of every picture, by its file and style, whose art it is drawn from and under which licence."""
    for file, name in pictures:
        style = STYLES[name]
        yield {
            "file": file,
            "title": style.title,
            "author": style.author,
            "licence": style.licence,
            "source_url": style.url,
            "source_package": style.package,
            "source_path": f"toybox/{name}/sprites.csv, column source",
            "sha256": sha256((folder / file).read_bytes()).hexdigest(),
        }


def _write_licences(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for style in CHOSEN:
        for text in (packaged("toybox") / style).glob("LICENSE-*.txt"):
            shutil.copyfile(text, folder / f"LICENSE-{style}.txt")
