"""nuScenes: the toy's streets, and one small street whose boxes, tables and pictures are odd one at a time."""

import math
from collections import Counter
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError
from eyechart.oodbench.data import nuscenes_camera
from eyechart.oodbench.data.nuscenes import _official_scenes, open_nuscenes
from eyechart.toybox.art.scenes import RenderedScene
from eyechart.toybox.art.shapes import styles
from eyechart.toybox.art.toy_classes import classes
from eyechart.toybox.formats import nuscenes_files as toy
from eyechart.toybox.formats.shards import encode_image
from tests.oodbench.data.nuscenes_street import AHEAD, SCENES, Row, Street


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[RenderedScene]]:
    folder = tmp_path_factory.mktemp("nuscenes")
    return folder, toy.write(folder, 7, styles(), 18)


@pytest.fixture(params=["val", "train"])
def part(
    world: tuple[Path, list[RenderedScene]], request: pytest.FixtureRequest
) -> tuple[Dataset, list[RenderedScene]]:
    """The toy's drive in its two parts, twelve pictures and six."""
    rows = slice(0, 12) if request.param == "val" else slice(12, 18)
    return open_nuscenes(world[0], "oodbench", "nuscenes", part=request.param), world[1][rows]


def test_the_toy_s_counts_are_the_things_that_were_drawn(part: tuple[Dataset, list[RenderedScene]]) -> None:
    found, pictures = part[0].details, part[1]
    drawn = [Counter(classes()[one.label].concept.nuscenes for one in picture.scene.things) for picture in pictures]
    read = [Counter(dict(zip(found.category_ids, row, strict=True))) for row in found.counts.tolist()]
    assert [+row for row in read] == drawn
    assert found.known.all()
    assert found.countable.all()


def test_a_data_set_of_many_things_has_no_label_sets(part: tuple[Dataset, list[RenderedScene]]) -> None:
    found = part[0]
    assert (found.classes, len(found.names), found.upright, found.expected) == (22, 22, False, None)
    assert not found.label_sets
    assert {row.label for row in found.index} == {-1}
    assert all(key.startswith("samples/CAM_FRONT/") and not key.endswith(".jpg") for key in found.keys)


def test_pictures_are_read_in_the_order_of_the_index(part: tuple[Dataset, list[RenderedScene]]) -> None:
    read = [Image.open(BytesIO(data)).tobytes() for _, data in part[0].read(range(len(part[0])))]
    drawn = [Image.open(BytesIO(encode_image(picture.image, "JPEG"))).tobytes() for picture in part[1]]
    assert read == drawn


def test_the_order_of_the_tables_changes_nothing(street: Street) -> None:
    for index, category in enumerate(("vehicle.car", "animal", "vehicle.car")):
        street.put(category, (20.0, 5.0 * index - 5, 1.0))
    first = street.open()
    street.tables = {name: rows[::-1] for name, rows in street.tables.items()}
    again = street.open()
    assert (again.details.sha256, again.fingerprint) == (first.details.sha256, first.fingerprint)


def test_the_index_is_kept_in_the_cache(street: Street, tmp_path: Path) -> None:
    first = street.open(cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").glob("*.json"))) == 1
    assert street.open(cache=tmp_path / "cache").fingerprint == first.fingerprint


IN_VIEW = {
    "ahead": (AHEAD, (2.0, 2.0, 2.0)),
    "cut off by a side": ((20.0, 16.5, 1.0), (2.0, 2.0, 2.0)),
    "wider and higher than the picture": ((10.0, 0.0, 1.5), (30.0, 1.0, 30.0)),
    "reaching behind the camera": ((0.0, 3.0, 1.5), (2.0, 16.0, 3.0)),
    "around the camera": ((0.0, 0.0, 1.5), (4.0, 4.0, 4.0)),
}
OUT_OF_VIEW = {
    "behind": ((-20.0, 0.0, 1.0), (2.0, 2.0, 2.0)),
    "beside the picture": ((20.0, 25.0, 1.0), (2.0, 2.0, 2.0)),
    "beside the camera": ((0.0, 3.0, 1.5), (2.0, 2.0, 2.0)),
    "above": ((20.0, 0.0, 15.0), (2.0, 2.0, 2.0)),
}


@pytest.mark.parametrize("where", IN_VIEW)
def test_boxes_in_view_are_present(street: Street, where: str) -> None:
    street.put("vehicle.car", *IN_VIEW[where])
    assert street.says() == (1, True, True)


@pytest.mark.parametrize("where", OUT_OF_VIEW)
def test_boxes_out_of_view_are_absent(street: Street, where: str) -> None:
    street.put("vehicle.car", *OUT_OF_VIEW[where])
    assert street.says() == (0, True, True)


@pytest.mark.parametrize(("slant", "count"), [(math.pi / 8, 1), (-math.pi / 8, 0)])
def test_a_slanted_pole_may_pass_a_corner_of_the_picture(street: Street, slant: float, count: int) -> None:
    pole = street.put("vehicle.car", (20.0, 20.0, 14.0), (40.0, 0.2, 0.2))
    pole["rotation"] = (math.cos(slant), math.sin(slant), 0.0, 0.0)
    assert street.says() == (count, True, True)


def test_instances_are_counted(street: Street) -> None:
    for side in (-5.0, 0.0, 5.0):
        street.put("vehicle.car", (20.0, side, 1.0))
    assert street.says() == (3, True, True)
    assert street.says("animal") == (0, True, True)


@pytest.mark.parametrize("seen", ["1", ""])
def test_what_is_hardly_visible_is_neither_present_nor_absent(street: Street, seen: str) -> None:
    street.put("vehicle.car", seen=seen)
    assert street.says() == (0, False, False)
    street.put("vehicle.car", (20.0, 5.0, 1.0))
    assert street.says() == (1, True, False)


@pytest.mark.parametrize(("size", "says"), [(0.02, (0, False, False)), (0.1, (1, True, True))])
def test_less_than_three_pixels_are_neither_present_nor_absent(
    street: Street, size: float, says: tuple[int, bool, bool]
) -> None:
    street.put("vehicle.car", (20.0, 0.0, 1.5), (size, size, size))  # a pixel is 2 cm there
    assert street.says() == says


def test_a_bicycle_rack_leaves_bicycles_open(street: Street) -> None:
    street.put("static_object.bicycle_rack")
    assert street.says("static_object.bicycle_rack") == (1, True, True)
    assert street.says("vehicle.bicycle") == (0, False, False)
    street.put("vehicle.bicycle", (20.0, 5.0, 1.0))
    assert street.says("vehicle.bicycle") == (1, True, False)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"sample_token": "elsewhere"}, "its sample is in no table"),
        ({"instance_token": "nobody"}, "its instance or that one's category is in no table"),
        ({"instance_token": "box 0"}, "its instance is annotated in that sample already"),
        ({"size": (0.0, 2.0, 2.0)}, "its box has no size or no direction; its category is unknown there"),
        ({"rotation": (0.0, 0.0, 0.0, 0.0)}, "its box has no size or no direction; its category is unknown there"),
    ],
)
def test_annotations_that_cannot_count_are_left_out_and_listed(street: Street, change: Row, why: str) -> None:
    street.put("vehicle.car")
    street.put("vehicle.car").update(change)
    assert street.left_out() == [f"1 {why}"]
    assert street.says()[0] == 1


def test_a_broken_box_alone_leaves_its_category_unknown(street: Street) -> None:
    street.put("vehicle.car", size=(2.0, 0.0, 2.0))
    assert street.says() == (0, False, False)


def test_categories_without_a_name_are_left_out_and_listed(street: Street) -> None:
    for category in ("movable_object.debris", "movable_object.debris", "vehicle.rocket ü"):
        street.put(category)
    debris = "movable_object.debris is no class here (what it refers to is unclear)"
    assert street.left_out() == [f"2 {debris}", "1 no published name for vehicle.rocket ü"]
    assert street.open().details.counts.sum() == 0


def test_sweeps_and_other_cameras_are_not_looked_at(street: Street) -> None:
    street.tables["sample_data"].append(street.frame(SCENES[0], "CAM_FRONT", key_frame=False))
    assert street.open().keys == ("samples/CAM_FRONT/scene-0103",)


def test_mini_has_its_own_val(tmp_path: Path) -> None:
    street = Street(tmp_path, "v1.0-mini", ("scene-0103", "scene-0553"))
    assert street.open().keys == ("samples/CAM_FRONT/scene-0103",)
    assert street.open(part="train").keys == ("samples/CAM_FRONT/scene-0553",)


def test_a_whole_val_must_have_its_key_frames(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has 150 key frames .* expected 6,019: unpack its tables again"):
        Street(tmp_path, scenes=sorted(_official_scenes("val"))).open()


def test_missing_pictures_are_named_with_the_remedy(street: Street) -> None:
    street.write()
    (street.folder / "samples/CAM_FRONT/scene-0103.jpg").unlink()
    with pytest.raises(DataError, match=r"1 of the 1 pictures .*scene-0103.jpg: unpack the key frames of all parts"):
        open_nuscenes(street.folder, "oodbench", "nuscenes")


def test_many_boxes_are_looked_at_in_blocks(street: Street, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(7):
        street.put("vehicle.car", (20.0, 3.0 * index - 30, 1.0))
    whole = street.says()
    monkeypatch.setattr(nuscenes_camera, "BLOCK", 2)
    assert street.says() == whole
    assert 0 < whole[0] < 7
