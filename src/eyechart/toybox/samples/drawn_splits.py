"""The pictures that are packaged, each in the folder of its style, under the style's licence."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from eyechart.samples.files import write_checksums, write_table
from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.scenes import Scene, everyday_scene, render, single_scene
from eyechart.toybox.art.shapes import atlas, packaged_root, styles
from eyechart.toybox.art.styles import HELD_OUT, TRAINING
from eyechart.toybox.formats.shards import SCENE, SIDE, encode_image

PICTURES = ("file", "split", "label", "labels")
KNOWN, SCENES = "sample", "sample-scenes"
SCENES_A_STYLE = 20


def splits(root: Path | None = None) -> tuple[str, ...]:
    """Return the packaged splits: pictures in the styles that models train on, in each held-out style, and scenes."""
    there = styles(root)
    held_out = [f"{KNOWN}-{style}" for style in HELD_OUT if style in there]
    return (*([KNOWN] if {*there} & {*TRAINING} else []), *held_out, *([SCENES] if there else []))


def pictures(seed: int, style: str) -> Iterator[tuple[str, Scene]]:
    """Yield a style's packaged pictures with their splits: one a class (training styles share the classes), scenes."""
    for label in atlas(style).classes:
        if style in HELD_OUT or TRAINING[label % len(TRAINING)] == style:
            key = f"{style}/{label:03}"
            split = f"{KNOWN}-{style}" if style in HELD_OUT else KNOWN
            yield split, single_scene(Draw(seed, KNOWN, key), key, style, label, SIDE)
    for number in range(SCENES_A_STYLE):
        key = f"{style}/scene-{number:02}"
        yield SCENES, everyday_scene(Draw(seed, KNOWN, key), key, style, SCENE)


def write(target: Path, seed: int) -> None:
    """Write the pictures of every style; art and names are copied where the target has none."""
    for folder in ("emojibase", *styles()):
        if not (target / folder).is_dir():
            shutil.copytree(packaged_root() / folder, target / folder, ignore=shutil.ignore_patterns("pictures"))
    for style in styles():
        _write_style(target / style, style, seed)


def _write_style(folder: Path, style: str, seed: int) -> None:
    shutil.rmtree(folder / "pictures", ignore_errors=True)
    (folder / "pictures").mkdir()
    rows = []
    for split, scene in pictures(seed, style):
        rendered, name = render(scene), f"{scene.key.partition('/')[2]}.webp"
        (folder / "pictures" / name).write_bytes(encode_image(rendered.image))
        labels = ";".join(map(str, rendered.labels))
        rows.append({"file": name, "split": split, "label": scene.things[scene.main].label, "labels": labels})
    write_table(folder / "pictures.csv", PICTURES, rows)
    write_checksums(folder)
