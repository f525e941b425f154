"""The drawn birds that are packaged: they can be made again, in the training styles alone."""

from pathlib import Path

import pytest
from PIL import Image, ImageChops

from eyechart.realbirdid.data.registered import packaged_root
from eyechart.samples.files import read_table
from eyechart.toybox.art.styles import TRAINING
from eyechart.toybox.samples import birds_sample
from eyechart.toybox.world import SEED


@pytest.fixture(scope="module")
def remade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("remade")
    birds_sample.write(folder, SEED)
    return folder / birds_sample.FOLDER


@pytest.mark.parametrize("name", ["birds.csv", "taxonomy.csv", "ranges.csv", "LICENSE-google.txt"])
def test_the_drawn_tables_are_made_again_byte_for_byte(remade: Path, name: str) -> None:
    assert (remade / name).read_bytes() == (packaged_root() / "sample-drawn" / name).read_bytes()


def test_the_drawn_pictures_are_made_again(remade: Path) -> None:
    """JPEG decoders of other builds may differ by a shade."""
    for path in sorted((remade / "images").iterdir())[::7]:
        with Image.open(path) as one, Image.open(packaged_root() / "sample-drawn/images" / path.name) as other:
            assert max(most for _, most in ImageChops.difference(one, other).getextrema()) <= 8


def test_drawn_birds_are_in_the_training_styles_and_none_is_under_the_gpl() -> None:
    folder = packaged_root() / "sample-drawn"
    licences = {line["licence"] for line in read_table(folder, "manifest.csv")}
    assert {row["style"] for row in read_table(folder, "birds.csv")} == {*TRAINING}
    assert not any(licence.startswith("GPL") for licence in licences)
    assert all((folder / f"LICENSE-{style}.txt").is_file() for style in TRAINING)
