"""Evaluations from Python in a folder of its own, with one store of answers."""

from collections.abc import Callable
from functools import partial

import pytest

import eyechart
from eyechart.models.runtime.torchvision_repair import repair

repair()  # before any test imports open_clip or transformers itself
Evaluate = Callable[..., eyechart.EvaluationRun]


@pytest.fixture(scope="session")
def evaluate(tmp_path_factory: pytest.TempPathFactory) -> Evaluate:
    folder = tmp_path_factory.mktemp("api")
    return partial(eyechart.evaluate, out=folder / "runs", store=folder / "store", progress=False, offline=True)
