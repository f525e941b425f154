"""A few birds in memory, and models that say something about each of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.types import Request, Scorer
from eyechart.protocol.context import Context
from eyechart.protocol.registry import get_protocol
from eyechart.realbirdid.data.observations import Observations
from eyechart.realbirdid.data.taxonomy import Taxonomy

SPECIES = (
    *("Corvus corax", "Corvus corone", "Anhinga anhinga", "Anhinga rufa"),
    *("Turdus merula", "Turdus iliacus", "Catharus ustulatus"),
)
COMMON = ("Common Raven", "Carrion Crow", "Anhinga", "", "Red-winged Thrush", "Thrush", "Thrush")
GENERA = ("Corvus", "Anhinga", "Turdus", "Catharus")
PARENTS = (0, 0, 1, 1, 2, 2, 3)
BIRDS = ((0, 0, -1), (1, 0, -1), (4, 2, -1), (-1, 0, 0), (-1, 2, 1), (-1, 0, 2), (-1, 3, 0), (-1, 2, -1))


def tree(species: Sequence[str] = SPECIES, common: Sequence[str] = COMMON) -> Taxonomy:
    return Taxonomy(("species", "genus"), (tuple(species), GENERA), tuple(common), (np.array(PARENTS, np.int64),))


def seen(birds: Sequence[tuple[int, int, int]]) -> Observations:
    species, genus, reason = np.array(birds, np.int64).reshape(-1, 3).T
    nowhere, none = np.full(len(birds), np.nan), np.zeros(len(birds) + 1, np.int64)
    ids = tuple(f"o{index}" for index in range(len(birds)))
    return Observations(tree(), ids, species, genus, reason, nowhere, nowhere, none, np.zeros(0, np.int64))


@dataclass
class Aviary:
    """Seats models before birds, of which each is (species, genus, reason), -1 for what is not known."""

    store: Path
    pictures: Callable[..., Dataset]
    birds: Sequence[tuple[int, int, int]] = BIRDS
    facts: dict[str, Any] = field(default_factory=dict)

    def __call__(self, model: Any, protocol: str = "free_form", **more: Any) -> Context:
        limit, seed = more.pop("limit", None), more.pop("seed", 0)
        labels = [species for species, _, _ in self.birds]
        facts = {"classes": len(SPECIES), "names": SPECIES, "details": seen(self.birds)} | self.facts
        dataset = self.pictures(labels, **facts).subsample(limit, seed)
        runner = Runner(Store(self.store), limit, seed, lambda *_: None)
        chosen = {**get_protocol(protocol).defaults(), **{name: str(value) for name, value in more.items()}}
        return Context(runner, model, dataset, SPECIES, "split", chosen, protocol=protocol)

    def files(self) -> dict[str, bytes]:
        """Everything that is kept."""
        paths = (path for path in self.store.rglob("*") if path.is_file() and path.name != "lock")
        return {str(path.relative_to(self.store)): path.read_bytes() for path in paths}


@pytest.fixture
def taxonomy() -> Taxonomy:
    return tree()


@pytest.fixture
def asked_birds(tmp_path: Path, pictures: Callable[..., Dataset]) -> Aviary:
    return Aviary(tmp_path / "store", pictures)


@pytest.fixture
def other_birds(tmp_path: Path, pictures: Callable[..., Dataset]) -> Aviary:
    """With a store of its own."""
    return Aviary(tmp_path / "other store", pictures)


@pytest.fixture
def chooser(talker: type[Any]) -> Callable[..., Any]:
    """Make models that talk and choose: the place of the first choice that is in the text, else the last choice.

    Texts that were chosen for are in `chosen`, chunk by chunk; after `chunks` of them the model breaks off.
    """

    class Choosing(talker, Scorer):
        chosen: list[list[str]]
        chunks = -1

        def score(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("nobody asks for scores")

        def best(
            self, requests: Sequence[Request], choices: Sequence[str]
        ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
            if self.chunks == len(self.chosen):
                raise ConnectionResetError("stopped")
            texts = [str(request.parts[0]) for request in requests]
            self.chosen.append(texts)
            said = [text.partition("\n\n")[0] for text in texts]
            first = [
                next((index for index, name in enumerate(choices) if name in text), len(choices) - 1) for text in said
            ]
            return np.array(first, np.int64), np.zeros(len(first), np.float32)

    def make(say: Callable[[tuple[int, ...], str], Any] = lambda *_: "", chunks: int = -1, **more: Any) -> Any:
        made = Choosing(say, **more)
        made.chosen, made.chunks = [], chunks
        return made

    return make
