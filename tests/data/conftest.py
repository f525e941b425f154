"""Fixtures that tests of data share."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

Fill = Callable[..., Path]


def picture(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4), (shade, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()


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
