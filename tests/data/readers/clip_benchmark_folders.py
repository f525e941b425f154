"""Folders in the layout of CLIP_benchmark, and an encoder that evaluates them at once."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from webdataset import TarWriter

from eyechart.models.types import Encoder, Floats, Identity

CLASSES = ("cat", "dog", "emu")


def write(folder: Path, labels: list[Any], templates: str = "") -> Path:
    """Write a split in the layout of clip_benchmark_export_wds."""
    split = folder / "test"
    split.mkdir(parents=True)
    (folder / "classnames.txt").write_text("\n".join(CLASSES) + "\n")
    (folder / "dataset_type.txt").write_text("classification\n")
    if templates:
        (folder / "zeroshot_classification_templates.txt").write_text(templates)
    (split / "nshards.txt").write_text("1\n")
    random = np.random.default_rng(0)
    with TarWriter(str(split / "0.tar")) as tar:
        for number, label in enumerate(labels):
            pixels = random.integers(0, 255, (8, 8, 3)).astype(np.uint8)
            target = {"npy": np.array(label)} if isinstance(label, list) else {"cls": label}
            tar.write({"__key__": f"s{number:07d}", "png": Image.fromarray(pixels), **target})
    return split


class Colours(Encoder):
    """Encodes an image as its mean colour, and a text by its letters."""

    templates = "name"

    def __init__(self) -> None:
        self.texts: list[str] = []

    @property
    def identity(self) -> Identity:
        return Identity(backend="colours", name="colours", weights_sha256="0", dtype="float32", device="cpu",
                        processor={}, libraries={})  # fmt: skip

    def prepare(self, image: Image.Image) -> Floats:
        return np.asarray(image, np.float32).mean(axis=(0, 1)) / 255

    def encode_images(self, images: Any) -> Floats:
        return np.stack(images) - np.float32(0.5)

    def encode_texts(self, texts: Any) -> Floats:
        self.texts += texts
        return np.stack([np.random.default_rng(list(text.encode())).normal(size=3) for text in texts]).astype(
            np.float32
        )
