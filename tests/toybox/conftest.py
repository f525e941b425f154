"""A small toy world in all formats, and a copy of its packaged part."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.cli import main
from eyechart.samples.files import packaged


@pytest.fixture(scope="session")
def draw_small() -> Callable[..., Path]:
    """Draw a small toy world into a folder, with other options."""

    def draw_small(folder: Path, *options: str) -> Path:
        assert main(["toybox", folder, "--per-class", "1", "--scenes", "12", "--birds", "12", *options]) == 0
        return folder

    return draw_small


@pytest.fixture(scope="session")
def small_world(draw_small: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every part."""
    return draw_small(tmp_path_factory.mktemp("world"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the packaged art and pictures."""
    return Path(shutil.copytree(packaged("toybox"), tmp_path / "toybox"))
