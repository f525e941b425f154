"""Tests of `eyechart.realbirdid.data.inaturalist_images`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.errors import DataError
from eyechart.realbirdid.data.inaturalist import (
    NO_IMAGE,
    import_birds,
)
from eyechart.realbirdid.data.inaturalist import ImportResult as Result
from tests.realbirdid.data.inaturalist_tables import row, seen, table

Make = Callable[..., Result]


@pytest.mark.parametrize(
    "name", ["1.jpg", "101.jpg", "sub/1.PNG", "101/original.jpg", "obs_1.jpg", "photo-101.jpg", "001_a.jpg"]
)
def test_a_picture_is_named_by_its_observation_or_photo(make: Make, name: str) -> None:
    assert len(make(row(1), pictures=(name,)).dataset) == 1


def test_an_observation_may_have_several_pictures(make: Make, tmp_path: Path) -> None:
    found = make(row(1), row(2), pictures=("1_1.jpg", "1_2.png", "2.jpg"))
    assert seen(found).ids == ("1", "1", "2")
    assert [line["image"] for line in table(tmp_path)] == ["images/1_1.jpg", "images/1_2.png", "images/2_1.jpg"]
    assert [line["photo_id"] for line in table(tmp_path)] == ["", "", "102"]


def test_the_scheme_that_names_most_pictures_goes_first(make: Make, tmp_path: Path) -> None:
    """Photo 2 belongs to observation 1, and observation 2 has the photo 3: the picture 2.jpg might be of either."""
    one, other = row(1, image_url="photos/2/large.jpg"), row(2, image_url="photos/3/large.jpg")
    make(one, other, pictures=("2.jpg", "3.jpg"))
    named = {line["observation_id"]: line["photo_id"] for line in table(tmp_path)}
    assert named == {"1": "2", "2": "3"}
    assert (tmp_path / "out/birds/images/1_1.jpg").read_bytes() == (tmp_path / "in/2.jpg").read_bytes()


def test_an_observation_without_a_picture_is_left_out(make: Make) -> None:
    assert make(row(1), row(2), pictures=("1.jpg", "notes7.jpg")).excluded == {NO_IMAGE: 1}


def test_pictures_that_are_not_there(make: Make, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no picture that is named by a number"):
        make(row(1), pictures=("crow.jpg",))
    with pytest.raises(DataError, match="is no folder"):
        import_birds(tmp_path / "export.csv", tmp_path / "none", tmp_path / "new")


def test_pictures_that_systems_leave_behind_are_none(make: Make, tmp_path: Path) -> None:
    for name in ("1/._medium.jpg", "__MACOSX/1.jpg", "@eaDir/1/medium.jpg"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(b"x")
    assert len(make(row(1), pictures=("1/medium.jpg",)).dataset) == 1
