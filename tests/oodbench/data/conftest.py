"""Fixtures that tests of oodbench/data share."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from tests.oodbench.data.coco_folder import Folder
from tests.oodbench.data.nuscenes_street import Street

Fill = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "val2017").mkdir()
    for number in (1, 2, 3):
        Image.new("RGB", (40, 30), (number, 0, 0)).save(tmp_path / f"val2017/{number:012}.jpg")
    return Folder(tmp_path)


@pytest.fixture
def left_out(folder: Folder) -> Callable[[], list[tuple[str, int, str]]]:
    """What is left out when the folder is opened: why, how often, the first."""

    def found() -> list[tuple[str, int, str]]:
        annotation = folder.open().details
        return [(one.why, one.count, one.first) for one in annotation.excluded] if annotation else []

    return found


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    """Put empty files into a folder of the root."""

    def filled(folder: str, *names: str) -> Path:
        for name in names:
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return tmp_path

    return filled


@pytest.fixture
def street(tmp_path: Path) -> Street:
    return Street(tmp_path)
