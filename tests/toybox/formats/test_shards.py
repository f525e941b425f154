"""Shards: they open as a split each, with every class once and no picture twice."""

from collections import Counter
from pathlib import Path

import pytest

from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.toybox.art.shapes import atlas
from eyechart.toybox.art.toy_classes import equivalences, names


@pytest.fixture(scope="module")
def opened(small_world: Path):
    refs = [ref for ref in list_splits(small_world) if ref.benchmark == "toybox" and ref.layout == "shards"]
    return {ref.split: open_split(ref) for ref in refs}


def test_every_split_opens_as_shards(opened) -> None:
    held_out = ["cutouts", "fluent-3d", "noto-v1"]
    assert sorted(opened) == sorted(
        [*held_out, *(f"scenes-{name}" for name in (*held_out, "train", "val")), "train", "val"]
    )
    assert all(found.names == names() and found.equivalences == equivalences() for found in opened.values())


def test_splits_have_every_class_of_their_style_once(opened) -> None:
    assert Counter(row.label for row in opened["noto-v1"].index) == Counter(atlas("noto-v1").classes)
    assert {*Counter(row.label for row in opened["train"].index).values()} == {3}


def test_no_picture_of_training_comes_again(opened) -> None:
    hashes = [row.sha256 for found in opened.values() for row in found.index]
    assert len({*hashes}) == len(hashes)


def test_scenes_have_several_labels(opened) -> None:
    labels = opened["scenes-train"].label_sets["multilabel"].labels
    assert (labels[:, 0] >= 0).all()
    assert labels.shape[1] > 1
