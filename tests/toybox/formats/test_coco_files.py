"""COCO files: what the format demands, and that they say what was drawn."""

import numpy as np
import pytest

from eyechart.toybox.art.outlines import fill_holes
from eyechart.toybox.art.scenes import box
from eyechart.toybox.art.toy_classes import classes, equivalent_classes, names
from eyechart.toybox.formats import coco_files
from tests.toybox.formats.written import COUNT, Made

pytestmark = pytest.mark.deep


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
