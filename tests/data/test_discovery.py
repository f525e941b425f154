"""Tests of `eyechart.data.discovery`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.discovery import find_split, survey_root
from eyechart.data.splits.open_split import open_split
from eyechart.errors import DataError
from tests.data.pictures import picture

Fill = Callable[..., Path]


def opened(folder: Path) -> Dataset:
    return open_split(find_split(folder))


@pytest.mark.parametrize(
    "name",
    [
        "__MACOSX", "@eaDir", "$RECYCLE.BIN", "System Volume Information", "lost+found", "#recycle", "@Recycle",
        ".ipynb_checkpoints", "__pycache__", ".Trash-1000", "FOUND.000",
    ],
)  # fmt: skip
def test_folders_of_systems_are_no_classes_splits_or_benchmarks(fill: Fill, name: str) -> None:
    folder = fill("blue/0.png", "red/0.png")
    for location in (folder, folder.parent, folder.parent.parent, folder / "red"):
        (location / name / "red").mkdir(parents=True)
        (location / name / "red" / "0.png").write_bytes(picture(9))
    found = opened(folder)
    assert (found.names, found.notes) == (("blue", "red"), ())
    assert [*map(str, survey_root(folder.parent.parent).splits)] == ["pets/test"]


def test_a_root_whose_name_is_not_utf8(fill: Fill, tmp_path: Path) -> None:
    folder = fill("red/0.png", where="caf\udce9/test")
    with pytest.raises(DataError, match=r"caf\\xe9/test is not UTF-8"):
        find_split(folder)
    with pytest.raises(DataError, match=r"caf\\xe9 is not UTF-8"):
        survey_root(folder.parent)
