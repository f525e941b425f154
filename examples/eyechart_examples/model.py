"""A model of your own: any torch.nn.Module, here one that compares the mean colour with red, green and blue."""

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image

from eyechart.models.spec import ModelSpec
from eyechart.models.types import Classifier, Floats


class Colours(torch.nn.Module, Classifier):
    """Logits of three colours.

    `eyechart_examples.model:Colours[scale=2]` gives `scale` to the constructor. Stored answers are used
    again while this file, its options and the files that they name are the same.
    """

    batch_size = 32

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", scale: float = 1.0) -> None:
        super().__init__()
        self.spec = spec
        self.layer = torch.nn.Linear(3, 3, bias=False, device=device)
        self.layer.weight = torch.nn.Parameter(scale * torch.eye(3, device=device))

    def prepare(self, image: Image.Image) -> torch.Tensor:
        """Return the mean colour of an image."""
        return torch.tensor(np.asarray(image, np.float32).mean(axis=(0, 1)) / 255)

    def classify(self, images: Sequence[torch.Tensor]) -> Floats:
        """Return logits (n, 3)."""
        with torch.inference_mode():
            return np.asarray(self.layer(torch.stack([*images]).to(self.layer.weight)).cpu().numpy())
