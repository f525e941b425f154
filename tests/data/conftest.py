"""Fixtures that tests of data share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data.pictures import picture

Fill = Callable[..., Path]


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    def filled(*names: str, classnames: str | bytes = "", where: str = "pets/test") -> Path:
        folder = tmp_path / where
        for shade, name in enumerate(names):
            path = folder / name
            if name.endswith("/"):
                path.mkdir(parents=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture(shade))
        if classnames:
            content = classnames.encode() if isinstance(classnames, str) else classnames
            (folder.parent / "classnames.txt").write_bytes(content)
        return folder

    return filled
