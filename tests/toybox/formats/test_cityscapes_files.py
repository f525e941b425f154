"""Cityscapes files: what the format demands, and that they say what was drawn."""

import json

import numpy as np
import pytest
from PIL import Image, ImageDraw

from eyechart.toybox.art.backdrops import horizon
from eyechart.toybox.art.outlines import fill_holes
from eyechart.toybox.art.toy_classes import classes
from eyechart.toybox.formats import cityscapes_files
from tests.toybox.formats.written import COUNT, Made

pytestmark = pytest.mark.deep
CITYSCAPES = {"sky", "road", "person", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle", "building"}
CITYSCAPES |= {"vegetation", "traffic light", "traffic sign"}


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(cityscapes_files, tmp_path_factory.mktemp("cityscapes"), "")


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
    path = city.folder / f"gtFine/val/{picture.scene.key}_gtFine_polygons.json"
    sky, road = json.loads(path.read_text(encoding="utf-8"))["objects"][:2]
    line = horizon(picture.scene.backdrop, picture.scene.height)
    assert max(y for _, y in sky["polygon"]) == min(y for _, y in road["polygon"]) == line
