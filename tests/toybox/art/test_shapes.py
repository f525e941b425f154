"""The art: what each style claims to have, and what a changed file meets."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.errors import DataError
from eyechart.samples.files import packaged, write_checksums, write_table
from eyechart.toybox.art.shapes import CELL, COLUMNS, atlas, styles
from eyechart.toybox.art.styles import HELD_OUT, STYLES, TRAINING
from eyechart.toybox.art.toy_classes import concepts, names
from tests.toybox.complete import COMPLETE
from toybox.collect import SPRITES
from toybox.collect import atlas as made


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


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_bytes(b"RIFF")])
def test_a_missing_or_changed_atlas_is_refused(copy: Path, change) -> None:
    change(copy / "google" / "atlas.webp")
    with pytest.raises(DataError, match=r"google/atlas.webp (cannot be read|has changed)"):
        atlas("google", copy)


@pytest.mark.deep
def test_an_atlas_is_read_as_it_was_made(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    sizes = [(5 + number, 60 - number) for number in range(COLUMNS + 2)]
    images = [Image.fromarray(random.integers(1, 256, (*size, 4), np.uint8)) for size in sizes]
    for image in images:
        image.putalpha(255)
    data, table = made([(number // 2, (f"{number}.png", b"", image)) for number, image in enumerate(images)])
    (tmp_path / "style").mkdir()
    (tmp_path / "style/atlas.webp").write_bytes(data)
    write_table(tmp_path / "style/sprites.csv", SPRITES, table)
    write_checksums(tmp_path / "style")
    read = [sprite for found in atlas("style", tmp_path).sprites.values() for sprite in found]
    assert all(np.array_equal(one, two) for one, two in zip(images, read, strict=True))
