"""Divisions of drawn pictures by the logits of two detectors."""

from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import msgspec
import numpy as np
import pytest

from eyechart.data.splits.open_split import open_split
from eyechart.data.splits.registry import SplitRef
from eyechart.oodbench.division.division_files import write_division
from eyechart.oodbench.division.pairs import Detector, DetectorOutput, DivisionSettings, build_division
from tests.gradients import gradient


@pytest.fixture
def make_division(tmp_path: Path, made_once: Callable[..., Path]) -> Callable[..., Path]:
    """Draw pictures with two things of three each, annotated as COCO does, and divide them by two detectors' logits."""

    def make(
        size: int = 12, names: tuple[str, ...] = ("cat", "dog", "hot dog"), limit: int | None = None, **rules: Any
    ) -> Path:
        copytree(made_once(divide_drawings, size, names, limit, *sorted(rules.items())), tmp_path, dirs_exist_ok=True)
        return tmp_path / "divisions" / "mine.json"

    return make


def divide_drawings(
    folder: Path, size: int, names: tuple[str, ...], limit: int | None, *rules: tuple[str, Any]
) -> None:
    """Draw pictures below a folder and write their division."""
    root, annotations = folder / "data", folder / "data" / "mine" / "annotations" / "instances_val2017.json"
    (root / "mine" / "val2017").mkdir(parents=True)
    annotations.parent.mkdir()
    images = [{"id": n + 1, "file_name": f"{n:03d}.png", "width": 48 + n, "height": 36} for n in range(size)]
    for number, image in enumerate(images):
        (root / "mine" / "val2017" / str(image["file_name"])).write_bytes(gradient(number, "png"))
    boxes = [
        {"id": 2 * n + k, "image_id": n + 1, "category_id": (n + k) % 3 + 1, "bbox": [1, 1, 9, 9], "area": 81}
        | {"iscrowd": 0, "segmentation": []}
        for n in range(size)
        for k in (0, 1)
    ]
    named = [{"id": n, "name": name, "supercategory": "thing"} for n, name in enumerate(names, 1)]
    annotations.write_bytes(msgspec.json.encode({"images": images, "annotations": boxes, "categories": named}))
    ref = SplitRef("oodbench", "mine", "coco", str(root / "mine"), part="val", reader="oodbench")
    dataset = open_split(ref).subsample(limit, 42)
    random = np.random.default_rng(0)
    detectors = [Detector(f"clip[{name}]", "1 (01234567)", "ab") for name in ("a", "b<b>")]
    outputs = [
        DetectorOutput(detector, random.normal(size=(len(dataset), 3)).astype(np.float32) * 4, {})
        for detector in detectors
    ]
    parameters = {"seed": "42", "threshold": "0.3"} | ({"limit": str(limit)} if limit else {})
    divided = build_division(dataset, outputs, DivisionSettings(threshold=0.3, parameters=parameters, **dict(rules)))
    write_division(folder / "divisions" / "mine.json", divided, dataset)
