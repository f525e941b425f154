"""Tests of `eyechart.oodbench.division.case_division`."""

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.errors import DataError
from eyechart.inference.store.entries import Store
from eyechart.oodbench.data.annotation import Annotation
from eyechart.oodbench.division.case_division import _read_detections, load_division
from eyechart.oodbench.division.division_files import write_division
from eyechart.oodbench.protocols.existence import Existence
from tests.oodbench.case_pairs import pairs
from tests.oodbench.division.judges import Bench, judges

HARD, SIMPLE = {(0, 1), (3, 0)}, {(1, 2), (2, 3)}

Write = Callable[..., Path]
NOTHING = np.zeros((3, 2), np.int32)
ANNOTATION = Annotation(NOTHING, NOTHING == 0, NOTHING == 0, ("139", "285", "žlutý"), ("1", "90"))


def test_a_file_is_told_by_its_name_and_what_is_in_it(pair_world: Any, tmp_path: Path) -> None:
    context = pair_world.sit(pair_world.talker(), threshold="0.02")
    write_division(tmp_path / "mine.json", load_division(context), context.dataset)
    told = Existence().predict(pair_world.sit(pair_world.talker(), division=tmp_path / "mine.json")).variant
    assert told["division"].startswith("mine.json (")
    assert (told["threshold"], told["detectors"], told["source"]) == ("0.02", "first[]+second[]", "coco")


@pytest.mark.parametrize(("name", "wanted"), [("OOD-H", HARD), ("OOD-S", SIMPLE)])
def test_a_published_csv_is_asked_about_as_the_set_that_its_name_says(
    pair_world: Any, tmp_path: Path, name: str, wanted: set[tuple[int, int]]
) -> None:
    context = pair_world.sit(pair_world.talker())
    write_division(tmp_path / "mine.json", load_division(context), context.dataset)
    found = Existence().predict(pair_world.sit(pair_world.talker(), division=tmp_path / f"mine-{name}.csv"))
    assert (pairs(found, name), {*found.division.sets}) == (wanted, {name})
    assert (found.variant["detectors"], found.variant["threshold"]) == ("unknown", "unknown")


def test_what_a_file_does_not_say_is_not_made_up(pair_world: Any, tmp_path: Path) -> None:
    context = pair_world.sit(pair_world.talker())
    write_division(
        tmp_path / "mine.json", replace(load_division(context), parameters={"max_pairs": "9"}), context.dataset
    )
    told = Existence().predict(pair_world.sit(pair_world.talker(), division=tmp_path / "mine.json")).variant
    assert (told["max_pairs"], told["threshold"], told["absent_categories"]) == ("9", "unknown", "unknown")
    assert told["detectors"] == "first[]+second[]"


def test_a_folder_without_any_division_is_refused(pair_world: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no division file\. Create one with: eyechart divide ROOT"):
        load_division(pair_world.sit(pair_world.talker(), division=tmp_path))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: object) -> Path:
        path = tmp_path / "results.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def box(image: object = 139, category: object = 90, score: object = 0.5, **more: object) -> dict[str, Any]:
    return {"image_id": image, "category_id": category, "bbox": [1, 2.5, 3, 4], "score": score} | more


def test_boxes_come_to_the_rows_and_columns_of_the_annotation(write: Write) -> None:
    path = write([box(285, 1, 0.25), box("žlutý", "90", 1, segmentation={}), box("139")])
    found = _read_detections(path, ANNOTATION)
    assert (found.rows.tolist(), found.categories.tolist()) == ([1, 2, 0], [0, 1, 1])
    assert (found.scores.tolist(), len(found), found.excluded) == ([0.25, 1, 0.5], 3, ())
    assert found.sha256 == sha256(path.read_bytes()).hexdigest()


def test_other_images_and_scores_of_nothing_are_counted(write: Write) -> None:
    found = _read_detections(write([box(7), box(), box(8), box(285, score=0)]), ANNOTATION)
    assert found.rows.tolist() == [0]
    assert [(one.count, one.first) for one in found.excluded] == [(2, "that of image 7"), (1, "that of image 285")]


def test_a_box_is_not_needed(write: Write) -> None:
    assert len(_read_detections(write([{"image_id": 139, "category_id": 1, "score": 0.1}]), ANNOTATION)) == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            [box(category=0), box()],
            "1 category ids that are not in the annotation: 0. Use the category ids of the annotation",
        ),
        ([box(category=n) for n in range(2, 9)], "7 category ids that are not in .*: 2, 3, 4, 5, 6 and others. Use"),
        ([box(7)], "none of the 3 images: the first image_id is 7, the data set's first is 139"),
        ([], "the file is empty"),
        ([box(score=1.5)], r"`float` <= 1.0 - at `\$\[0\].score`"),
        ([box(), box(score=-1)], r"at `\$\[1\].score`"),
        ([box(score="high")], r"got `str` - at `\$\[0\].score`"),
        ([box(bbox=[1, 2, -3, 4])], r"at `\$\[0\].bbox\[2\]`"),
        ([box(bbox=[1, 2, 3])], r"at `\$\[0\].bbox`"),
        ([{"image_id": 139, "score": 1}], "missing required field `category_id`"),
        ({"annotations": []}, "Expected `array`, got `object`"),
        ('[{"image_id": 139, "category_id": 1, "score": NaN}]', "Expected a JSON list of objects"),
    ],
)
def test_what_is_no_result_is_refused(write: Write, content: object, told: str) -> None:
    path = write(content)
    with pytest.raises(DataError, match=told) as refusal:
        _read_detections(path, ANNOTATION)
    assert str(path) in str(refusal.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.json cannot be read"):
        _read_detections(tmp_path / "nowhere.json", ANNOTATION)


def test_a_file_of_hard_samples_is_read_before_any_detector_is_loaded(annotated: Any, tmp_path: Path) -> None:
    bench, asked = Bench(Store(tmp_path / "store")), judges([[9, 0, 0]])
    with pytest.raises(DataError, match=r"The detections nowhere\.json cannot be read \(No such file or directory\)\."):
        bench(annotated([[1, 0, 0]]), asked, hard_samples="nowhere.json")
    assert asked["judge[0]"].asked == 0
