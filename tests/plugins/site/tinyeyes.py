"""Two models as a user's own package would bring them: true functions of the pictures, and small.

They write a line into `asked.log` whenever weights are read or pictures are shown. A test gives orders in a file,
`orders-MODEL.json`: {"batch": …, "do": …}, obeyed once, when the model is shown that batch. As on real hardware,
numbers depend a little on the size of the batch.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from eyechart.models.options import BatchSize, ModelOptions, Number, described
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Classifier, Encoder, Floats, Identity

WIDTH, NUMPY = 12, version("numpy")


class TinyOptions(ModelOptions):
    batch_size: BatchSize = 4
    weights: Annotated[Number, described("the seed of the weights")] = 0


class Base:
    """What both models share: one random matrix as weights, mean colours of quarters as pixels."""

    declared_options = TinyOptions

    def __init__(self, spec: ModelSpec, *, device: str, offline: bool) -> None:
        self.name, self.loads, self.batches = spec.backend, 0, 0
        options = TinyOptions.read(spec)
        self.seed, self.batch_size = options.weights, options.batch_size
        self.matrix: Floats | None = None
        log("made", self.name, device, offline)

    @property
    def identity(self) -> Identity:
        return Identity(
            backend=self.name,
            name=self.name,
            weights_sha256=sha256(str(self.seed).encode()).hexdigest(),
            dtype="float32",
            device="cpu",
            processor={"size": 2},
            libraries={"numpy": NUMPY},
        )

    @property
    def weights(self) -> Floats:
        if self.matrix is None:
            self.loads += 1
            log("load", self.name)
            self.matrix = np.random.default_rng(self.seed).normal(size=(WIDTH, 1000)).astype(np.float32)
        return self.matrix

    def prepare(self, image: Image.Image) -> NDArray[np.float32]:
        quarters = image.resize((2, 2), Image.Resampling.BOX)
        return np.asarray(quarters, np.float32).reshape(-1) / 255 - 0.5

    def see(self, images: Sequence[Any]) -> Floats:
        assert self.weights.shape == (WIDTH, 1000)
        log("ask", self.name, len({image.tobytes() for image in images}))  # a short batch repeats its last image
        self.batches += 1
        seen = np.stack(images) * np.float32(1 + len(images) / 1000)
        return obeyed(seen, self.name, self.batches)


class Tiny(Base, Encoder):
    """Reads and sees: a text's features are its hash."""

    templates = "1"

    def encode_images(self, images: Sequence[Any]) -> Floats:
        return self.see(images)

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        assert self.weights.shape == (WIDTH, 1000)
        log("texts", self.name, len(texts))
        bits = [np.frombuffer(sha256(text.encode()).digest()[:WIDTH], np.uint8) for text in texts]
        return np.stack(bits).astype(np.float32) - 127.5


class TinyClass(Base, Classifier):
    """Knows a thousand classes."""

    def classify(self, images: Sequence[Any]) -> Floats:
        return self.see(images) @ self.weights


def log(*words: object) -> None:
    with Path("asked.log").open("a", encoding="utf-8") as file:
        file.write(f"{' '.join(map(str, words))}\n")


def obeyed(seen: Floats, model: str, batch: int) -> Floats:
    """Carry out an order that is for this model and batch, and forget it."""
    file = Path(f"orders-{model}.json")
    order: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if order.get("batch") != batch:
        return seen
    file.unlink()
    return ORDERS[order["do"]](seen)


def die(seen: Floats) -> Floats:
    os.kill(os.getpid(), signal.SIGKILL)
    return seen


def die_with_parent(seen: Floats) -> Floats:
    os.kill(os.getppid(), signal.SIGKILL)
    return die(seen)


def hold(seen: Floats) -> Floats:
    Path("held").touch()
    while not Path("go").exists():
        time.sleep(0.02)
    return seen


def not_a_number(seen: Floats) -> Floats:
    return np.concatenate([np.full_like(seen[:1], np.nan), seen[1:]])


ORDERS: Mapping[str, Callable[[Floats], Floats]] = {
    "die": die,
    "die with parent": die_with_parent,
    "hold": hold,
    "nan": not_a_number,
}
