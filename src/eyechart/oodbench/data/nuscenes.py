"""nuScenes: key frames of the front camera with the objects whose boxes are in the image (OODBench, Table 4).

An object is counted if its box is at least partly in the image, the part in the image is at least `_SLIVER` pixels wide
and high, and at least 40 % of the object is visible in all cameras together (levels 2 to 4). A category is present if
it has such an object.

An uncertain box is a box in the image with less visibility (level 1, or no level) or with fewer pixels, or a box
without size or direction. If a category has only uncertain boxes in an image, its presence is unknown. If it has
others too, it is present, but not countable. A bicycle rack is treated as an uncertain box of a bicycle, because the
bicycles in a rack are not annotated. nuScenes does not annotate objects without lidar or radar points.
"""

from collections.abc import Sequence
from csv import DictReader
from functools import lru_cache
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.image_files import index_images
from eyechart.errors import DataError
from eyechart.oodbench.data.annotated_images import build_annotated_dataset
from eyechart.oodbench.data.annotation import Annotation, Exclusion, list_exclusions
from eyechart.oodbench.data.label_maps import LabelMap, label_map
from eyechart.oodbench.data.nuscenes_camera import Boxes, CameraViews, Floats, Poses, visible_rectangles
from eyechart.oodbench.data.nuscenes_tables import Box, KeyFrame, Pose, SceneData, read_scene_data, scene_tokens
from eyechart.oodbench.data.tallies import tally_instances

_VERSIONS = {"v1.0-trainval": "val", "v1.0-mini": "mini_val"}
_KEY_FRAMES = 6019
_SLIVER = 3.0  # pixels
_RACK, _RACKED = "static_object.bicycle_rack", "vehicle.bicycle"
LOST = "its sample is in no table"
TWICE = "its instance is annotated in that sample already"
BROKEN = "its box has no size or no direction; its category is unknown there"
Ints = NDArray[np.int64]
NOTHING = np.empty((0, 2), dtype=np.int64)


def open_nuscenes(folder: Path, benchmark: str, split: str, *, part: str = "val", cache: Path | None = None) -> Dataset:
    """Return the data set of the scenes of val, or of all other scenes for part="train".

    `folder` holds `samples/` and the folder of a version with its tables: v1.0-trainval, or else v1.0-mini. If all 150
    scenes of val are present, all of their 6,019 key frames must be present. Annotations that refer to missing rows
    are excluded and listed.

    Raises DataError for other parts and versions, for tables that are unreadable or inconsistent, and for missing
    images.
    """
    version = _version(folder)
    scenes, complete = _scenes(version, part)
    data = read_scene_data(version, scenes)
    if complete and len(data.key_frames) != _KEY_FRAMES:
        raise DataError(
            f"{version} has {len(data.key_frames):,} key frames of the front camera in the 150 scenes of val, "
            f"expected {_KEY_FRAMES:,}: unpack its tables again."
        )
    remedy = "unpack the key frames of all parts (blobs), or at least their samples/CAM_FRONT."
    pictures = [view.picture.filename for view in data.key_frames]
    entries = index_images(folder, pictures, named_by=version / "sample_data.json", remedy=remedy, cache=cache)
    labels = label_map("nuscenes")
    expected = _KEY_FRAMES if complete else None
    return build_annotated_dataset(
        folder, benchmark, split, entries, labels.names, _annotation(data, labels), expected=expected
    )


def _version(folder: Path) -> Path:
    for name in _VERSIONS:
        if (folder / name / "sample_data.json").is_file():
            return folder / name
    there = ", ".join(sorted(path.parent.name for path in folder.glob("v*/sample_data.json"))) or "none"
    raise DataError(
        f"{folder} holds the tables of {there}, expected those of {' or '.join(_VERSIONS)}, which have annotations: "
        "unpack one of them beside samples/."
    )


@lru_cache
def _official_scenes(part: str) -> frozenset[str]:
    """Return the names of the official scenes of val or mini_val."""
    text = Path(__file__).with_name("nuscenes_scenes.csv").read_text(encoding="utf-8")
    return frozenset(row["scene"] for row in DictReader(StringIO(text, newline="")) if row["part"] == part)


def _scenes(version: Path, part: str) -> tuple[set[str], bool]:
    """Return the tokens of a part's scenes, and whether they are the whole of val."""
    if part not in ("val", "train"):
        raise DataError(f"nuScenes has the parts val and train, not '{part}'.")
    there, listed = scene_tokens(version), _official_scenes(_VERSIONS[version.name])
    chosen = {token for name, token in there.items() if (name in listed) == (part == "val")}
    if not chosen:
        raise DataError(
            f"{version / 'scene.json'} has none of the scenes of {part} among its {len(there):,}; those of val are "
            f"{min(listed)} to {max(listed)} of the official list, those of train all others: unpack the tables again."
        )
    return chosen, part == "val" and version.name == "v1.0-trainval" and listed <= there.keys()


def _annotation(data: SceneData, labels: LabelMap) -> Annotation:
    boxes, left_out = _filter_boxes(data, labels)
    views = {view.picture.sample_token: pair for pair, view in enumerate(data.key_frames)}
    pairs = [(views[box.sample_token], labels.index_by_label[data.categories[box.instance_token]]) for box in boxes]
    cells = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    broken = np.array([_broken(box) for box in boxes], dtype=np.bool_)
    rectangles = np.full((len(boxes), 4), np.nan)
    rectangles[~broken] = _box_rectangles(
        [box for box in boxes if not _broken(box)], data.key_frames, cells[~broken, 0]
    )
    clear = np.array([box.visibility_token in data.clear for box in boxes], dtype=np.bool_)
    things, doubtful = _split_cells(cells, rectangles, clear, broken, labels)
    tally = tally_instances((len(data.key_frames), len(labels.names)), things, NOTHING, doubtful)
    flat = list_exclusions("annotation", BROKEN, (box.token for box in boxes if _broken(box)))
    tokens = tuple(view.picture.token for view in data.key_frames)
    return Annotation(*tally, tokens, labels.originals, (*left_out, *flat))


def _filter_boxes(data: SceneData, labels: LabelMap) -> tuple[list[Box], tuple[Exclusion, ...]]:
    """Return the boxes that have a class, without duplicates, and a list of the excluded ones."""
    kept: list[Box] = []
    reasons: dict[str, list[str]] = {LOST: [*data.orphans]}
    there: set[tuple[str, str]] = set()
    for box in data.boxes:
        name = (box.sample_token, box.instance_token)
        why = TWICE if name in there else _exclusion_reason(data.categories.get(box.instance_token, ""), labels)
        there.add(name)
        if why:
            reasons.setdefault(why, []).append(box.token)
        else:
            kept.append(box)
    return kept, tuple(
        exclusion for why, tokens in reasons.items() for exclusion in list_exclusions("annotation", why, tokens)
    )


def _exclusion_reason(category: str, labels: LabelMap) -> str:
    """Return why a category is not a class, "" if it is one."""
    if category in labels.index_by_label:
        return ""
    if category in labels.dropped:
        return f"{category} is no class here ({labels.dropped[category]})"
    return f"no published name for {category}" if category else "its instance or that one's category is in no table"


def _broken(box: Box) -> bool:
    return min(box.size) <= 0 or not any(box.rotation)


def _box_rectangles(boxes: Sequence[Box], views: Sequence[KeyFrame], pairs: Ints) -> Floats:
    """Return the rectangle of every box in its image (n, 4), NaN if the box is not in the image."""
    of_view = CameraViews(
        _poses([view.ego for view in views], pairs),
        _poses([view.camera for view in views], pairs),
        _floats([view.camera.camera_intrinsic for view in views], 3, 3)[pairs],
        _floats([(view.picture.width, view.picture.height) for view in views], 2)[pairs],
    )
    everything = np.arange(len(boxes))
    return visible_rectangles(Boxes(_poses(boxes, everything), _floats([box.size for box in boxes], 3)), of_view)


def _poses(poses: Sequence[Pose | Box], pairs: Ints) -> Poses:
    return Poses(
        _floats([pose.translation for pose in poses], 3)[pairs], _floats([pose.rotation for pose in poses], 4)[pairs]
    )


def _floats(values: Sequence[object], *shape: int) -> Floats:
    return np.array(values, dtype=np.float64).reshape(-1, *shape)


def _split_cells(
    cells: Ints, rectangles: Floats, clear: NDArray[np.bool_], broken: NDArray[np.bool_], labels: LabelMap
) -> tuple[Ints, Ints]:
    """Return the cells (image, category) of the counted objects, and those of the uncertain boxes."""
    inside = ~np.isnan(rectangles[:, 0])
    present = clear & (rectangles[:, 2:] - rectangles[:, :2] >= _SLIVER).all(axis=1)
    racks = cells[(inside | broken) & (cells[:, 1] == labels.index_by_label[_RACK])]
    racks[:, 1] = labels.index_by_label[_RACKED]
    return cells[present], np.concatenate([cells[broken | (inside & ~present)], racks])
