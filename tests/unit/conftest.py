"""What several unit tests look at: packaged pictures with one label, pictures in memory, a hub cache of nothing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from eyechart.data.dataset import Dataset
from eyechart.data.images import decode
from eyechart.data.rows import Row
from eyechart.data.sample import open_sample
from eyechart.models.openai_generator import OpenAi
from eyechart.spec import parse


@dataclass(frozen=True)
class Exact:
    """Pictures with their one label."""

    images: list[Image.Image]
    labels: NDArray[np.int64]

    def top(self, logits: NDArray[np.float32], k: int) -> float:
        """Share of pictures whose label is among the k first."""
        first = np.argsort(-logits, axis=1, kind="stable")[:, :k]
        return float((first == self.labels[:, None]).any(axis=1).mean())


@pytest.fixture(scope="session")
def exact() -> Exact:
    dataset = open_sample("sample")
    rows = [place for place, row in enumerate(dataset.index) if row.label >= 0]
    read = dataset.source.read(rows)
    return Exact([decode(data, str(row)) for row, data in read], np.array([dataset.index[row].label for row in rows]))


@pytest.fixture
def empty_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache of our own."""
    from huggingface_hub import constants

    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    return folder


@dataclass
class Memory:
    """Pictures of the colours of their numbers; some may be broken. Remembers what was read."""

    broken: frozenset[int]
    read_rows: list[int] = field(default_factory=list)

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        for row in rows:
            self.read_rows.append(row)
            yield row, b"broken" if row in self.broken else png(row)


def png(colour: int) -> bytes:
    file = BytesIO()
    Image.new("RGB", (2, 2), (colour, 0, 0)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def pictures() -> Callable[..., Dataset]:
    """Make a split of pictures in memory, given their labels."""

    def make(labels: Sequence[int], broken: frozenset[int] = frozenset(), classes: int = 3, **facts: Any) -> Dataset:
        rows = (Row(f"s{place:02d}", f"{place:02d}.png", str(place), label) for place, label in enumerate(labels))
        return Dataset("imagenet", facts.pop("split", "memory"), tuple(rows), Memory(broken), classes, **facts)

    return make


@pytest.fixture
def asking(faulty_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., OpenAi]]:
    """Make models that ask the faulty server, and hang up afterwards."""
    made = []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")

    def model(**options: object) -> OpenAi:
        usual = {"base_url": faulty_server.url, "served": "toy-2026-01-01", "backoff": 0.01, "retries": 3, "timeout": 5}
        told = ",".join(f"{name}={value}" for name, value in (usual | options).items() if value is not None)
        made.append(OpenAi(parse(f"openai[toy,{told}]"), offline=True))
        return made[-1]

    yield model
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Small batches gain nothing from more threads, and lose much where other tests run beside."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
