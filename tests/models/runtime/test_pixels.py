"""Tests of `eyechart.models.runtime.pixels`."""

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from eyechart.models.runtime.pixels import PixelTransform
from eyechart.models.runtime.torchvision_repair import repair


@pytest.mark.parametrize("library", ["open_clip", "timm", "function"])
def test_floats_are_those_of_the_transform(library: str) -> None:
    transform = make_transform(library)
    noise = np.random.default_rng(0).integers(0, 256, (4, 300, 400, 3), dtype=np.uint8)
    images = [*map(Image.fromarray, noise)]
    pixels = PixelTransform(transform)
    prepared = [pixels.prepare(image) for image in images]
    batch = pixels.stack(prepared, "cpu")
    assert torch.equal(batch, torch.stack([transform(image) for image in images]))
    assert batch.is_contiguous(memory_format=torch.channels_last)
    assert prepared[0].dtype == (torch.float32 if library == "function" else np.uint8)


def make_transform(library: str) -> Any:
    repair()
    from open_clip.transform import PreprocessCfg, image_transform_v2
    from timm.data import create_transform
    from torchvision.transforms.functional import resize, to_tensor

    if library == "open_clip":
        return image_transform_v2(PreprocessCfg(size=64), is_train=False)
    return (
        create_transform(64, is_training=False) if library == "timm" else lambda image: to_tensor(resize(image, [64]))
    )
