"""The packaged pictures of the toy world: what they show, that the seed draws them, and what a changed file meets."""

import shutil
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.data.images import decode_image
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import DataError
from eyechart.samples.files import packaged
from eyechart.toybox.art.scenes import render
from eyechart.toybox.art.shapes import styles
from eyechart.toybox.art.toy_classes import equivalences, names
from eyechart.toybox.formats.shards import encode_image
from eyechart.toybox.samples.open_toybox import open_toybox, pictures, splits
from eyechart.toybox.world import SEED
from tests.toybox.complete import COMPLETE


@COMPLETE
def test_splits_have_their_sizes() -> None:
    sizes = {split: len(open_toybox(split)) for split in splits()}
    assert sizes == {
        "sample": 123,
        "sample-noto-v1": 108,
        "sample-fluent-3d": 123,
        "sample-cutouts": 54,
        "sample-scenes": 120,
    }


def test_a_split_opens_by_its_name_with_its_own_vocabulary() -> None:
    (ref,) = [ref for ref in list_splits() if str(ref) == "toybox/sample-scenes"]
    found = open_split(ref)
    assert (found.names, found.classes, found.equivalences) == (names(), len(names()), equivalences())
    assert found.expected == len(found) == len({*found.keys})


def test_the_main_thing_is_among_the_labels() -> None:
    truths = open_toybox("sample-scenes").label_sets
    single, several = truths["original"].labels, truths["multilabel"].labels
    assert (several == single).any(axis=1).all()
    assert ((several >= 0).sum(axis=1) > 1).any()


@COMPLETE
def test_the_sample_shows_every_class_once() -> None:
    assert sorted(row.label for row in open_toybox("sample").index) == list(range(len(names())))


@pytest.mark.deep
@pytest.mark.parametrize("style", styles())
def test_the_packaged_pictures_are_those_that_the_seed_draws(style: str) -> None:
    folder = packaged("toybox") / style / "pictures"
    for _, scene in list(pictures(SEED, style))[::9]:
        with Image.open(BytesIO(encode_image(render(scene).image))) as image:
            drawn = np.asarray(image).astype(int)
        with Image.open(folder / f"{scene.key.partition('/')[2]}.webp") as kept:
            assert np.abs(np.asarray(kept).astype(int) - drawn).mean() < 1  # another encoder may write other bytes


@pytest.mark.deep
def test_labels_are_those_of_what_was_drawn() -> None:
    found = {row.key: row.label for split in splits() for row in open_toybox(split).index}
    drawn = {scene.key: scene.things[scene.main].label for style in styles() for _, scene in pictures(SEED, style)}
    assert found == drawn


def test_pictures_can_be_decoded() -> None:
    dataset = open_toybox("sample")
    assert {decode_image(data, str(index)).size for index, data in dataset.read(range(9))} == {(96, 96)}


@pytest.mark.parametrize("name", ["sha256.txt", "pictures.csv", "pictures/000.webp"])
def test_a_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / "google" / name).unlink()
    with pytest.raises(DataError, match=rf"google/{name} cannot be read.*Install eyechart again"):
        open_toybox("sample", copy)


@pytest.mark.parametrize("name", ["pictures.csv", "pictures/000.webp"])
def test_a_changed_file_is_refused(copy: Path, name: str) -> None:
    with (copy / "google" / name).open("ab") as file:
        file.write(b"x")
    with pytest.raises(DataError, match=rf"google/{name} has changed: its sha256 is"):
        open_toybox("sample", copy)


def test_a_style_may_be_left_out(copy: Path) -> None:
    shutil.rmtree(copy / "google")
    shutil.rmtree(copy / "cutouts", ignore_errors=True)
    assert splits(copy) == ("sample", "sample-noto-v1", "sample-fluent-3d", "sample-scenes")
    assert {row.key.partition("/")[0] for row in open_toybox("sample", copy).index} == {"twitter", "fluent-flat"}


def test_an_unknown_split_names_the_known_ones() -> None:
    with pytest.raises(DataError, match="no split 'train'; it has sample, sample-noto-v1"):
        open_toybox("train")
