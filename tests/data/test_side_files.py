"""Files beside the images of a split: links to nothing, and names that are nearly those of files that are read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.errors import DataError
from tests.data.opened_folders import opened

Fill = Callable[..., Path]


@pytest.mark.parametrize("name", ["c", "a/1.png", "classnames.txt", "slices.csv"])
@pytest.mark.parametrize("target", ["nowhere", "itself"])
def test_links_to_nothing_are_named(fill: Fill, name: str, target: str) -> None:
    folder = fill("a/0.png", "b/0.png")
    (folder / name).symlink_to("nowhere" if target == "nowhere" else Path(name).name)
    with pytest.raises(DataError, match=rf"{name} is a link to .* that cannot be followed"):
        opened(folder)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Classnames.txt", "classnames.txt"),
        ("slices.tsv", "slices.csv or slices.parquet"),
        ("Slices.CSV", "slices.csv"),
    ],
)
def test_files_of_nearly_a_known_name_are_said_to_be_left_out(fill: Fill, name: str, wanted: str) -> None:
    folder = fill("a/0.png", "b/0.png")
    (folder / name).write_text("x")
    assert f"{name} is not read: expected {wanted}" in " ".join(opened(folder).notes)
