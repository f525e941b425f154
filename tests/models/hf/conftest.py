"""Tiny models of families that read images and texts."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from runpy import run_path
from shutil import copytree

import pytest

MAKERS = run_path(str(Path(__file__).parents[2] / "tiny_pairs.py"))["PARTS"]
Save = Callable[[str], Path]


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Save:
    """Save a tiny model of a family with random weights, once for all tests."""
    import torch

    root = tmp_path_factory.mktemp("families")

    @cache
    def make(family: str) -> Path:
        torch.manual_seed(0)
        model, *readers = MAKERS[family]()
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.3)
        for part in (model, *readers):
            part.save_pretrained(root / family)
        return root / family

    return make


@pytest.fixture
def save(saved: Save, tmp_path: Path) -> Save:
    """Copy the tiny model of a family for a test, which may change it."""
    return lambda family: Path(copytree(saved(family), tmp_path / family, dirs_exist_ok=True))
