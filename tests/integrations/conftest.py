"""Settings of evaluations in a training loop, and what the loop trains with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eyechart.models.runtime.torchvision_repair import repair

repair()  # before any test imports transformers itself


@pytest.fixture
def settings(tmp_path: Path) -> Mapping[str, Any]:
    return {"out": tmp_path / "runs", "store": tmp_path / "store", "protocol": "supervised", "offline": True}


@pytest.fixture
def images(pets: Path) -> list[tuple[Image.Image, int]]:
    """The images of `pets` in a small size, each with its class."""
    paths = sorted(pets.glob("*/*.png"))
    return [(Image.open(path).convert("RGB").resize((8, 8)), int(path.parent.name == "red")) for path in paths]
