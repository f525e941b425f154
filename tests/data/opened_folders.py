"""Open a folder of pictures as its user does, or read why it is refused."""

from pathlib import Path

import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.discovery import find_split
from eyechart.data.splits.open_split import open_split
from eyechart.errors import DataError


def opened(folder: Path) -> Dataset:
    return open_split(find_split(folder))


def refusal(folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        opened(folder)
    return str(caught.value)
