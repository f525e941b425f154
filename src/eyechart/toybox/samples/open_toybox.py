"""The packaged pictures of the toy world, under its own names and equivalences.

Splits: `sample`, in the styles that toy models train on; `sample-STYLE`, in a held-out one; `sample-scenes`, where the
original label is the main thing. Each picture is in the folder of its style, under the style's licence; a folder of a
style may be absent.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset, Row, build_label_set, build_original_labels
from eyechart.data.index.file_index import whole_file_source
from eyechart.data.splits.registry import PackagedSample
from eyechart.errors import DataError
from eyechart.samples.files import checksums, packaged, read_packaged, read_table, write_checksums, write_table
from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.scenes import Scene, everyday_scene, render, single_scene
from eyechart.toybox.art.shapes import atlas, styles
from eyechart.toybox.art.styles import HELD_OUT, STYLES, TRAINING
from eyechart.toybox.art.toy_classes import equivalences, names
from eyechart.toybox.formats.shards import SCENE, SIDE, encode_image

PICTURES = ("file", "split", "label", "labels")
KNOWN, SCENES = "sample", "sample-scenes"
SCENES_A_STYLE = 20


def splits(root: Path | None = None) -> tuple[str, ...]:
    """Return the packaged splits: pictures in the styles that models train on, in each held-out style, and scenes."""
    there = styles(root)
    held_out = [f"{KNOWN}-{style}" for style in HELD_OUT if style in there]
    return (*([KNOWN] if {*there} & {*TRAINING} else []), *held_out, *([SCENES] if there else []))


Line = tuple[Row, Path, tuple[int, ...]]


def open_toybox(split: str, root: Path | None = None) -> Dataset:
    """Open a packaged split, every picture checked; `root` is another copy of it."""
    root = root or packaged("toybox")
    lines = [line for style in STYLES for line in _style(root / style, split)]
    if not lines:
        raise DataError(f"The packaged toy world has no split '{split}'; it has {', '.join(splits(root))}.")
    index = tuple(row for row, _, _ in lines)
    source = f"packaged sample toybox/{split}"
    truths = (
        build_original_labels("toybox", index, [(row.label,) for row in index], source),
        build_label_set("multilabel", index, [labels for _, _, labels in lines], "correct", source),
    )
    return Dataset(
        benchmark="toybox",
        split=split,
        index=index,
        source=whole_file_source((row, path) for row, path, _ in lines),
        classes=len(names()),
        expected=len(lines),
        names=names(),
        label_sets={truth.name: truth for truth in truths},
        equivalences=equivalences(),
    )


def _style(folder: Path, split: str) -> list[Line]:
    """Read a style's pictures of the split, which must be those that were packaged; none if its folder is left out."""
    if not folder.is_dir():
        return []
    return [_picture(folder, line) for line in read_table(folder, "pictures.csv") if line["split"] == split]


def _picture(folder: Path, line: dict[str, str]) -> Line:
    name = f"pictures/{line['file']}"
    path, labels = folder / name, tuple(map(int, line["labels"].split(";")))
    read_packaged(folder, name)
    key = f"{folder.name}/{path.stem}"
    return Row(key, path.name, checksums(folder)[name], int(line["label"])), path, labels


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
            shutil.copytree(packaged("toybox") / folder, target / folder, ignore=shutil.ignore_patterns("pictures"))
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


TOYBOX = PackagedSample(
    "Pictures of the toy world, which the packaged models know.",
    splits,
    open_toybox,
    ("open_clip[toybox-clip]", "conse[]", "hf[toybox-mllm]"),
)
