"""Evaluations from Python in a folder of its own, with one store of answers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

import eyechart
from eyechart.models.runtime.torchvision_repair import repair

repair()  # before any test imports open_clip or transformers itself
Evaluate = Callable[..., eyechart.EvaluationRun]


@pytest.fixture(scope="session")
def evaluate(tmp_path_factory: pytest.TempPathFactory) -> Evaluate:
    folder = tmp_path_factory.mktemp("api")
    return partial(eyechart.evaluate, out=folder / "runs", store=folder / "store", progress=False, offline=True)


@pytest.fixture(scope="session")
def pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a user: three images of each of two colours, in a folder for each class."""
    folder = tmp_path_factory.mktemp("root") / "pets" / "test"
    for name, colour in (("blue", (0, 0, 255)), ("red", (255, 0, 0))):
        (folder / name).mkdir(parents=True)
        for number in range(3):
            Image.new("RGB", (40 + number, 40), colour).save(folder / name / f"{number}.png")
    return folder
