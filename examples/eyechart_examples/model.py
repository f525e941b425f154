"""A model of your own: any torch.nn.Module, here one that compares the mean colour with red, green and blue."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import torch
from PIL import Image

from eyechart.models.types import Classifier, Floats, Identity
from eyechart.spec import ModelSpec


class Colours(torch.nn.Module, Classifier):
    """Logits of three colours."""

    batch_size, loads = 32, 1

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", **_: object) -> None:
        super().__init__()
        self.spec, self.device = spec, device
        self.layer = torch.nn.Linear(3, 3, bias=False, device=device)
        torch.nn.init.eye_(self.layer.weight)

    @property
    def identity(self) -> Identity:
        """Everything that can change an answer."""
        digest = sha256(self.layer.weight.detach().cpu().numpy().tobytes()).hexdigest()
        return Identity(
            backend=self.spec.backend,
            name="colours",
            weights_sha256=digest,
            dtype="float32",
            device=self.device,
            processor={"size": 1},
            libraries={"torch": str(torch.__version__)},
        )

    def prepare(self, image: Image.Image) -> torch.Tensor:
        """Return the mean colour of an image."""
        return torch.tensor(np.asarray(image, np.float32).mean(axis=(0, 1)) / 255)

    def classify(self, images: Sequence[torch.Tensor]) -> Floats:
        """Return logits (n, 3)."""
        with torch.inference_mode():
            return np.asarray(self.layer(torch.stack([*images])).cpu().numpy())
