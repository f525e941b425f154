"""What several unit tests look at: the packaged pictures with one label, and a hub cache that holds nothing."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from eyechart.data.images import decode
from eyechart.data.sample import open_sample


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
