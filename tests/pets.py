"""A folder of a user, for tests of everything that evaluates one."""

from pathlib import Path

import pytest
from PIL import Image


@pytest.fixture(scope="session")
def pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a user: three images of each of two colours, in a folder for each class."""
    folder = tmp_path_factory.mktemp("root") / "pets" / "test"
    for name, colour in (("blue", (0, 0, 255)), ("red", (255, 0, 0))):
        (folder / name).mkdir(parents=True)
        for number in range(3):
            Image.new("RGB", (40 + number, 40), colour).save(folder / name / f"{number}.png")
    return folder
