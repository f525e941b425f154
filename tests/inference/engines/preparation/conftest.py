"""Fixtures that tests of inference/engines/preparation share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.readers.in_memory import build_pairs
from eyechart.inference.engines.preparation.feed import PreparationProcesses
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec

COUNT, SIZE = 50, 7
MODEL = """
import os
import numpy as np
import torch
from eyechart.models.types import Classifier, Identity

class Shade(Classifier):
    batch_size = 7
    def __init__(self, spec, *, device, starts=True):
        if not starts and device == "cpu":
            os._exit(3)
        self.device = device
    @property
    def identity(self):
        return Identity(
            backend="shade", name="shade", weights_sha256="", dtype="", device=self.device, processor={}, libraries={}
        )
    def prepare(self, image):
        shade = image.getpixel((0, 0))[0]
        if shade == 13 and "OMP_NUM_THREADS" in os.environ:
            os._exit(5)  # a decoder that crashes
        return {"shade": np.full(1 + shade % 3, shade, np.float32), "process": os.getpid(), "half": torch.ones(2) / 2}
    def classify(self, items):
        return np.array([[item["shade"][0], item["half"].sum()] for item in items], np.float32)
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The specification of a model in a module of the working folder."""
    folder = tmp_path_factory.mktemp("model")
    name = f"shades_{os.urandom(4).hex()}"
    (folder / f"{name}.py").write_text(MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        patch.delenv("OMP_NUM_THREADS", raising=False)
        yield f"{name}:Shade"


@pytest.fixture
def shades(tmp_path: Path) -> Dataset:
    """Images of so many shades; the last one is broken."""
    (tmp_path / "images").mkdir()
    paths = [tmp_path / "images" / f"{shade:02d}.png" for shade in range(COUNT)]
    for shade, path in enumerate(paths):
        Image.new("RGB", (3, 2), (shade, 0, 0)).save(path)
    paths[-1].write_bytes(paths[-1].read_bytes()[:40])
    return build_pairs([(path, "grey") for path in paths], "shades", "all", ("grey",))


@pytest.fixture(scope="module")
def started(module: str) -> Iterator[PreparationProcesses]:
    """Processes that the tests share; one that a test ends is started again."""
    processes = start(module)
    yield processes
    processes.close()


def start(spec: str) -> PreparationProcesses:
    parsed = parse_spec(spec)
    return PreparationProcesses(create_model(parsed, device="cuda", offline=True), parsed, 2)
