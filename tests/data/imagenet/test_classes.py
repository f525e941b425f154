"""The classes of ImageNet: labels and order of the validation files, subsets, and which splits have them."""

from collections.abc import Callable
from typing import Any

import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.imagenet.classes import has_imagenet_classes, subset, val_labels, val_order
from eyechart.data.labels.class_names import load_class_names, synsets

Pictures = Callable[..., Dataset]
OWN = tuple(f"sp{index:04d}" for index in range(1000))


def test_all_validation_labels_are_there() -> None:
    assert len(val_labels()) == 50_000
    assert {*val_labels().values()} == {*range(1000)}


def test_order_of_the_validation_images() -> None:
    labels = val_labels()
    by_class = sorted(labels, key=lambda file: (labels[file], file))
    assert val_order([*labels.values()]) == (*labels,)
    assert val_order(sorted(labels.values())) == (*by_class,)
    assert val_order([0, *labels.values()][:50_000]) is None
    assert val_order([65]) is None


@pytest.mark.parametrize("letter", ["a", "r"])
def test_subsets_of_classes(letter: str) -> None:
    assert len(subset(letter)) == 200
    assert [*subset(letter)] == sorted({*subset(letter)})


@pytest.mark.parametrize(
    ("facts", "imagenets"),
    [
        ({"classes": 1000}, True),
        ({"classes": 1000, "names": load_class_names("openai").names}, True),
        ({"classes": 1000, "names": synsets()}, True),
        ({"classes": 1000, "names": tuple(map(str, range(1000)))}, True),
        ({"classes": 1000, "names": OWN}, False),
        ({"classes": 1000, "names": load_class_names("mill").names[::-1]}, False),
        ({"classes": 999}, False),
    ],
)
def test_which_vocabulary_is_imagenets(pictures: Pictures, facts: dict[str, Any], imagenets: bool) -> None:
    assert has_imagenet_classes(pictures([0], **facts)) == imagenets
