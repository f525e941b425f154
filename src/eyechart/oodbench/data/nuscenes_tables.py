"""Reader of the tables of a nuScenes version: key frames of the front camera and annotated boxes of some scenes.

The large tables (2.6 million images and sweeps, their poses, 1.2 million annotations) are memory-mapped and decoded
row by row; only the required fields are decoded.
"""

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TypeVar

import msgspec

from eyechart.errors import DataError
from eyechart.oodbench.data.annotated_images import index_by_id, read_json

_CHANNEL = "CAM_FRONT"
_Triple = tuple[float, float, float]
_Quadruple = tuple[float, float, float, float]


class _Keyed(msgspec.Struct, frozen=True):
    """A row of any table."""

    token: str


class Named(_Keyed, frozen=True):
    """A scene or a category."""

    name: str


class _Sensor(_Keyed, frozen=True):
    """A camera, lidar or radar of the car."""

    channel: str


class Sample(_Keyed, frozen=True):
    """A time step of a scene."""

    scene_token: str


class Instance(_Keyed, frozen=True):
    """An object that is tracked through a scene."""

    category_token: str


class _Visibility(_Keyed, frozen=True):
    """A level of visibility: the share of an object that all cameras together see."""

    level: str


class Pose(_Keyed, frozen=True):
    """The pose of the car in the world: translation in metres, and rotation as a quaternion w, x, y, z."""

    translation: _Triple
    rotation: _Quadruple


class _Calibrated(Pose, frozen=True):
    """The pose of a sensor on the car, and the camera matrix if it is a camera."""

    sensor_token: str
    camera_intrinsic: list[_Triple]


class _Picture(_Keyed, frozen=True):
    """A recording of a sensor, such as an image."""

    sample_token: str
    ego_pose_token: str
    calibrated_sensor_token: str
    is_key_frame: bool
    filename: str
    width: int | None = None
    height: int | None = None


class Box(_Keyed, frozen=True):
    """An annotated box in a sample: size as width, length and height in metres, centre and rotation in the world."""

    sample_token: str
    instance_token: str
    visibility_token: str
    translation: _Triple
    size: _Triple
    rotation: _Quadruple


Row = TypeVar("Row", bound=_Keyed)


@dataclass(frozen=True)
class KeyFrame:
    """A key frame of the front camera with the poses of the car and of the camera."""

    picture: _Picture
    ego: Pose
    camera: _Calibrated


@dataclass(frozen=True)
class SceneData:
    """The key frames of some scenes, sorted by file name, and the boxes of their samples in table order.

    `categories` maps instance tokens to category names. `clear` are the tokens of visibility levels of 40 % or more.
    `orphans` are the tokens of annotations whose sample is in no table.
    """

    key_frames: tuple[KeyFrame, ...]
    boxes: tuple[Box, ...]
    categories: Mapping[str, str]
    clear: frozenset[str]
    orphans: tuple[str, ...]


def scene_tokens(version: Path) -> dict[str, str]:
    """Return the token of each scene, by the name of the scene."""
    return {row.name: row.token for row in _table(version, "scene", Named)}


def read_scene_data(version: Path, chosen: AbstractSet[str]) -> SceneData:
    """Return the key frames and boxes of the scenes with the given tokens."""
    samples = {row.token: row.scene_token in chosen for row in _rows(version, "sample", Sample)}
    views = _views(version, {token for token, wanted in samples.items() if wanted})
    recorded = {view.picture.sample_token for view in views}
    boxes, lost = [], []
    for box in _rows(version, "sample_annotation", Box):
        if box.sample_token in recorded:
            boxes.append(box)
        elif box.sample_token not in samples:
            lost.append(box.token)
    names = {row.token: row.name for row in _table(version, "category", Named)}
    kinds = {row.token: names.get(row.category_token, "") for row in _table(version, "instance", Instance)}
    levels = _table(version, "visibility", _Visibility)
    clear = frozenset(row.token for row in levels if row.level != "v0-40")
    return SceneData(views, tuple(boxes), kinds, clear, tuple(lost))


def _views(version: Path, samples: AbstractSet[str]) -> tuple[KeyFrame, ...]:
    cameras = _cameras(version)
    pictures = [
        row
        for row in _rows(version, "sample_data", _Picture)
        if row.is_key_frame and row.calibrated_sensor_token in cameras and row.sample_token in samples
    ]
    path = version / "sample_data.json"
    index_by_id((row.sample_token for row in pictures), path, f"key frames of {_CHANNEL} for the sample")
    for row in pictures:
        if not row.width or not row.height:
            raise DataError(f"{path}: the picture {row.filename} has no width and height; expected its size in pixels.")
    egos = _egos(version, {row.ego_pose_token for row in pictures})
    views = (KeyFrame(row, egos[row.ego_pose_token], cameras[row.calibrated_sensor_token]) for row in pictures)
    return tuple(sorted(views, key=lambda view: view.picture.filename))


def _cameras(version: Path) -> dict[str, _Calibrated]:
    """Return the calibrations of the front camera by token; raise DataError for an invalid matrix or rotation."""
    sensors = {row.token for row in _table(version, "sensor", _Sensor) if row.channel == _CHANNEL}
    calibrations = [row for row in _table(version, "calibrated_sensor", _Calibrated) if row.sensor_token in sensors]
    for row in calibrations:
        if not _pinhole(row.camera_intrinsic) or not any(row.rotation):
            raise DataError(
                f"{version / 'calibrated_sensor.json'}, row {row.token}: {_CHANNEL} has the matrix "
                f"{row.camera_intrinsic} and the rotation {row.rotation}; expected three rows with positive focal "
                "lengths, the last 0, 0, 1, and a rotation other than 0: unpack the tables again."
            )
    return {row.token: row for row in calibrations}


def _pinhole(matrix: Sequence[_Triple]) -> bool:
    return len(matrix) == 3 and matrix[0][0] > 0 and matrix[1][1] > 0 and matrix[1][0] == 0 and matrix[2] == (0, 0, 1)


def _egos(version: Path, tokens: AbstractSet[str]) -> dict[str, Pose]:
    poses = {row.token: row for row in _rows(version, "ego_pose", Pose) if row.token in tokens}
    missing = sorted(token for token in tokens if token not in poses or not any(poses[token].rotation))
    if missing:
        raise DataError(
            f"{version / 'ego_pose.json'} does not have {len(missing):,} poses that sample_data.json names, or their "
            f"rotations, the first {missing[0]}: unpack the tables of one version again."
        )
    return poses


def _table(version: Path, name: str, kind: type[Row]) -> list[Row]:
    return read_json(version / f"{name}.json", list[kind], f"nuScenes' table {name}")  # type: ignore[valid-type]


def _rows(version: Path, name: str, kind: type[Row]) -> Iterator[Row]:
    """Yield the rows of a table; the table is memory-mapped, because its decoded rows may not fit into memory."""
    path, index = version / f"{name}.json", 0
    try:
        with path.open("rb") as file:
            content = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
            marked = bytes(content[: len(BOM_UTF8)]) == BOM_UTF8
            rows = msgspec.json.decode(content[len(BOM_UTF8) * marked :], type=list[msgspec.Raw])
        decode = msgspec.json.Decoder(kind).decode
        for index, row in enumerate(rows, 1):  # noqa: B007  # an error message uses it
            yield decode(row)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): copy it again from where it came from.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        reason = f"row {index}: {error}" if index else str(error)
        raise DataError(f"{path} is no table of nuScenes ({reason}): unpack its version again.") from error
