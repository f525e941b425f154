"""Annotated data sets under a root: which splits there are, and what the toy world's four formats say is there."""

import csv
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import DataError
from eyechart.oodbench.data.annotated_splits import FORMATS
from eyechart.toybox.formats.annotated import write
from tests.oodbench.data.recognised_splits import CITYSCAPES, COCO, LVIS, NUSCENES, TRAIN, found, missing, recognised

Fill = Callable[..., Path]


def test_several_beside_other_splits(fill: Fill) -> None:
    fill("coco", *COCO)
    fill("oodbench/city", *CITYSCAPES)
    fill("oodbench/plain/cat", "1.png")
    root = fill("pets/test/cat", "1.png")
    refs = {str(ref): ref.layout for ref in list_splits(root) if ref.layout not in ("sample", "none")}
    assert refs == {
        "oodbench/coco": "coco",
        "oodbench/city": "cityscapes",
        "oodbench/plain": "folder",
        "pets/test": "folder",
    }


def test_train_without_its_pictures_is_no_split(fill: Fill) -> None:
    root = fill("coco", *COCO, *TRAIN)
    assert (found(root), missing(root)) == ([("coco", "coco", "val")], {})


def test_val_without_its_pictures_is_missing(fill: Fill) -> None:
    root = fill("coco", COCO[0], *TRAIN, "train2017/1.jpg")
    assert found(root) == [("coco-train", "coco", "train")]
    assert "no folder val2017 beside it: unpack or link it there" in missing(root)["coco"]


@pytest.mark.parametrize("names", [("val2017/1.jpg",), ("annotations/captions_val2017.json", "val2017/1.jpg")])
def test_pictures_alone_are_no_annotated_split(fill: Fill, names: tuple[str, ...]) -> None:
    assert recognised(fill("mine", *names)) == []


def test_images_of_lvis_without_annotations_are_no_split(fill: Fill) -> None:
    assert recognised(fill("mine", "lvis_v1_image_info_test_dev.json", "val2017/1.jpg")) == []


def test_lvis_in_its_annotations_folder(fill: Fill) -> None:
    root = fill("lvis", "annotations/lvis_v1_val.json", "annotations/lvis_v1_train.json", "train2017/1.jpg")
    assert found(root) == [("lvis-train", "lvis", "train"), ("lvis", "lvis", "val")]


@pytest.mark.parametrize(
    ("location", "names"),
    [("", ["coco", "lvis"]), ("coco", ["coco", "coco-lvis"]), ("both", ["both-coco", "both-lvis"])],
)
def test_two_formats_in_one_folder(fill: Fill, location: str, names: list[str]) -> None:
    assert [name for name, _, _ in found(fill(location, *COCO, *LVIS))] == names


def test_two_splits_of_one_name(fill: Fill) -> None:
    fill("coco", *COCO)
    with pytest.raises(
        DataError, match=r"oodbench/coco is a second split oodbench/coco beside .*/coco: give the folder"
    ):
        list_splits(fill("oodbench/coco", *LVIS))


def test_the_folders_of_a_data_set_are_no_splits(fill: Fill) -> None:
    root = fill("", *NUSCENES, "sweeps/CAM_FRONT/1.jpg")
    assert [str(ref) for ref in list_splits(root) if ref.layout != "sample"][:-1] == ["oodbench/nuscenes"]


def test_hidden_folders_are_no_splits(fill: Fill) -> None:
    assert [*map(str, list_splits(fill(".mine", *COCO)))] == [*map(str, list_splits())]


def test_discovery_opens_no_file(fill: Fill) -> None:
    assert found(fill("coco", *COCO))  # the file is empty


# --- the toy world ---


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("world")
    write(root / "oodbench", seed=5, number=26)
    return root


@pytest.fixture(scope="module")
def splits(world: Path) -> dict[str, SplitRef]:
    return {ref.split: ref for ref in list_splits(world) if ref.benchmark == "oodbench"}


def truth(world: Path, kind: str) -> list[dict[str, str]]:
    with (world / "oodbench" / kind / "truth.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def counted(found: Dataset) -> dict[tuple[str, str], int]:
    """How often a name is in a picture, by the picture's number and the name."""
    assert found.details is not None
    indices = np.argwhere(found.details.counts).tolist()
    return {
        (found.keys[row][-12:], found.names[column]): int(found.details.counts[row, column]) for row, column in indices
    }


@pytest.fixture(params=FORMATS)
def opened(request: pytest.FixtureRequest, splits: dict[str, SplitRef], tmp_path: Path) -> Dataset:
    return open_split(splits[request.param], tmp_path / "cache")


def test_a_cached_index_is_the_same(opened: Dataset, splits: dict[str, SplitRef], tmp_path: Path) -> None:
    again = open_split(splits[opened.split], tmp_path / "cache")
    assert (again.index, again.details.sha256) == (opened.index, opened.details.sha256)
    assert len([*(tmp_path / "cache").glob("*.json")]) == 1


def test_coco_holds_what_was_drawn(world: Path, splits: dict[str, SplitRef]) -> None:
    drawn = Counter((row["scene"][-12:], row["name"]) for row in truth(world, "coco") if row["crowd"] == "0")
    crowds = {(row["scene"][-12:], row["name"]) for row in truth(world, "coco") if row["crowd"] == "1"}
    found = open_split(splits["coco"])
    assert counted(found) == drawn + Counter(crowds)
    assert {astuple(one) for one in found.details.excluded} == set()
    open_ended = np.argwhere(~found.details.countable).tolist()
    assert {(found.keys[row][-12:], found.names[column]) for row, column in open_ended} == crowds


def test_the_empty_picture_is_there_with_nothing_in_it(splits: dict[str, SplitRef]) -> None:
    found = open_split(splits["coco"])
    assert found.details.known_absent[found.keys.index("val2017/000000000025")].all()


def test_lvis_holds_what_was_drawn_where_it_says_so(world: Path, splits: dict[str, SplitRef]) -> None:
    drawn = Counter((row["scene"][-12:], row["name"]) for row in truth(world, "lvis"))
    found = open_split(splits["lvis"])
    counts, countable = counted(found), found.details.countable
    assert counts.keys() == drawn.keys()
    short = {pair: drawn[pair] - number for pair, number in counts.items() if drawn[pair] != number}
    partly = np.argwhere(found.details.present & ~countable).tolist()
    assert short == {(found.keys[row][-12:], found.names[column]): 1 for row, column in partly} != {}


def test_lvis_knows_its_negatives_alone(splits: dict[str, SplitRef]) -> None:
    found = open_split(splits["lvis"]).details
    assert (found.known_absent.sum(axis=1) == 6).all()
    assert np.array_equal(found.known, found.present | found.known_absent)
