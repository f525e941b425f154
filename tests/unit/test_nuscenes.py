"""nuScenes: the toy's streets, and one small street whose boxes, tables and pictures are odd one at a time."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

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

Row = dict[str, Any]
Vector = tuple[float, float, float]
SCENES = ("scene-0103", "scene-0916", "scene-0061")
AHEAD = (20.0, 0.0, 1.0)


class Street:
    """A car at the origin of the world that drives along x, its camera at 1.5 m; one sample, a front and a back view.

    The tables are open to changes until the street is opened.
    """

    def __init__(self, folder: Path, version: str = "v1.0-trainval", scenes: Sequence[str] = SCENES[:1]) -> None:
        self.folder, self.version, self.boxes = folder, version, 0
        none = {"translation": (0.0, 0.0, 0.0), "rotation": (1.0, 0.0, 0.0, 0.0)}
        channels = ("CAM_FRONT", "CAM_BACK")
        self.tables: dict[str, list[Row]] = {
            "scene": [{"token": name, "name": name} for name in scenes],
            "sample": [{"token": f"sample of {name}", "scene_token": name} for name in scenes],
            "sensor": [{"token": name, "channel": name} for name in channels],
            "calibrated_sensor": [self.camera(name) for name in channels],
            "ego_pose": [{"token": "ego", **none}],
            "category": [],
            "instance": [],
            "visibility": [{"token": "1", "level": "v0-40"}, {"token": "4", "level": "v80-100"}],
            "sample_data": [self.frame(scene, name) for scene in scenes for name in channels],
            "sample_annotation": [],
        }

    def camera(self, name: str) -> Row:
        matrix = [[1000.0, 0.0, 800.0], [0.0, 1000.0, 450.0], [0.0, 0.0, 1.0]]
        index = {"translation": (0.0, 0.0, 1.5), "rotation": toy.CAMERAS[name].pose.rotation}
        return {"token": name, "sensor_token": name, "camera_intrinsic": matrix, **index}

    def frame(self, scene: str, channel: str, key_frame: bool = True) -> Row:
        name = f"{'samples' if key_frame else 'sweeps'}/{channel}/{scene}.jpg"
        links = {"sample_token": f"sample of {scene}", "ego_pose_token": "ego", "calibrated_sensor_token": channel}
        return {"token": name, **links, "is_key_frame": key_frame, "filename": name, "width": 1600, "height": 900}

    def put(self, category: str, centre: Vector = AHEAD, size: Vector = (2.0, 2.0, 2.0), seen: str = "4") -> Row:
        """Put a box into the first scene: width, length, height."""
        token, self.boxes = f"box {self.boxes}", self.boxes + 1
        if category not in {row["name"] for row in self.tables["category"]}:
            self.tables["category"].append({"token": category, "name": category})
        self.tables["instance"].append({"token": token, "category_token": category})
        links = {"sample_token": "sample of scene-0103", "instance_token": token, "visibility_token": seen}
        row = {"token": token, **links, "translation": centre, "size": size, "rotation": (1.0, 0.0, 0.0, 0.0)}
        self.tables["sample_annotation"].append(row)
        return row

    def write(self) -> None:
        for name, rows in self.tables.items():
            path = self.folder / self.version / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(rows, indent=0), encoding="utf-8")
        for row in self.tables["sample_data"]:
            path = self.folder / row["filename"]
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (16, 9)).save(path)

    def open(self, **options: Any) -> Dataset:
        self.write()
        return open_nuscenes(self.folder, "oodbench", "nuscenes", **options)

    def says(self, category: str = "vehicle.car") -> tuple[int, bool, bool]:
        """What the opened street says of a category: its count, and whether it is known and countable."""
        found = self.open().details
        assert found is not None
        index = found.category_ids.index(category)
        return int(found.counts[0, index]), bool(found.known[0, index]), bool(found.countable[0, index])

    def left_out(self) -> list[str]:
        found = self.open().details
        assert found is not None
        return [f"{one.count} {one.why}" for one in found.excluded]


@pytest.fixture
def street(tmp_path: Path) -> Street:
    return Street(tmp_path)


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


@pytest.mark.parametrize("version", ["v1.0-test", "v2"])
def test_other_versions_are_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(DataError, match=rf"the tables of {version}, expected those of v1.0-trainval or v1.0-mini"):
        Street(tmp_path, version).open()


def test_other_parts_are_refused(street: Street) -> None:
    with pytest.raises(DataError, match="the parts val and train, not 'test'"):
        street.open(part="test")


def test_a_version_without_scenes_of_the_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"scene.json has none of the scenes of val among its 1; those of val are"):
        Street(tmp_path, scenes=["scene-0061"]).open()


def test_missing_pictures_are_named_with_the_remedy(street: Street) -> None:
    street.write()
    (street.folder / "samples/CAM_FRONT/scene-0103.jpg").unlink()
    with pytest.raises(DataError, match=r"1 of the 1 pictures .*scene-0103.jpg: unpack the key frames of all parts"):
        open_nuscenes(street.folder, "oodbench", "nuscenes")


def test_a_missing_table_is_named(street: Street) -> None:
    street.write()
    (street.folder / street.version / "ego_pose.json").unlink()
    with pytest.raises(DataError, match=r"ego_pose.json cannot be read \(No such file"):
        open_nuscenes(street.folder, "oodbench", "nuscenes")


@pytest.mark.parametrize("text", ["", "{}", "[", "[1]", '[{"token": "a"}]', '[{"token": "\udcff"}]'])
@pytest.mark.parametrize("table", ["scene", "sample", "sample_data", "ego_pose", "sample_annotation", "category"])
def test_broken_tables_are_named(street: Street, table: str, text: str) -> None:
    street.write()
    path = street.folder / street.version / f"{table}.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=rf"{table}\.json is no "):
        open_nuscenes(street.folder, "oodbench", "nuscenes")


@pytest.mark.parametrize(
    ("table", "row", "message"),
    [
        ("sample_data", {"ego_pose_token": "lost"}, "ego_pose.json does not have 1 poses .* the first lost"),
        ("sample_data", {"filename": "../there.jpg"}, "names the picture '../there.jpg', which is no file below"),
        ("sample_data", {"width": 0}, "scene-0103.jpg has no width and height"),
        ("ego_pose", {"rotation": (0, 0, 0, 0)}, "or their rotations, the first ego"),
        ("ego_pose", {"rotation": (1, 0, 0)}, "ego_pose.json is no table of nuScenes .row 1: .*length 4"),
        ("calibrated_sensor", {"camera_intrinsic": []}, "expected three rows with positive focal lengths"),
        ("calibrated_sensor", {"rotation": (0, 0, 0, 0)}, "and a rotation other than 0"),
    ],
)
def test_rows_that_cannot_be_used_are_named(street: Street, table: str, row: Row, message: str) -> None:
    street.write()
    street.tables[table][0].update(row)
    path = street.folder / street.version / f"{table}.json"
    path.write_text(json.dumps(street.tables[table]), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        open_nuscenes(street.folder, "oodbench", "nuscenes")


def test_two_key_frames_of_one_sample_are_refused(street: Street) -> None:
    street.tables["sample_data"].append({**street.frame(SCENES[0], "CAM_FRONT"), "token": "again"})
    with pytest.raises(DataError, match="two key frames of CAM_FRONT for the sample with the id sample of scene-0103"):
        street.open()


def test_empty_tables_of_things_are_a_street_without_things(street: Street) -> None:
    found = street.open().details
    assert found.counts.shape == (1, 22)
    assert not found.present.any()
    assert found.known_absent.all()


def test_many_boxes_are_looked_at_in_blocks(street: Street, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(7):
        street.put("vehicle.car", (20.0, 3.0 * index - 30, 1.0))
    whole = street.says()
    monkeypatch.setattr(nuscenes_camera, "BLOCK", 2)
    assert street.says() == whole
    assert 0 < whole[0] < 7
