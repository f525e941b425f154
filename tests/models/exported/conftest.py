"""The file of preprocessing that models of exported files are given here."""

import json
from pathlib import Path

import pytest

from tests.models.exported.plain_images import HALF


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    path = tmp_path / "steps.json"
    path.write_text(json.dumps(HALF), encoding="utf-8")
    return path
