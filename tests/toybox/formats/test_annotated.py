"""COCO, LVIS and Cityscapes files: what their formats demand, and that they say what was drawn."""

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from eyechart.toybox.art.backdrops import horizon
from eyechart.toybox.art.outlines import fill_holes
from eyechart.toybox.art.scenes import RenderedScene, box
from eyechart.toybox.art.shapes import styles
from eyechart.toybox.art.styles import TRAINING
from eyechart.toybox.art.toy_classes import classes, equivalent_classes, names
from eyechart.toybox.formats import cityscapes_files, coco_files, lvis_files

pytestmark = pytest.mark.deep

COUNT, SEED = 30, 7
CITYSCAPES = {"sky", "road", "person", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle", "building"}
CITYSCAPES |= {"vegetation", "traffic light", "traffic sign"}


class Made:
    """What was written, and what was rendered for it."""

    def __init__(self, writer: Any, folder: Path, file: str) -> None:
        self.folder = folder
        self.found: list[RenderedScene] = writer.write(folder, SEED, styles(), COUNT)
        self.content = json.loads((folder / file).read_text(encoding="utf-8")) if file else {}

    @property
    def by_image(self) -> dict[int, list[dict[str, Any]]]:
        found = defaultdict(list)
        for one in self.content["annotations"]:
            found[one["image_id"]].append(one)
        return found


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(coco_files, tmp_path_factory.mktemp("coco"), "annotations/instances_val2017.json")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(lvis_files, tmp_path_factory.mktemp("lvis"), "lvis_v1_val.json")


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(cityscapes_files, tmp_path_factory.mktemp("cityscapes"), "")


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


def test_coco_counts_and_boxes_are_those_of_the_pixels(common: Made) -> None:
    for number, picture in enumerate(common.found, 1):
        rows = [one for one in common.by_image[number] if not one["iscrowd"]]
        things = picture.scene.things[picture.scene.crowd :]
        masks = picture.masks[picture.scene.crowd :]
        assert [row["category_id"] - 1 for row in rows] == [thing.label for thing in things]
        assert [tuple(row["bbox"]) for row in rows] == [box(mask) for mask in masks]
        assert [row["area"] for row in rows] == [fill_holes(mask).sum() for mask in masks]


def test_coco_crowds_are_one_annotation_with_run_lengths(common: Made) -> None:
    crowds = [one for one in common.content["annotations"] if one["iscrowd"]]
    assert len(crowds) == COUNT // coco_files.CROWDED
    for one in crowds:
        picture = common.found[one["image_id"] - 1]
        counts, (height, width) = one["segmentation"]["counts"], one["segmentation"]["size"]
        mask = np.repeat(np.arange(len(counts)) % 2 == 1, counts).reshape((height, width), order="F")
        assert np.array_equal(mask, np.any(picture.masks[: picture.scene.crowd], axis=0))
        assert (one["area"], tuple(one["bbox"])) == (mask.sum(), box(mask))


def test_a_crowd_is_of_a_class_of_its_own(common: Made) -> None:
    for picture in common.found:
        crowd = {thing.label for thing in picture.scene.things[: picture.scene.crowd]}
        rest = {thing.label for thing in picture.scene.things[picture.scene.crowd :]}
        assert not {other for label in crowd for other in equivalent_classes(label)} & rest


def test_some_images_are_empty(common: Made) -> None:
    empty = [number for number in range(1, COUNT + 1) if not common.by_image[number]]
    assert empty == [25]


def test_categories_are_the_classes(common: Made) -> None:
    rows = common.content["categories"]
    assert [(row["id"] - 1, row["name"]) for row in rows] == list(enumerate(names()))
    assert {row["supercategory"] for row in rows} == {one.subgroup for one in classes()}


def test_lvis_has_its_own_fields(large: Made) -> None:
    assert all("iscrowd" not in one for one in large.content["annotations"])
    assert all("file_name" not in row for row in large.content["images"])
    keys = {"id", "name", "synset", "synonyms", "def", "frequency", "image_count", "instance_count"}
    assert all({*row} == keys for row in large.content["categories"])
    assert len({row["synset"] for row in large.content["categories"]}) == len(names())


def test_lvis_negative_categories_are_not_in_the_picture(large: Made) -> None:
    for row, picture in zip(large.content["images"], large.found, strict=True):
        negative = {identity - 1 for identity in row["neg_category_ids"]}
        assert len(negative) == lvis_files.NEGATIVES
        assert not negative & {other for label in picture.labels for other in equivalent_classes(label)}


def test_lvis_leaves_things_out_only_where_it_says_so(large: Made) -> None:
    partial = 0
    for row, picture in zip(large.content["images"], large.found, strict=True):
        there = Counter(thing.label + 1 for thing in picture.scene.things)
        there.subtract(one["category_id"] for one in large.by_image[row["id"]])
        assert +there == Counter(row["not_exhaustive_category_ids"])
        partial += len(row["not_exhaustive_category_ids"])
    assert partial > 0


def test_lvis_not_exhaustive_categories_are_positive(large: Made) -> None:
    for row in large.content["images"]:
        assert {*row["not_exhaustive_category_ids"]} <= {one["category_id"] for one in large.by_image[row["id"]]}


def test_lvis_frequencies_are_counted(large: Made) -> None:
    pairs = [(one["category_id"], one["image_id"]) for one in large.content["annotations"]]
    images = Counter(category for category, _ in {*pairs})
    for row in large.content["categories"]:
        assert row["instance_count"] == sum(category == row["id"] for category, _ in pairs)
        assert row["image_count"] == images[row["id"]]
        assert row["frequency"] == ("r" if images[row["id"]] <= 10 else "c")


def test_cityscapes_files_come_in_pairs(city: Made) -> None:
    pictures = {path.name.removesuffix("_leftImg8bit.png") for path in city.folder.glob("leftImg8bit/val/*/*.png")}
    outlines = {path.name.removesuffix("_gtFine_polygons.json") for path in city.folder.glob("gtFine/val/*/*.json")}
    assert pictures == outlines
    assert len(pictures) == COUNT


def test_cityscapes_polygons_lie_inside_and_have_known_labels(city: Made) -> None:
    for path in city.folder.glob("gtFine/val/*/*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        assert {one["label"].removesuffix("group") for one in content["objects"]} <= CITYSCAPES
        points = np.concatenate([one["polygon"] for one in content["objects"]])
        assert points.min() == 0
        assert points.max(axis=0).tolist() == [content["imgWidth"], content["imgHeight"]]


def test_cityscapes_objects_are_what_was_drawn(city: Made) -> None:
    for picture in city.found:
        path = city.folder / f"gtFine/val/{picture.scene.key}_gtFine_polygons.json"
        objects = json.loads(path.read_text(encoding="utf-8"))["objects"]
        things = picture.scene.things[picture.scene.crowd :]
        labels = [classes()[thing.label].concept.cityscapes for thing in things]
        assert [one["label"] for one in objects[2 + bool(picture.scene.crowd) :]] == labels
        assert [one["label"] for one in objects[:2]] == ["sky", "road"]


def test_cityscapes_polygons_cover_the_things(city: Made) -> None:
    for picture in city.found[::5]:
        path = city.folder / f"gtFine/val/{picture.scene.key}_gtFine_polygons.json"
        objects = json.loads(path.read_text(encoding="utf-8"))["objects"][-len(picture.masks) + picture.scene.crowd :]
        for one, mask in zip(objects, picture.masks[picture.scene.crowd :], strict=True):
            assert np.mean(painted(one["polygon"], mask.shape) == fill_holes(mask)) > 0.97


def painted(outline: list[list[int]], shape: tuple[int, ...]) -> np.ndarray:
    canvas = Image.new("1", (4 * shape[1], 4 * shape[0]))
    ImageDraw.Draw(canvas).polygon([(4 * x, 4 * y) for x, y in outline], fill=1)
    return np.asarray(canvas)[2::4, 2::4]


def test_cityscapes_crowds_are_groups(city: Made) -> None:
    crowded = [picture for picture in city.found if picture.scene.crowd]
    assert len(crowded) == COUNT // cityscapes_files.CROWDED
    for picture in crowded:
        path = city.folder / f"gtFine/val/{picture.scene.key}_gtFine_polygons.json"
        label = json.loads(path.read_text(encoding="utf-8"))["objects"][2]["label"]
        assert label.endswith("group") or label not in cityscapes_files.GROUPED


def test_sky_ends_where_the_road_begins(city: Made) -> None:
    picture = city.found[0]
    sky, road = cityscapes_files._polygon_file(picture)["objects"][:2]
    line = horizon(picture.scene.backdrop, picture.scene.height)
    assert max(y for _, y in sky["polygon"]) == min(y for _, y in road["polygon"]) == line


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
