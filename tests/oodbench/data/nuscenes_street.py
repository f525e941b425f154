"""What tests of oodbench/data share."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.oodbench.data.nuscenes import open_nuscenes
from eyechart.toybox.formats import nuscenes_files as toy

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
