"""Fixtures that tests of inference share."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from eyechart.data.dataset.dataset import Dataset
from tests.inference.library import COUNT, Library


@pytest.fixture
def library(tmp_path: Path, pictures: Callable[..., Dataset]) -> Library:
    return Library(tmp_path / "store", pictures([-1] * COUNT))


@pytest.fixture
def other(library: Library) -> Library:
    """Another store for the same questions."""
    return replace(library, root=library.root.with_name("other"))
