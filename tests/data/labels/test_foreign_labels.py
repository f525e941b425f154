"""Layouts and label files of other tools: they are no classes, and what can be done with them is said."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from eyechart.data.discovery import survey_root
from eyechart.data.splits.open_split import open_split
from eyechart.errors import DataError
from tests.data.opened_folders import opened, refusal

Fill = Callable[..., Path]


@pytest.mark.parametrize(
    "names",
    [
        ("images", "labels"),
        ("JPEGImages", "Annotations"),
        ("images",),
        ("train", "val"),
        ("images", "masks", "x"),
        ("annotations", "val2014"),
        ("train_images", "train_labels"),
        ("val2017",),
        ("data", "labels", "metadata"),
    ],
)
def test_a_layout_is_no_class_folders(fill: Fill, names: Sequence[str]) -> None:
    assert "belong to a layout" in refusal(fill(*(f"{name}/0.png" for name in names)))


def test_fiftyone_has_pictures_in_data_beside_its_labels(fill: Fill) -> None:
    folder = fill("data/1.png", "data/2.png")
    (folder / "labels.json").write_text('{"classes": ["a"], "labels": {"1": 0}}')
    assert "labels.json may have the labels" in refusal(folder)


@pytest.mark.parametrize("names", [("mask", "no_mask"), ("image", "text"), ("data",), ("data", "chart")])
def test_classes_may_have_words_of_layouts(fill: Fill, names: Sequence[str]) -> None:
    assert opened(fill(*(f"{name}/0.png" for name in names))).classes == len(names)


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        ("annotations/instances_default.json", '{"images": [], "categories": []}', "instances_val2017.json"),
        ("instances_val2014.json", '{"images": [], "annotations": []}', "instances_val2017.json"),
        ("lvis_v0.5_val.json", "{}", "lvis_v1_val.json"),
        ("labels.csv", "file,label", "DataFrame"),
        ("metadata.jsonl", "{}", "imagefolder"),
        ("data.yaml", "nc: 2", "YOLO"),
        ("labels.xlsx", "PK", "save it as csv, and read it into a pandas DataFrame"),
        ("Questions.CSV", "image,question,answer", "save it as questions.csv or questions.parquet, which are read"),
    ],
)
def test_a_file_of_labels_beside_flat_pictures_is_named(fill: Fill, name: str, content: str, remedy: str) -> None:
    folder = fill("0.png")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content)
    message = refusal(folder)
    assert f"{folder / name} may have the labels" in message
    assert remedy in message


def test_a_folder_of_no_split_names_the_annotations_in_it(fill: Fill) -> None:
    folder = fill("images/0.png", where="pets")
    (folder / "annotations").mkdir()
    (folder / "annotations" / "instances_default.json").write_text('{"images": [], "categories": []}')
    (split,) = (split for split in survey_root(folder.parent).splits if split.split == "annotations")
    with pytest.raises(DataError, match=r"instances_default.json may have the labels, and is not read here: as a file"):
        open_split(split)
