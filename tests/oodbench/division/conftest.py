"""Fixtures that tests of oodbench/division share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.oodbench.division.division_files import (
    write_division,
)
from tests.oodbench.division.divided_folder import COUNTS, Folder, divided

Make = Callable[..., Dataset]


@pytest.fixture
def folder(annotated: Make, tmp_path: Path) -> Folder:
    dataset = annotated(COUNTS)
    found = Folder(dataset, divided(dataset), tmp_path / "deep" / "memory.json")
    write_division(found.path, found.division, found.dataset)
    return found
