"""Classifiers that sleep or compute, and a data set of one picture with many keys, to time what is around a model."""

import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.file_index import IndexEntry, build_dataset
from eyechart.inference.engines import local
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Classifier, Floats, Identity

CLASSES = 1000


class Sleeping(Classifier):
    """Sleeps `nap` seconds for each batch, and returns the same logits.

    Its process reads no images: many sleepers on two processors would only wait for these.
    """

    def __init__(self, spec: ModelSpec, *, nap: float, batch_size: int) -> None:
        self.spec, self.nap, self.batch_size = spec, nap, batch_size
        local.prefetch_images = read_nothing

    @property
    def identity(self) -> Identity:
        """The same in every process."""
        return Identity(
            backend="sleeping", name="sleeping", weights_sha256="", dtype="", device="", processor={}, libraries={}
        )

    def prepare(self, image: Image.Image) -> Any:
        """Return nothing: the picture does not matter."""

    def classify(self, images: Sequence[Any]) -> Floats:
        """Return zeros after a while."""
        time.sleep(self.nap)
        return np.zeros((len(images), CLASSES), np.float32)


class Computing(Sleeping):
    """Multiplies numbers in one thread instead of sleeping, `nap` million times for each batch."""

    def classify(self, images: Sequence[Any]) -> Floats:
        """Return zeros after the same work for each batch."""
        total = 0
        for number in range(int(1e6 * self.nap)):
            total += number * number
        return np.zeros((len(images), CLASSES), np.float32)


def read_nothing(
    _dataset: Dataset, indices: Sequence[int], size: int, _prepare: Callable[[Image.Image], Any]
) -> Iterator[list[tuple[int, None]]]:
    """Yield batches without images."""
    yield from ([(index, None) for index in batch] for batch in local.batches(indices, size))


def many_images(folder: Path, count: int) -> Dataset:
    """A data set of so many images, which are one file."""
    path = folder / "one.png"
    Image.new("RGB", (8, 8)).save(path)
    digest = sha256(path.read_bytes()).hexdigest()
    entries = [IndexEntry(f"{number:08d}", "one.png", digest, "one.png", label=0) for number in range(count)]
    return build_dataset(folder, "speed", f"of-{count}", entries, classes=CLASSES)
