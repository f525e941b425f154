"""Pictures of many things, detectors of every kind that fail on some, and models that are asked about what is left."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.types import Classifier, Encoder, Identity, Matcher
from eyechart.oodbench.answers.yes_no_answers import request_prompts
from eyechart.oodbench.data.annotation import Annotation
from eyechart.protocol.context import Context
from eyechart.protocol.registry import get_protocol

SCENES = (  # how many of each category are in each picture; the fifth picture has none, the last one all
    (2, 1, 0, 0, 0),
    (1, 3, 1, 0, 0),
    (0, 2, 0, 4, 1),
    (1, 1, 1, 1, 0),
    (0, 0, 0, 0, 0),
    (5, 0, 0, 0, 6),
    (1, 1, 1, 1, 1),
)
CATEGORIES = ("cat", "dog", "great {white} shark", "cup, plate", "é")
FAILED = {"first[]": {(0, 1), (1, 2), (3, 0)}, "second[]": {(0, 1), (3, 0), (2, 3)}}  # pairs with a low logit


@dataclass
class Detecting:
    """Knows logits of numbered pictures; its kind says through which interface it tells them."""

    kind: str
    logits: NDArray[np.float32]
    names: Sequence[str]
    seen: list[int] = field(default_factory=list)
    templates: str = "1"
    logit_scale: float = 50.0
    batch_size: int = 4
    loads: int = 0

    @property
    def identity(self) -> Identity:
        """Other logits are another model's."""
        digest = sha256(self.kind.encode() + self.logits.tobytes()).hexdigest()
        return Identity(
            backend="test", name=self.kind, weights_sha256=digest, dtype="", device="", processor={}, libraries={}
        )

    def prepare(self, image: Image.Image) -> int:
        return int(np.asarray(image)[0, 0, 0])

    def of(self, images: Sequence[int]) -> NDArray[np.float32]:
        self.seen.extend(images)
        return self.logits[list(images)]


class Classifying(Detecting, Classifier):
    """A classifier of the categories."""

    def classify(self, images: Sequence[int]) -> NDArray[np.float32]:
        return self.of(images)


class Encoding(Detecting, Encoder):
    """An encoder: a picture's cosine with a category's prompt is its logit over the scale."""

    def encode_images(self, images: Sequence[int]) -> NDArray[np.float32]:
        cosines = self.of(images) / self.logit_scale
        rest = np.sqrt(1 - (cosines**2).sum(axis=1, keepdims=True))
        return np.concatenate([cosines, rest], axis=1).astype(np.float32) * 3

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[f" {name}" in text for name in self.names] + [False] for text in texts], np.float32) * 2


class Matching(Detecting, Matcher):
    """A matcher of pictures and prompts."""

    def match(self, images: Sequence[int], texts: Sequence[str]) -> NDArray[np.float32]:
        return self.of(images)[:, [[f" {name}" in text for name in self.names].index(True) for text in texts]]


@dataclass
class PairWorld:
    """Pictures of many things, detectors that fail on some, and models that are asked about what is left."""

    store: Path
    pictures: Callable[..., Dataset]
    talks: Callable[..., Any]
    counts: Any = SCENES
    names: tuple[str, ...] = CATEGORIES
    failed: Mapping[str, set[tuple[int, int]]] = field(default_factory=lambda: FAILED)
    kinds: tuple[type[Detecting], ...] = (Encoding, Matching)
    annotation: Mapping[str, Any] = field(default_factory=dict)

    def dataset(self, **more: Any) -> Dataset:
        counts = np.array(self.counts, np.int32)
        known = {"known": np.ones(counts.shape, bool), "countable": np.ones(counts.shape, bool)}
        ids = [tuple(map(str, range(size))) for size in counts.shape]
        notation = Annotation(counts, **known | self.annotation, image_ids=ids[0], category_ids=ids[1], source="coco")
        facts = {"classes": len(self.names), "names": self.names, "details": notation, "upright": False}
        return self.pictures([-1] * len(counts), **facts | more)

    def logits(self, spec: str) -> NDArray[np.float32]:
        """High for what is there, low for what the detector fails on, in between for what is absent."""
        there = np.array(self.counts) > 0
        failed = [[(row, k) in self.failed[spec] for k in range(there.shape[1])] for row in range(len(there))]
        return np.where(failed, -6, np.where(there, 6, 0)).astype(np.float32)

    def get_model(self, spec: str) -> Detecting:
        made = self.kinds[[*self.failed].index(spec) % len(self.kinds)]
        return made(made.__name__, self.logits(spec), self.names)

    def sit(self, model: Any, protocol: str = "existence", **more: Any) -> Context:
        dataset = more.pop("dataset", None) or self.dataset()
        names = more.pop("asked", dataset.names)
        runner = Runner(Store(self.store), more.pop("limit", None), more.pop("seed", 0), lambda *_: None)
        usual = {} if protocol == "detection" else {"detectors": "+".join(self.failed)}
        told = {name: str(value) for name, value in more.items()}
        chosen = {**get_protocol(protocol).defaults(), **usual, **told}
        return Context(runner, model, dataset, names, "split", chosen, get_model=self.get_model, protocol=protocol)

    def tell(self, kind: str, row: int, one: int, other: int) -> str:
        """The truth."""
        counts = np.array(self.counts)[row]
        if kind == "progression_counting":
            return str(counts[one])
        if kind == "progression_logic":
            return "Yes" if counts[one] > counts[other] else "No"
        return "Yes" if (counts[one] > 0) != kind.endswith("not") else "No"

    def queries(self, names: Sequence[str] = ()) -> dict[str, tuple[str, int, int]]:
        """What each text asks."""
        slots = [*product(enumerate(names or self.names), repeat=2)]
        told = {}
        for kind, (asked, _) in request_prompts().items():
            for (one, first), (other, second) in slots:
                given = {"category": first, "other": second}
                told[asked.fill(**{slot: given[slot] for slot in asked.slots})] = (kind, one, other)
        return told

    def talker(self, say: Callable[..., Any] | None = None, names: Sequence[str] = ()) -> Any:
        """Says the truth, or what `say` gives for the kind of question, the picture and the categories, if anything."""
        known = self.queries(names)

        def told(numbers: tuple[int, ...], text: str) -> Any:
            kind, one, other = known[text]
            said = say(kind, numbers[0], one, other) if say else None
            return self.tell(kind, numbers[0], one, other) if said is None else said

        return self.talks(told)


@pytest.fixture
def pair_world(tmp_path: Path, pictures: Callable[..., Dataset], talker: Any) -> PairWorld:
    """A small world of pairs; one store for the whole test."""
    return PairWorld(tmp_path / "store", pictures, talker)


@pytest.fixture
def detectors() -> Mapping[str, type[Detecting]]:
    """A detector of each kind."""
    return {"encoder": Encoding, "matcher": Matching, "classifier": Classifying}
