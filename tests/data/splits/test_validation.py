"""Tests of `eyechart.data.splits.validation`."""

import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.imagenet.classes import val_labels
from eyechart.data.index.file_index import IndexEntry, build_dataset
from eyechart.data.splits.validation import identify_validation_images

pytestmark = pytest.mark.deep


@pytest.fixture(params=["files", "classes"])
def nameless(request: pytest.FixtureRequest) -> Dataset:
    """All validation images as shards hold them, in both known orders."""
    labels = [*val_labels().values()] if request.param == "files" else sorted(val_labels().values())
    entries = [
        IndexEntry(f"s{number:07d}", f"s{number:07d}", "", "0.tar", label=label) for number, label in enumerate(labels)
    ]
    return build_dataset("val", "imagenet", "val", entries, classes=1000)


def test_validation_images_of_shards_get_their_files_and_real(nameless: Dataset) -> None:
    found = identify_validation_images(nameless)
    assert all(val_labels()[row.file] == row.label for row in found.index)
    assert {row.file for row in found.index} == {*val_labels()}
    assert found.keys == nameless.keys


def test_the_original_labels_score_under_real_as_published(nameless: Dataset) -> None:
    found = identify_validation_images(nameless).label_sets
    right = (found["ReaL"].labels == found["ImGT"].labels).any(axis=1)
    labelled = (found["ReaL"].labels >= 0).any(axis=1)
    assert found["ReaL"].annotated.all()
    assert right.sum() / labelled.sum() == pytest.approx(0.9002, abs=5e-5)  # Beyer et al. 2020
