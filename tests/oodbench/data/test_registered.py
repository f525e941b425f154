"""Tests of `eyechart.oodbench.data.registered`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import DataError
from eyechart.oodbench.data.annotated_splits import FORMATS
from tests.oodbench.data.recognised_splits import CITYSCAPES, COCO, LVIS, NUSCENES, TRAIN, found, missing

Fill = Callable[..., Path]
EVERY = {"coco": COCO, "lvis": LVIS, "nuscenes": NUSCENES, "cityscapes": CITYSCAPES}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("location", "name"), [("", ""), ("mine", "mine"), ("oodbench/mine", "mine")])
def test_every_format_is_found_at_every_place(fill: Fill, kind: str, location: str, name: str) -> None:
    root = fill(location, *EVERY[kind])
    assert found(root) == [(name or kind, kind, "val")]
    plain = [(str(ref), ref.layout, ref.location) for ref in list_splits(root) if ref.layout not in ("sample", "none")]
    assert plain == [(f"oodbench/{name or kind}", kind, str(root / location))]


def test_val_has_the_name_and_train_a_longer_one(fill: Fill) -> None:
    root = fill("coco", *COCO, *TRAIN, "train2017/1.jpg")
    assert found(root) == [("coco-train", "coco", "train"), ("coco", "coco", "val")]


def test_a_part_alone_has_the_name(fill: Fill) -> None:
    assert found(fill("mine", *TRAIN, "train2017/1.jpg")) == [("mine", "coco", "train")]


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (COCO[:1], "has annotations/instances_val2017.json and no folder val2017 beside it"),
        (LVIS[:1], "has lvis_v1_val.json and no folder val2017 or train2017 beside it"),
        (NUSCENES[:1], "has v1.0-mini/sample_data.json and no folder samples beside it"),
        (CITYSCAPES[:1], "has gtFine/ and no folder leftImg8bit beside it"),
        (CITYSCAPES[1:], "has leftImg8bit/ and no folder gtFine beside it"),
    ],
)
def test_half_a_data_set_says_what_is_missing(fill: Fill, names: tuple[str, ...], sentence: str) -> None:
    root = fill("mine", *names)
    assert sentence in missing(root)["mine"]
    (ref,) = [ref for ref in list_splits(root) if str(ref) == "oodbench/mine"]
    with pytest.raises(DataError, match="unpack or link it there"):
        open_split(ref)
