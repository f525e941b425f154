"""Annotated scenes: what COCO's and LVIS's formats have in common, and the truth beside all formats."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.toybox.art.styles import TRAINING
from eyechart.toybox.art.toy_classes import names
from tests.toybox.formats.written import COUNT, SEED, Made

pytestmark = pytest.mark.deep


@pytest.fixture(params=["common", "large"])
def either(request: pytest.FixtureRequest) -> Made:
    found: Made = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("table", ["images", "annotations", "categories"])
def test_ids_are_unique(either: Made, table: str) -> None:
    ids = [row["id"] for row in either.content[table]]
    assert len({*ids}) == len(ids) > 0


def test_every_link_leads_somewhere(either: Made) -> None:
    images, categories = ({row["id"] for row in either.content[table]} for table in ("images", "categories"))
    assert {one["image_id"] for one in either.content["annotations"]} <= images
    assert {one["category_id"] for one in either.content["annotations"]} <= categories


def test_images_are_there_in_their_size(either: Made) -> None:
    for row in either.content["images"]:
        with Image.open(either.folder / "val2017" / row["coco_url"].rpartition("/")[2]) as image:
            assert (image.format, *image.size) == ("JPEG", row["width"], row["height"])


def test_pictures_are_what_was_rendered(either: Made) -> None:
    for number in range(1, COUNT + 1, 7):
        with Image.open(either.folder / f"val2017/{number:012}.jpg") as image:
            kept = np.asarray(image).astype(int)
        assert np.abs(kept - np.asarray(either.found[number - 1].image).astype(int)).mean() < 6


def test_boxes_and_areas_are_those_of_the_polygons(either: Made) -> None:
    for one in either.content["annotations"]:
        if not one.get("iscrowd"):
            points = np.concatenate([np.reshape(part, (-1, 2)) for part in one["segmentation"]])
            left, top, width, height = one["bbox"]
            assert [*points.min(axis=0), *points.max(axis=0)] == [left, top, left + width, top + height]
            assert sum(map(shoelace, one["segmentation"])) == one["area"] > 0


def shoelace(flat: list[float]) -> float:
    x, y = np.reshape(flat, (-1, 2)).T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) / 2)


def test_the_truth_beside_the_files_is_what_was_drawn(tmp_path: Path) -> None:
    from eyechart.toybox.formats import annotated

    annotated.write(tmp_path, SEED, 6)
    for name in annotated.WRITERS:
        with (tmp_path / name / "truth.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        mains = Counter(row["scene"] for row in rows if row["main"] == "1")
        assert {*mains.values()} == {1}
        assert {row["trained"] for row in rows if row["style"] in TRAINING} == {"1"}
        assert {row["name"] for row in rows} <= {*names()}
