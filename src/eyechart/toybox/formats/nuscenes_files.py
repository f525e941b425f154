"""Streets as nuScenes keeps them: `samples/CAM_*/*.jpg` and the tables of a version in `v1.0-trainval/*.json`.

Every sample has a front and a back camera, and so has every sweep between the samples; things are thin boxes that
face their camera and whose projections are the things' boxes in the picture. Two of the three scenes are of `val`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.scenes import RenderedScene, box, render, street_scene
from eyechart.toybox.art.space import Camera, Pose, multiply, rotation_about_vertical
from eyechart.toybox.art.toy_classes import classes
from eyechart.toybox.formats.coco_files import Json
from eyechart.toybox.formats.shards import encode_image
from eyechart.toybox.formats.write_json import write_bytes, write_json

NAME, VERSION, LOG = "nuscenes", "v1.0-trainval", "n000-2018-01-01-00-00-00-0000"
SIZE = (160, 90)
FOCAL = 126.6
HALF_TURN = (0.0, 0.0, 0.0, 1.0)
FRONT = (0.5, -0.5, 0.5, -0.5)
CAMERAS: Mapping[str, Camera] = {
    "CAM_FRONT": Camera(Pose((1.7, 0.0, 1.5), FRONT), FOCAL, (80.0, 45.0)),
    "CAM_BACK": Camera(Pose((0.0, 0.0, 1.55), multiply(HALF_TURN, FRONT)), FOCAL, (80.0, 45.0)),
}
HEIGHTS = {"human": 1.75, "animal": 0.8, "movable_object": 1.0, "vehicle": 1.6}
THIN = 0.01
BEGIN, STEP = 1_514_764_800_000_000, 500_000
VISIBILITY = {"1": ("v0-40", 0.4), "2": ("v40-60", 0.6), "3": ("v60-80", 0.8), "4": ("v80-100", 2.0)}
TABLES = (
    *("attribute", "calibrated_sensor", "category", "ego_pose", "instance", "log", "map", "sample"),
    *("sample_annotation", "sample_data", "scene", "sensor", "visibility"),
)


@dataclass(frozen=True)
class _Plan:
    """The scenes to drive through in turn, the cameras that are on, and whether there are pictures between samples."""

    scenes: tuple[str, ...] = ("scene-0103", "scene-0916", "scene-0061")
    channels: tuple[str, ...] = tuple(CAMERAS)
    sweeps: bool = True

    @property
    def kinds(self) -> tuple[bool, ...]:
        """Whether a picture is a key frame, for every picture of a camera and sample."""
        return (True, False) if self.sweeps else (True,)


WHOLE = _Plan()
FRONT_OF_VAL = _Plan(WHOLE.scenes[:2], ("CAM_FRONT",), sweeps=False)


def token(*name: object) -> str:
    """Return the token of what has this name."""
    return sha256("|".join(map(str, name)).encode()).hexdigest()[:32]


@dataclass
class Tables:
    """The tables of a version, as they grow."""

    rows: dict[str, list[Json]] = field(default_factory=lambda: {table: [] for table in TABLES})

    def add(self, table: str, *name: object, **row: object) -> str:
        """Add a row and return its token."""
        key = token(table, *name)
        self.rows[table].append({"token": key, **row})
        return key


@dataclass(frozen=True)
class _DriveSample:
    """One sample of the drive: its number, its scene, the car's place, and what each camera shows."""

    number: int
    scene: str
    ego: Pose
    shown: Mapping[str, RenderedScene]

    @property
    def time(self) -> int:
        """Microseconds."""
        return time(self.number)


def time(number: int, *, key_frame: bool = True) -> int:
    """Return when a sample is, or the sweep after it, in microseconds."""
    return BEGIN + STEP * number + (0 if key_frame else STEP // 2)


def _drive_samples(seed: int, styles: Sequence[str], number: int, plan: _Plan = WHOLE) -> Iterator[_DriveSample]:
    """Yield the samples, styles in turn, as many in each scene."""
    for index in range(number):
        draw, style = Draw(seed, NAME, index), styles[index % len(styles)]
        shown = {
            channel: render(
                street_scene(draw, f"{NAME}/{index}/{channel}", style, SIZE, lambda concept: concept.nuscenes)
            )
            for channel in plan.channels
        }
        ego = Pose((draw.uniform(200, 900), draw.uniform(900, 1600), 0.0), rotation_about_vertical(draw.uniform(-3, 3)))
        yield _DriveSample(index, plan.scenes[index * len(plan.scenes) // number], ego, shown)


def tables(drive: Sequence[_DriveSample], plan: _Plan = WHOLE) -> dict[str, list[Json]]:
    """Return every table's rows."""
    rows = Tables()
    _static(rows)
    for name in dict.fromkeys(moment.scene for moment in drive):
        _scene(rows, name, [moment for moment in drive if moment.scene == name], plan)
    return rows.rows


def _static(rows: Tables) -> None:
    """Add what does not change in a drive."""
    for key, (level, _) in VISIBILITY.items():
        rows.rows["visibility"].append({"token": key, "level": level, "description": f"visibility of {level[1:]} %"})
    for name in sorted({toy_class.concept.nuscenes for toy_class in classes()} - {""}):
        rows.add("category", name, name=name, description="")
    rows.add("attribute", "vehicle.parked", name="vehicle.parked", description="Vehicle is stationary.")
    log = rows.add("log", LOG, logfile=LOG, vehicle="n000", date_captured="2018-01-01", location="singapore-onenorth")
    rows.add("map", "map", log_tokens=[log], category="semantic_prior", filename="")
    for channel, camera in CAMERAS.items():
        sensor = rows.add("sensor", channel, channel=channel, modality="camera")
        where, turn = [*camera.pose.translation], [*camera.pose.rotation]
        facts = {"sensor_token": sensor, "translation": where, "rotation": turn, "camera_intrinsic": camera.intrinsic}
        rows.add("calibrated_sensor", channel, **facts)


def _scene(rows: Tables, name: str, drive: Sequence[_DriveSample], plan: _Plan) -> None:
    """Add a scene with its samples, chained both ways."""
    samples = ["", *(token("sample", moment.number) for moment in drive), ""]
    facts = {"nbr_samples": len(drive), "first_sample_token": samples[1], "last_sample_token": samples[-2]}
    scene = rows.add("scene", name, log_token=token("log", LOG), **facts, name=name, description="toy street")
    for index, moment in enumerate(drive, 1):
        chain = {"prev": samples[index - 1], "next": samples[index + 1]}
        rows.add("sample", moment.number, timestamp=moment.time, **chain, scene_token=scene)
        for channel, picture in moment.shown.items():
            for thing in range(len(picture.scene.things)):
                _annotation(rows, moment, channel, thing)
    for channel in plan.channels:
        _frames(rows, channel, [(moment, key_frame) for moment in drive for key_frame in plan.kinds])


def _frames(rows: Tables, channel: str, frames: Sequence[tuple[_DriveSample, bool]]) -> None:
    """Add a camera's pictures, chained both ways."""
    keys = ["", *(token("sample_data", moment.number, channel, key) for moment, key in frames), ""]
    for index, (moment, key_frame) in enumerate(frames, 1):
        when = time(moment.number, key_frame=key_frame)
        rows.add(
            "sample_data",
            *(moment.number, channel, key_frame),
            sample_token=token("sample", moment.number),
            ego_pose_token=_ego(rows, moment, channel, when),
            calibrated_sensor_token=token("calibrated_sensor", channel),
            timestamp=when,
            fileformat="jpg",
            is_key_frame=key_frame,
            height=SIZE[1],
            width=SIZE[0],
            filename=filename(moment.number, channel, key_frame=key_frame),
            prev=keys[index - 1],
            next=keys[index + 1],
        )


def filename(number: int, channel: str, *, key_frame: bool = True) -> str:
    """Return where a sample's picture lies, or the sweep's after it."""
    when = time(number, key_frame=key_frame)
    return f"{'samples' if key_frame else 'sweeps'}/{channel}/{LOG}__{channel}__{when}.jpg"


def _ego(rows: Tables, moment: _DriveSample, channel: str, when: int) -> str:
    where = {"rotation": [*moment.ego.rotation], "translation": [*moment.ego.translation]}
    return rows.add("ego_pose", channel, when, timestamp=when, **where)


def _annotation(rows: Tables, moment: _DriveSample, channel: str, index: int) -> None:
    """Add a thing as a thin box whose near face is its box in the picture."""
    picture, camera = moment.shown[channel], CAMERAS[channel]
    category = classes()[picture.scene.things[index].label].concept.nuscenes
    left, top, width, height = box(picture.whole[index])
    depth = round(camera.focal * HEIGHTS[category.partition(".")[0]] / height, 6)
    centre = camera.point(left + width / 2, top + height / 2, depth)
    middle = moment.ego.outward(camera.pose.outward((centre[0], centre[1], depth * (1 + THIN / 2))))
    facing = moment.ego.rotation if channel == "CAM_FRONT" else multiply(moment.ego.rotation, HALF_TURN)
    size = (width * depth / camera.focal, depth * THIN, height * depth / camera.focal)
    name = (moment.number, channel, index)
    identity = token("sample_annotation", *name)
    first_last = {"first_annotation_token": identity, "last_annotation_token": identity}
    instance = rows.add("instance", *name, category_token=token("category", category), nbr_annotations=1, **first_last)
    visible = picture.visible_fractions[index]
    rows.add(
        "sample_annotation",
        *name,
        sample_token=token("sample", moment.number),
        instance_token=instance,
        visibility_token=next(key for key, (_, top_share) in VISIBILITY.items() if visible <= top_share),
        attribute_tokens=[token("attribute", "vehicle.parked")] if category.startswith("vehicle") else [],
        translation=[round(value, 6) for value in middle],
        size=[round(value, 6) for value in size],
        rotation=[round(value, 9) for value in facing],
        prev="",
        next="",
        num_lidar_pts=1,
        num_radar_pts=0,
    )


def write(folder: Path, seed: int, styles: Sequence[str], number: int, plan: _Plan = WHOLE) -> list[RenderedScene]:
    """Write pictures and tables; return what the front camera shows."""
    drive = list(_drive_samples(seed, styles, number, plan))
    for moment, key_frame in ((moment, key_frame) for moment in drive for key_frame in plan.kinds):
        for channel, picture in moment.shown.items():
            path = folder / filename(moment.number, channel, key_frame=key_frame)
            write_bytes(path, encode_image(picture.image, "JPEG"))
    for table, rows in tables(drive, plan).items():
        write_json(folder / VERSION / f"{table}.json", rows)
    return [moment.shown["CAM_FRONT"] for moment in drive]
