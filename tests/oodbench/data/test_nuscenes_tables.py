"""Tests of `eyechart.oodbench.data.nuscenes_tables`."""

import json
from pathlib import Path

import pytest

from eyechart.errors import DataError
from eyechart.oodbench.data.nuscenes import open_nuscenes
from eyechart.oodbench.data.nuscenes_tables import scene_tokens
from tests.oodbench.data.nuscenes_street import SCENES, Row, Street


def test_tables_of_nuscenes(tmp_path: Path) -> None:
    (tmp_path / "scene.json").write_text('[{"token": "a", "name": "b"}]', encoding="utf-8-sig")
    assert scene_tokens(tmp_path) in ({"b": "a"}, {"a": "b"})


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
