"""Fixtures that tests of data/labels share."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of labels, a text or a value as JSON."""

    def write(content: object, encoding: str = "utf-8") -> Path:
        path = tmp_path / "labels"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding=encoding, newline="")
        return path

    return write
