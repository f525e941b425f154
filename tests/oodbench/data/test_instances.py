"""Tests of `eyechart.oodbench.data.instances`."""

import json
from statistics import median
from typing import Any

import numpy as np
import pytest

from eyechart.errors import DataError
from eyechart.oodbench.data.coco import open_coco
from tests.oodbench.data.coco_folder import CAR, PERSON, Folder, category, facts, image


def test_faults_are_counted_by_kind(folder: Folder, left_out: Any) -> None:
    folder.add(17, 2).add(17).add(1, 2).add(1, box=(50, 50, 0, 0))
    assert [(why[:20], count) for why, count, _ in left_out()] == [
        ("it names an image th", 2),
        ("it names a category ", 1),
        ("its box or area is e", 1),
    ]


def test_a_broken_thing_alone_leaves_its_category_unknown(folder: Folder) -> None:
    found = folder.add(1, CAR, (1, 1, 0, 0)).open()
    assert facts(found, "known")[0] == facts(found, "countable")[0] == [1, 0, 1]
    assert facts(found, "known_absent")[0] == [1, 0, 1]


def test_a_broken_thing_beside_another_leaves_the_number_open(folder: Folder) -> None:
    found = folder.add(1, CAR, (1, 1, 0, 0)).add(1, CAR).open()
    assert facts(found, "known")[0] == [1, 1, 1]
    assert facts(found, "countable")[0] == [1, 0, 1]
    assert facts(found)[0] == [0, 1, 0]


@pytest.mark.parametrize("box", [(-5, -5, 6, 6), (39.5, 29.5, 100, 100), (-1, -1, 99, 99)])
def test_a_box_partly_outside_counts(folder: Folder, box: tuple[float, ...]) -> None:
    assert facts(folder.add(1, PERSON, box).open())[0] == [1, 0, 0]


def test_equal_annotations_count_once(folder: Folder, left_out: Any) -> None:
    folder.add(1, CAR).add(1, CAR).add(1, CAR).add(1, PERSON).add(2, CAR).add(1, CAR, (1, 2, 3, 4.5))
    assert left_out() == [("it repeats another one's image, category and box", 2, "annotation 1 of image 1")]
    found = folder.open()
    assert facts(found) == [[1, 2, 0], [0, 1, 0], [0, 0, 0]]
    assert found.details.countable.all()


def test_of_a_crowd_and_a_thing_in_one_box_the_crowd_is_kept(folder: Folder, left_out: Any) -> None:
    folder.add(1, CAR).add(1, CAR, iscrowd=1)
    assert [first for _, _, first in left_out()] == ["annotation 0 of image 1"]
    assert facts(folder.open(), "countable")[0] == [1, 0, 1]


@pytest.mark.parametrize("key", ["bbox", "image_id", "category_id"])
def test_a_thing_without_what_is_needed(folder: Folder, key: str) -> None:
    del folder.add().things[0][key]
    with pytest.raises(DataError, match=rf"no file of COCO instances \(.*`{key}` - at `\$.annotations\[0\]`\)"):
        folder.open()


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("images", {"coco_url": None, "flickr_url": None, "license": None, "date_captured": None}),
        ("images", {"width": None, "height": None}),
        ("images", {"width": "40", "height": 30.0}),
        ("images", {"id": "1"}),
        ("images", {"id": 1.0, "neg_category_ids": None}),
        ("things", {"area": None, "id": None, "score": None}),
        ("things", {"area": float("nan")}),
        ("things", {"iscrowd": None}),
        ("things", {"iscrowd": False}),
        ("things", {"iscrowd": "0"}),
        ("things", {"iscrowd": 0.0}),
        ("things", {"image_id": "1", "category_id": "1", "id": "a-7"}),
        ("things", {"bbox": ["1", "2", "3", "4"]}),
        ("things", {"segmentation": None, "attributes": {"occluded": None}}),
        ("categories", {"supercategory": None}),
        ("categories", {"id": "1", "keypoints": None}),
        ("categories", {"supercategory": 7}),
    ],
    ids=str,
)
def test_types_of_other_tools(folder: Folder, part: str, change: dict[str, Any]) -> None:
    folder.images, folder.categories = [image(1)], [category(PERSON, "person"), category(CAR, "car")]
    getattr(folder.add(), part)[0].update(change)
    annotation = folder.open().details
    assert (annotation.counts.tolist(), annotation.known.tolist()) == ([[1, 0]], [[True, True]])


def test_names_that_are_numbers_and_no_annotations(folder: Folder) -> None:
    folder.categories = [{"id": 1, "name": 7}]
    assert folder.open().names == ("7",)
    folder.write(json.dumps({"images": [image(1)], "annotations": None, "categories": [category(1, "cat")]}))
    assert open_coco(folder.path, "oodbench", "mine").details.counts.tolist() == [[0]]


@pytest.mark.parametrize(
    ("part", "key"), [("images", "id"), ("things", "bbox"), ("things", "image_id"), ("categories", "name")]
)
def test_null_in_a_field_that_is_needed_is_named(folder: Folder, part: str, key: str) -> None:
    getattr(folder.add(), part)[0][key] = None
    with pytest.raises(DataError, match=rf"is no file of COCO instances .*`{key}`"):
        folder.open()


def test_the_area_of_objects_is_the_median_share_of_the_image(folder: Folder) -> None:
    chance = np.random.default_rng(3)
    shares: dict[int, list[float]] = {1: [], 2: [], 3: []}
    for number in chance.integers(1, 3, 41).tolist():
        width, height, area = *chance.integers(1, 9, 2).tolist(), float(chance.integers(1, 60))
        outlined = bool(chance.integers(2))
        folder.add(number, box=(1, 2, width, height), area=area if outlined else None)
        shares[number].append((area if outlined else width * height) / (40 * 30))
    folder.add(3, box=(1, 2, 20, 20), iscrowd=1)  # a crowd is no single object
    folder.add(3, box=(1, 2, 0, 20))
    folder.add(9)
    found = folder.open()
    expected = [median(shares[number]) if shares[number] else float("nan") for number in (1, 2, 3)]
    areas = found.details.image_attributes()["object_area"]  # in the order of the names of the files
    np.testing.assert_allclose(areas, expected)
    np.testing.assert_allclose(found.details.select([2, 0]).image_attributes()["object_area"], areas[[2, 0]])
