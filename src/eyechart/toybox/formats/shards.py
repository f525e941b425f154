"""Pictures as WebDataset shards in the wds_imagenet1k layout: `train`, `val` in its styles, and the held-out styles."""

import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image

from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.scenes import RenderedScene, Scene, everyday_scene, render, single_scene
from eyechart.toybox.art.shapes import atlas, styles
from eyechart.toybox.art.styles import HELD_OUT, TRAINING
from eyechart.toybox.art.toy_classes import equivalences, names

SIDE = 96
SCENE = (128, 128)
SHARD = 1000
SETTINGS: Mapping[str, Mapping[str, int]] = {
    "WEBP": {"quality": 90, "method": 4},
    "JPEG": {"quality": 95, "subsampling": 0},
    "PNG": {},
}
SINGLES: Mapping[str, tuple[str, ...]] = {"train": TRAINING, "val": TRAINING, **{style: (style,) for style in HELD_OUT}}
SCENES: Mapping[str, tuple[str, ...]] = {
    "scenes-train": TRAINING,
    "scenes-val": TRAINING,
    **{f"scenes-{style}": (style,) for style in HELD_OUT},
}
Sample = Mapping[str, bytes]


def singles(seed: int, split: str, chosen: Sequence[str], count: int) -> Iterator[Scene]:
    """Yield `count` pictures of one thing for every class of every style."""
    number = 0
    for _ in range(count):
        for style in chosen:
            for label in atlas(style).classes:
                yield single_scene(Draw(seed, split, number), f"{split}/{number}", style, label, SIDE)
                number += 1


def scenes(seed: int, split: str, chosen: Sequence[str], count: int) -> Iterator[Scene]:
    """Yield scenes, the styles in turn."""
    for number in range(count):
        style = chosen[number % len(chosen)]
        yield everyday_scene(Draw(seed, split, number), f"{split}/{number}", style, SCENE)


def encode_image(image: Image.Image, kind: str = "WEBP") -> bytes:
    """Encode a picture with fixed settings, as WEBP, JPEG or PNG."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **SETTINGS[kind])
    return buffer.getvalue()


def samples(pictures: Iterable[Scene], *, several: bool) -> Iterator[Sample]:
    """Yield the members of every sample: the picture with its class, or with all its classes as an array."""
    for scene in pictures:
        rendered = render(scene)
        yield {
            "webp": encode_image(rendered.image),
            **({"npy": _array(rendered)} if several else {"cls": _main(rendered)}),
        }


def _main(rendered: RenderedScene) -> bytes:
    return str(rendered.scene.things[rendered.scene.main].label).encode()


def _array(rendered: RenderedScene) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array(rendered.labels, np.int64))
    return buffer.getvalue()


def write_split(folder: Path, samples_to_write: Iterator[Sample]) -> None:
    """Write shards of up to a thousand samples, and their number."""
    folder.mkdir(parents=True, exist_ok=True)
    count = first = 0
    while batch := list(islice(samples_to_write, SHARD)):
        with tarfile.open(folder / f"{count}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
            for number, sample in enumerate(batch, first):
                for suffix, data in sorted(sample.items()):
                    member = tarfile.TarInfo(f"s{number:07d}.{suffix}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
        count, first = count + 1, first + len(batch)
    (folder / "nshards.txt").write_text(f"{count}\n", encoding="utf-8")


def write(folder: Path, seed: int, per_class: int, scene_count: int) -> None:
    """Write every split whose styles are there; `val` and the held-out ones have a fifth of the pictures of `train`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "classnames.txt").write_text("".join(f"{name}\n" for name in names()), encoding="utf-8")
    pairs = "".join(f"{first},{second}\n" for first, second in equivalences())
    (folder / "equivalences.csv").write_text(f"a,b\n{pairs}", encoding="utf-8")
    (folder / "zeroshot_classification_templates.txt").write_text("a photo of a {c}.\n", encoding="utf-8")
    for split, wanted in {**SINGLES, **SCENES}.items():
        chosen = [style for style in wanted if style in styles()]
        share = 1 if split.endswith("train") else 5
        if chosen and split in SINGLES:
            write_split(folder / split, samples(singles(seed, split, chosen, -(-per_class // share)), several=False))
        elif chosen:
            write_split(folder / split, samples(scenes(seed, split, chosen, -(-scene_count // share)), several=True))
