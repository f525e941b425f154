"""LVIS files: their own fields, what is known to be absent, and what is left out."""

from collections import Counter

import pytest

from eyechart.toybox.art.toy_classes import equivalent_classes, names
from eyechart.toybox.formats import lvis_files
from tests.toybox.formats.written import Made

pytestmark = pytest.mark.deep


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
