"""What tests of oodbench/division share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.types import Classifier, Floats, Identity
from eyechart.oodbench.division.case_division import DivisionResult, compute_division


@dataclass
class Judge(Classifier):
    """Sees a picture's number and looks its logits up."""

    name: str
    logits: Sequence[Sequence[float]]
    batch_size: int = 2
    loads: int = 0
    asked: int = 0

    @property
    def identity(self) -> Identity:
        return Identity(
            backend="judge", name=self.name, weights_sha256="", dtype="", device="", processor={}, libraries={}
        )

    def prepare(self, image: Image.Image) -> int:
        return int(np.asarray(image)[0, 0, 0])

    def classify(self, images: Sequence[int]) -> Floats:
        self.asked += len(images)
        return np.array([self.logits[image] for image in images], np.float32)


@dataclass(frozen=True)
class Bench:
    """Divides pictures by judges."""

    store: Store

    def __call__(
        self, dataset: Dataset, judges: dict[str, Any], limit: int | None = None, **chosen: str
    ) -> DivisionResult:
        def ask(spec: str) -> Any:
            return judges[spec]

        chosen = {"detectors": "+".join(judges), "threshold": "0.25"} | chosen
        return compute_division(Runner(self.store, limit, 42, lambda *_: None), dataset, ask, chosen)


def judges(*logits: Sequence[Sequence[float]]) -> dict[str, Judge]:
    return {f"judge[{index}]": Judge(f"judge[{index}]", each) for index, each in enumerate(logits)}


def sets(found: DivisionResult) -> dict[str, list[tuple[int, int]]]:
    """Each set's pairs."""
    one, kept = found.division, dict[str, list[tuple[int, int]]]()
    for index, name in enumerate(one.sets):
        kept.setdefault(name, []).append((int(one.rows[index]), int(one.categories[index])))
    return kept
