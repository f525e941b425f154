"""What tests of oodbench/data share."""

import json
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from eyechart.data.dataset.dataset import Dataset
from eyechart.oodbench.data.coco import open_coco

PERSON, CAR, APPLE = 1, 3, 52
NAMES = {APPLE: "Äpfel 🍎", PERSON: "person", CAR: "car"}


def image(number: int) -> dict[str, Any]:
    return {"id": number, "file_name": f"{number:012}.jpg", "width": 40, "height": 30, "license": 1}


def category(identity: int, name: str) -> dict[str, Any]:
    return {"supercategory": "thing", "id": identity, "name": name}


@dataclass
class Folder:
    """A folder of COCO with three pictures; things are added, and everything can be changed before it is opened."""

    path: Path
    ids: Any = field(default_factory=count)
    images: list[dict[str, Any]] = field(default_factory=lambda: [image(number) for number in (2, 1, 3)])
    categories: list[dict[str, Any]] = field(default_factory=lambda: [category(*pair) for pair in NAMES.items()])
    things: list[dict[str, Any]] = field(default_factory=list)

    def add(self, where: int = 1, what: int = PERSON, box: tuple[float, ...] = (1, 2, 3, 4), **more: Any) -> "Folder":
        fields = {"image_id": where, "category_id": what, "bbox": box, "area": 5.5, "iscrowd": 0, "id": next(self.ids)}
        self.things.append(fields | {"segmentation": [[1.0, 2, 4, 2, 4, 6]]} | more)
        return self

    def open(self, split: str = "mine", cache: Path | None = None) -> Dataset:
        content = {"images": self.images, "annotations": self.things, "categories": self.categories}
        self.write(json.dumps({"info": {}, "licenses": []} | content))
        return open_coco(self.path, "oodbench", split, cache=cache)

    def write(self, text: str) -> None:
        (self.path / "annotations").mkdir(exist_ok=True)
        (self.path / "annotations/instances_val2017.json").write_text(text, encoding="utf-8")


def facts(found: Dataset, name: str = "counts") -> list[list[int]]:
    """An array of the annotation as ints."""
    table: list[list[int]] = getattr(found.details, name).astype(int).tolist()
    return table
