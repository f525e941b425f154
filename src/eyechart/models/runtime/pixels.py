"""Images as the numbers of a model: geometry image by image, floats and normalisation for whole batches on the device.

An image is sent to the device as bytes, a quarter of its floats. The floats equal the transform's to the last bit.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    import torch

TO_FLOATS = ("ToTensor", "MaybeToTensor")  # of torchvision, and of timm


class PixelTransform:
    """A transform in two parts, if its last steps are torchvision's `ToTensor` and `Normalize`, else in one."""

    def __init__(self, transform: Callable[[Image.Image], Any]) -> None:
        steps = [*getattr(transform, "transforms", ())]
        self.transform, self.steps = transform, steps[:-2]
        self.normalize: Any = None
        if len(steps) > 1 and type(steps[-2]).__name__ in TO_FLOATS and type(steps[-1]).__name__ == "Normalize":
            self.normalize = steps[-1]

    def prepare(self, image: Image.Image) -> Any:
        """Return an RGB image as bytes (h, w, 3), or as a float tensor (3, h, w)."""
        if self.normalize is None:
            return self.transform(image)
        for step in self.steps:
            image = step(image)
        return np.array(image)

    def stack(self, images: Sequence[Any], device: str) -> "torch.Tensor":
        """Return prepared images as one batch (n, 3, h, w) of floats on the device, channels last in memory."""
        import torch

        if self.normalize is None:
            batch = torch.stack(list(images))
            return batch.to(device, memory_format=torch.channels_last, non_blocking=True)
        pixels = torch.from_numpy(np.stack(images)).to(device, non_blocking=True)
        # By a tensor on the device: for a plain number, CUDA multiplies by the reciprocal, which rounds in another way.
        floats = pixels.permute(0, 3, 1, 2).float().div_(torch.tensor([255.0], device=device))
        mean, std = (self._channels(name, device) for name in ("mean", "std"))
        return floats.sub_(mean).div_(std)

    def _channels(self, name: str, device: str) -> "torch.Tensor":
        import torch

        values = torch.as_tensor(getattr(self.normalize, name), dtype=torch.float32, device=device)
        return values.view(-1, 1, 1)
