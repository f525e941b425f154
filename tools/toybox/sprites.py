"""The art of some styles as one tensor, for training; and seeded chance for whole batches."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from eyechart.toybox.art.shapes import atlas

SIDE = 64


@dataclass(frozen=True)
class Sprites:
    """Pictures (n, 4, 64, 64) in 0..1, colours times alpha, with their classes (n,)."""

    pixels: Tensor
    labels: Tensor


def sprites(styles: Sequence[str], classes: Sequence[int] | None = None) -> Sprites:
    """Read the art of some styles; the long side of every picture fills the square."""
    loaded = [
        (_square(picture), label)
        for style in styles
        for label, pictures in sorted(atlas(style).sprites.items())
        if classes is None or label in classes
        for picture in pictures
    ]
    pixels, labels = zip(*loaded, strict=True)
    whole = torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2).float() / 255
    whole[:, :3] *= whole[:, 3:]
    return Sprites(whole.contiguous(), torch.tensor(labels))


def _square(picture: Image.Image) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    scale = SIDE / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    canvas = Image.new("RGBA", (SIDE, SIDE))
    canvas.paste(picture.resize(size, Image.Resampling.LANCZOS), ((SIDE - size[0]) // 2, (SIDE - size[1]) // 2))
    return np.asarray(canvas)


class BatchRandom:
    """Random numbers for a batch of n pictures, from a seed."""

    def __init__(self, seed: int, count: int) -> None:
        self.generator, self.count = torch.Generator().manual_seed(seed), count

    def uniform(self, low: float, high: float, *shape: int) -> Tensor:
        """Numbers (n, *shape), by default (n, 1, 1, 1)."""
        return low + (high - low) * torch.rand(self.count, *(shape or (1, 1, 1)), generator=self.generator)

    def often(self, probability: float) -> Tensor:
        """Zeros and ones (n, 1, 1, 1), ones that often."""
        return (self.uniform(0, 1) < probability).float()

    def normal(self, *shape: int) -> Tensor:
        """Normal numbers (n, *shape)."""
        return torch.randn(self.count, *shape, generator=self.generator)

    def below(self, stop: int) -> Tensor:
        """Whole numbers (n,) from 0 to stop - 1."""
        return torch.randint(stop, (self.count,), generator=self.generator)

    def smooth(self, channels: int, coarse: int, side: int) -> Tensor:
        """Fields (n, channels, side, side) that vary slowly, of deviation about 1."""
        coarse_field = self.normal(channels, coarse, coarse)
        return torch.nn.functional.interpolate(coarse_field, size=side, mode="bilinear", align_corners=True)
