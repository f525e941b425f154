"""What an encoder with a support split is made of, and which images of the split it uses."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from eyechart.classification.protocols.helpers.support_split import (
    check_same_classes,
    labelled_images,
    support_variant,
)
from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError, SpecError
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec

Make = Callable[..., Dataset]


@pytest.mark.parametrize("kind", ["knn", "linear_probe"])
@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("replay[a.csv]", r"does not encode images\. Use an encoder, such as {}\[timm\[resnet50\]\]\.$"),
        ("support=train", r"has support=train\. Expected benchmark/split, such as imagenet/sample-near\.$"),
    ],
)
def test_what_is_no_encoder_or_no_split_is_refused(kind: str, argument: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence.replace("{}", kind)):
        create_model(parse_spec(f"{kind}[{argument}]"))


def test_images_without_a_label_or_with_an_error_are_not_used(pictures: Make) -> None:
    indices, labels = labelled_images(pictures([2, -1, 0, 1, 1]), {3})
    assert (indices.tolist(), labels.tolist()) == ([0, 2, 4], [2, 0, 1])


def test_the_record_has_the_number_and_the_digest_of_the_images_that_are_used(pictures: Make) -> None:
    whole = pictures([2, 1, 0, 1, 2, 0])
    part = whole.subsample(4, 2)
    rows = [whole.index[part.selected[index]] for index in (0, 2, 3)]
    expected = sha256("".join(f"{row.key}\t{row.sha256}\t{row.label}\n" for row in rows).encode()).hexdigest()
    found = support_variant(part, np.array([0, 2, 3]))
    assert found == {"support_n": "3", "support_sha256": expected[:12]}
    other = pictures([0] * 6).subsample(4, 2)
    assert support_variant(other, np.array([0, 2, 3]))["support_sha256"] != expected[:12]


def split(pictures: Make, *names: str) -> Dataset:
    """A split of classes of these names."""
    return replace(pictures([0, 1]), names=names, classes=len(names) or 3)


@pytest.mark.parametrize("names", [("ant", "cat", "dog"), ("Ant", "cat ", "Dog"), ()])
def test_a_support_split_with_the_same_classes(pictures: Make, names: tuple[str, ...]) -> None:
    check_same_classes(split(pictures, *names), split(pictures, "ant", "cat", "dog"))


@pytest.mark.parametrize("names", [("Dog", "ant", "cat"), ("ant", "cat", "emu"), ("ant", "cat"), ("1", "10", "2")])
def test_a_support_split_whose_numbers_mean_other_classes(pictures: Make, names: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match=f"has the classes {', '.join(names)}, and .* has ant, cat, dog. Use a support"):
        check_same_classes(split(pictures, *names), split(pictures, "ant", "cat", "dog"))
