"""Attributes as slices: measured once, cached by the content of images, and grouped by their correlation."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.data.attributes import attribute_slices
from eyechart.data.attributes.attribute_slices import add_attributes, attribute_values
from eyechart.data.dataset.dataset import Dataset, SliceVariable
from eyechart.data.splits.open_split import open_split
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import DataError
from eyechart.oodbench.data.annotation import Annotation


@pytest.fixture
def split(tmp_path: Path) -> Dataset:
    """Forty grey images of two classes, each brighter than the one before; four are larger."""
    for index in range(40):
        path = tmp_path / "pets" / ("cat", "dog")[index % 2] / f"{index:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (30 if 18 <= index < 22 else 20, 20), 6 * index).save(path)
    return open_split(SplitRef("pets", "test", "folder", str(tmp_path / "pets")))


def order(dataset: Dataset) -> Any:
    """The number in the name of each image."""
    return np.array([int(Path(row.key).stem) for row in dataset.index])


def test_attributes_are_variables_that_are_cut_at_quarters(split: Dataset) -> None:
    variables = {variable.name: variable for variable in add_attributes(split, None).slices}
    assert {*variables} == {"size", "aspect", "brightness"}  # all others are constant, and a PNG has no JPEG quality
    brightness = variables["brightness"]
    assert brightness.codes.tolist() == (order(split) // 10).tolist()
    assert brightness.values == ("up to 0.229", "0.229 to 0.459", "0.459 to 0.688", "above 0.688")
    assert variables["size"].values == ("up to 20", "above 20")
    assert (variables["size"].group, brightness.group) == ("size, aspect", "brightness")


def test_a_limited_split_has_attributes_of_its_images_alone(split: Dataset) -> None:
    some = split.subsample(35, seed=0)
    brightness = next(part for part in add_attributes(some, None).slices if part.name == "brightness")
    assert (brightness.codes >= 0).nonzero()[0].tolist() == [*some.selected]
    few = add_attributes(split.subsample(20, seed=0), None)
    assert few.slices == ()


def test_an_image_is_measured_once_whatever_its_name_and_split(
    split: Dataset, tmp_path: Path, monkeypatch: Any
) -> None:
    measured = []
    real = attribute_slices.measure_image
    monkeypatch.setattr(attribute_slices, "measure_image", lambda data: measured.append(data) or real(data))
    cache = tmp_path / "index"
    first = attribute_values(split.subsample(10, seed=0), cache)
    assert len(measured) == 10
    whole = attribute_values(split, cache)
    assert len(measured) == 40
    again = attribute_values(replace(split, split="other"), cache)
    assert len(measured) == 40
    assert again.keys() == whole.keys() == first.keys()
    assert all(np.array_equal(again[name], whole[name], equal_nan=True) for name in whole)
    (file, *_) = sorted((cache / attribute_slices.FOLDER).glob("*.json"))
    file.write_bytes(b"damaged")
    attribute_values(split, cache)
    assert 40 < len(measured) < 80


def test_a_store_that_cannot_be_written_is_no_obstacle(split: Dataset, tmp_path: Path) -> None:
    cache = tmp_path / "index"
    cache.write_text("a file instead of the folder, which nobody can write into, not even the superuser")
    assert len(attribute_values(split, cache)["size"]) == 40


def test_the_number_of_objects_is_that_of_the_annotation(split: Dataset) -> None:
    counts = np.stack([order(split), np.ones(40, int)], axis=1).astype(np.int32)
    known = np.ones((40, 2), bool)
    annotated = replace(split, details=Annotation(counts, known, known, tuple(map(str, range(40))), ("1", "2")))
    assert attribute_values(annotated, None)["objects"].tolist() == (order(split) + 1).tolist()
    variables = {variable.name: variable.group for variable in add_attributes(annotated, None).slices}
    assert variables["objects"] == "brightness, objects"


def test_a_column_of_the_user_with_the_name_of_an_attribute_is_refused(split: Dataset) -> None:
    own = SliceVariable("noise", ("a",), np.zeros(40, np.int64))
    with pytest.raises(DataError, match=r"slices.csv of pets/test has the column 'noise', which is also an attribute"):
        add_attributes(replace(split, slices=(own,)), None)
