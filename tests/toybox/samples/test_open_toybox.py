"""The art and the packaged pictures: what each style claims to have, and what a changed file meets."""

import csv
import re
import shutil
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.data.images import decode_image
from eyechart.data.labels.class_names import check_unique
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import DataError
from eyechart.samples.files import packaged
from eyechart.toybox.art.scenes import render
from eyechart.toybox.art.shapes import CELL, atlas, styles
from eyechart.toybox.art.styles import HELD_OUT, STYLES, TRAINING
from eyechart.toybox.art.toy_classes import BIRDS, classes, concepts, equivalences, equivalent_classes, names
from eyechart.toybox.formats.shards import encode_image
from eyechart.toybox.samples.open_toybox import open_toybox, pictures, splits
from eyechart.toybox.world import SEED

COMPLETE = pytest.mark.skipif(styles() != tuple(STYLES), reason="the folder of a style was left out of this build")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(packaged("toybox"), tmp_path / "toybox"))


def test_there_are_about_a_hundred_classes_with_names_of_their_own() -> None:
    assert 100 <= len(names()) <= 130
    check_unique(names())


def test_at_least_fifteen_classes_are_birds() -> None:
    assert sum(one.subgroup == BIRDS for one in classes()) >= 15


def test_the_hierarchy_has_two_levels() -> None:
    groups = {one.subgroup: one.group for one in classes()}
    assert all(groups[one.subgroup] == one.group for one in classes())
    assert 1 < len({*groups.values()}) < len(groups) < len(classes())


def test_equivalent_classes_are_pairs_of_one_subgroup() -> None:
    assert len(equivalences()) >= 10
    assert all(classes()[one].subgroup == classes()[two].subgroup for one, two in equivalences())
    dog, face = names().index("dog"), names().index("dog face")
    assert equivalent_classes(dog) == equivalent_classes(face) == {dog, face}


@COMPLETE
@pytest.mark.parametrize("style", TRAINING)
def test_every_training_style_has_every_class(style: str) -> None:
    assert atlas(style).classes == tuple(range(len(names())))


@COMPLETE
def test_every_class_is_in_a_held_out_style() -> None:
    held_out = {label for style in HELD_OUT for label in atlas(style).classes}
    assert held_out == {*range(len(names()))}


@COMPLETE
def test_the_photographs_are_those_that_were_chosen() -> None:
    found = {label: len(sprites) for label, sprites in atlas("cutouts").sprites.items()}
    assert found == {label: len(one.cutouts) for label, one in enumerate(concepts()) if one.cutouts}


@pytest.mark.parametrize("style", styles())
def test_every_picture_of_an_atlas_is_seen_and_fits_its_cell(style: str) -> None:
    for sprite in (sprite for found in atlas(style).sprites.values() for sprite in found):
        assert max(sprite.size) <= CELL
        assert sprite.getchannel("A").getbbox() is not None
        assert np.asarray(sprite.getchannel("A")).mean() > 20


@pytest.mark.parametrize("style", styles())
def test_a_folder_names_its_licence_and_holds_it(style: str) -> None:
    folder = packaged("toybox") / style
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        licences = {line["licence"] for line in csv.DictReader(file)}
    assert licences == {STYLES[style].licence}
    assert (folder / f"LICENSE-{re.sub('-or-later', '', STYLES[style].licence)}.txt").is_file()


def test_the_art_is_small() -> None:
    assert sum(path.stat().st_size for path in packaged("toybox").glob("*/atlas.webp")) < 4_000_000
    assert sum(path.stat().st_size for path in packaged("toybox").rglob("*") if path.is_file()) < 5_000_000


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


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_bytes(b"RIFF")])
def test_a_missing_or_changed_atlas_is_refused(copy: Path, change) -> None:
    change(copy / "google" / "atlas.webp")
    with pytest.raises(DataError, match=r"google/atlas.webp (cannot be read|has changed)"):
        atlas("google", copy)


def test_a_style_may_be_left_out(copy: Path) -> None:
    shutil.rmtree(copy / "google")
    shutil.rmtree(copy / "cutouts", ignore_errors=True)
    assert splits(copy) == ("sample", "sample-noto-v1", "sample-fluent-3d", "sample-scenes")
    assert {row.key.partition("/")[0] for row in open_toybox("sample", copy).index} == {"twitter", "fluent-flat"}


def test_an_unknown_split_names_the_known_ones() -> None:
    with pytest.raises(DataError, match="no split 'train'; it has sample, sample-noto-v1"):
        open_toybox("train")
