"""nuScenes tables: whole links and chains, and boxes that a reader's own mathematics projects onto the drawn things."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.toybox.art.scenes import RenderedScene, box
from eyechart.toybox.art.shapes import styles
from eyechart.toybox.art.toy_classes import classes
from eyechart.toybox.formats import nuscenes_files

COUNT, SEED = 18, 7
Row = dict[str, Any]
LINKS = {
    "calibrated_sensor": {"sensor_token": "sensor"},
    "instance": {"category_token": "category", "first_annotation_token": "sample_annotation"},
    "sample": {"scene_token": "scene", "prev": "sample", "next": "sample"},
    "sample_annotation": {
        "sample_token": "sample",
        "instance_token": "instance",
        "visibility_token": "visibility",
        "prev": "sample_annotation",
        "next": "sample_annotation",
    },
    "sample_data": {
        "sample_token": "sample",
        "ego_pose_token": "ego_pose",
        "calibrated_sensor_token": "calibrated_sensor",
        "prev": "sample_data",
        "next": "sample_data",
    },
    "scene": {"log_token": "log", "first_sample_token": "sample", "last_sample_token": "sample"},
}


class Drive:
    """The folder as a reader meets it, tables by token, and what was rendered for the front camera."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: list[RenderedScene] = nuscenes_files.write(folder, SEED, styles(), COUNT)
        paths = (folder / "v1.0-trainval").glob("*.json")
        self.tables: dict[str, list[Row]] = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
        self.by_token = {name: {row["token"]: row for row in rows} for name, rows in self.tables.items()}

    def get(self, table: str, token: str) -> Row:
        return self.by_token[table][token]

    def frames(self, channel: str, key_frame: bool = True) -> list[Row]:
        found = []
        for row in self.tables["sample_data"]:
            calibrated = self.get("calibrated_sensor", row["calibrated_sensor_token"])
            sensor = self.get("sensor", calibrated["sensor_token"])
            if (sensor["channel"], row["is_key_frame"]) == (channel, key_frame):
                found.append(row)
        return sorted(found, key=lambda row: row["timestamp"])

    def annotations(self, sample: str) -> list[Row]:
        return [row for row in self.tables["sample_annotation"] if row["sample_token"] == sample]

    def corners(self, annotation: Row, frame: Row) -> np.ndarray:
        """The eight corners of a box as the frame's camera sees them, one a row."""
        width, length, height = annotation["size"]
        signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / 2
        points = signs * (length, width, height) @ matrix(annotation["rotation"]).T + annotation["translation"]
        for table, key in (("ego_pose", "ego_pose_token"), ("calibrated_sensor", "calibrated_sensor_token")):
            pose = self.get(table, frame[key])
            points = (points - pose["translation"]) @ matrix(pose["rotation"])
        return points

    def projected(self, corners: np.ndarray, frame: Row) -> np.ndarray:
        """The box around the corners in the picture: left, top, right, bottom."""
        intrinsic = self.get("calibrated_sensor", frame["calibrated_sensor_token"])["camera_intrinsic"]
        pixels = corners @ np.array(intrinsic).T
        pixels = pixels[:, :2] / pixels[:, 2:]
        return np.concatenate([pixels.min(axis=0), pixels.max(axis=0)])


def matrix(rotation: list[float]) -> np.ndarray:
    w, x, y, z = rotation
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Drive:
    return Drive(tmp_path_factory.mktemp("nuscenes"))


def test_every_table_is_there(drive: Drive) -> None:
    assert sorted(drive.tables) == sorted(nuscenes_files.TABLES)
    assert len(drive.tables) == 13


def test_tokens_are_unique_and_of_their_form(drive: Drive) -> None:
    for name, rows in drive.tables.items():
        assert len(drive.by_token[name]) == len(rows) > 0
        assert all(re.fullmatch(r"[0-9a-f]{32}" if name != "visibility" else "[1-4]", row["token"]) for row in rows)


@pytest.mark.parametrize("table", LINKS)
def test_every_link_leads_somewhere(drive: Drive, table: str) -> None:
    for row in drive.tables[table]:
        for column, other in LINKS[table].items():
            assert row[column] in drive.by_token[other] or (column in ("prev", "next") and row[column] == "")


@pytest.mark.parametrize("table", ["sample", "sample_data"])
def test_chains_run_both_ways_in_time(drive: Drive, table: str) -> None:
    for row in drive.tables[table]:
        if row["next"]:
            after = drive.get(table, row["next"])
            assert after["prev"] == row["token"]
            assert after["timestamp"] > row["timestamp"]


def test_scenes_have_their_samples_and_a_reader_can_tell_the_split(drive: Drive) -> None:
    assert [row["name"] for row in drive.tables["scene"]] == ["scene-0103", "scene-0916", "scene-0061"]
    for scene in drive.tables["scene"]:
        token, count = scene["first_sample_token"], 0
        while token:
            count, last, token = count + 1, token, drive.get("sample", token)["next"]
        assert (count, last) == (scene["nbr_samples"], scene["last_sample_token"])


@pytest.mark.parametrize("channel", ["CAM_FRONT", "CAM_BACK"])
def test_pictures_are_there_in_their_size(drive: Drive, channel: str) -> None:
    for key_frame, folder in ((True, "samples"), (False, "sweeps")):
        frames = drive.frames(channel, key_frame)
        assert len(frames) == COUNT
        assert all(row["filename"].startswith(f"{folder}/{channel}/") for row in frames)
        for row in frames[::6]:
            with Image.open(drive.folder / row["filename"]) as image:
                assert image.size == (row["width"], row["height"])


def test_projected_boxes_are_those_of_the_pixels(drive: Drive) -> None:
    for frame, picture in zip(drive.frames("CAM_FRONT"), drive.found, strict=True):
        seen = [drive.corners(row, frame) for row in drive.annotations(frame["sample_token"])]
        ahead = [drive.projected(corners, frame) for corners in seen if (corners[:, 2] > 0).all()]
        assert len(ahead) == len(picture.scene.things)
        for projected, whole in zip(ahead, picture.whole, strict=True):
            left, top, width, height = box(whole)
            assert projected == pytest.approx([left, top, left + width, top + height], abs=1)


def test_the_near_face_is_the_box_to_a_tenth_of_a_pixel(drive: Drive) -> None:
    for frame, picture in zip(drive.frames("CAM_FRONT"), drive.found, strict=True):
        seen = [drive.corners(row, frame) for row in drive.annotations(frame["sample_token"])]
        ahead = [corners for corners in seen if (corners[:, 2] > 0).all()]
        for corners, whole in zip(ahead, picture.whole, strict=True):
            near = corners[np.argsort(corners[:, 2])[:4]]
            left, top, width, height = box(whole)
            assert drive.projected(near, frame) == pytest.approx([left, top, left + width, top + height], abs=0.1)


def test_what_is_behind_the_car_is_annotated_but_not_in_front(drive: Drive) -> None:
    behind = 0
    for front, back in zip(drive.frames("CAM_FRONT"), drive.frames("CAM_BACK"), strict=True):
        for row in drive.annotations(front["sample_token"]):
            sides = [(drive.corners(row, frame)[:, 2] > 0).all() for frame in (front, back)]
            assert sides.count(True) == 1
            behind += bool(sides[1])
    assert behind > COUNT


def test_categories_are_those_of_the_things(drive: Drive) -> None:
    for frame, picture in zip(drive.frames("CAM_FRONT"), drive.found, strict=True):
        names = [
            drive.get("category", drive.get("instance", row["instance_token"])["category_token"])["name"]
            for row in drive.annotations(frame["sample_token"])
            if (drive.corners(row, frame)[:, 2] > 0).all()
        ]
        drawn = [classes()[thing.label].concept.nuscenes for thing in picture.scene.things]
        assert names == drawn


def test_visibility_is_the_share_that_is_seen(drive: Drive) -> None:
    rows = {(row["visibility_token"]) for row in drive.tables["sample_annotation"]}
    assert rows <= {"2", "3", "4"}  # every thing can be seen by half or more
    for frame, picture in zip(drive.frames("CAM_FRONT"), drive.found, strict=True):
        tokens = [row["visibility_token"] for row in drive.annotations(frame["sample_token"])][
            : len(picture.visible_fractions)
        ]
        assert [token == "4" for token in tokens] == [share > 0.8 for share in picture.visible_fractions]


def test_things_are_of_a_likely_size_and_stand_apart_from_the_camera(drive: Drive) -> None:
    for row in drive.tables["sample_annotation"]:
        category = drive.get("category", drive.get("instance", row["instance_token"])["category_token"])["name"]
        assert row["size"][2] == pytest.approx(nuscenes_files.HEIGHTS[category.partition(".")[0]], abs=1e-5)
        assert min(row["size"]) > 0


def test_an_instance_has_as_many_annotations_as_it_says(drive: Drive) -> None:
    counts = Counter(row["instance_token"] for row in drive.tables["sample_annotation"])
    assert counts == {row["token"]: row["nbr_annotations"] for row in drive.tables["instance"]}
