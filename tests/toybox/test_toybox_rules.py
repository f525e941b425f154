"""How the toy world meets the rest: its own names and equivalences, and pictures that are cut to fit an atlas."""

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from eyechart.data.readers.imagenet_sample import open_sample
from eyechart.data.readers.webdataset_shards import open_shards
from eyechart.errors import DataError
from eyechart.evaluation.evaluate import make_label_policy, resolve_class_names
from eyechart.evaluation.settings import Case, Settings
from eyechart.models.spec import parse_spec
from eyechart.toybox.art.shapes import CELL
from eyechart.toybox.art.toy_classes import equivalences, names
from eyechart.toybox.formats import shards
from eyechart.toybox.samples.open_toybox import open_toybox
from toybox.collect import fit_to_cell


@pytest.fixture
def settings(make_run) -> Settings:
    found: Settings = make_run.settings(Case("toybox", "sample", parse_spec("conse[]"), "zero_shot"), None)
    return found


def test_the_pairs_are_its_own(settings: Settings) -> None:
    assert make_label_policy(settings, open_toybox("sample")).pairs == equivalences()


def test_pairs_can_be_left_out(settings: Settings) -> None:
    assert make_label_policy(replace(settings, equivalences="none"), open_toybox("sample")).pairs == ()


def test_imagenet_keeps_the_published_pairs(settings: Settings) -> None:
    assert len(make_label_policy(settings, open_sample("sample")).pairs) == 12


@pytest.mark.parametrize("asked", ["mill", "openai", "kisel"])
def test_names_of_imagenet_are_for_imagenet(settings: Settings, asked: str) -> None:
    assert resolve_class_names(open_toybox("sample"), asked) == (names(), "split")


def test_names_of_a_file_are_taken(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("one\ntwo\n", encoding="utf-8")
    assert resolve_class_names(open_toybox("sample"), str(path))[0] == ("one", "two")


@pytest.fixture
def split(tmp_path: Path) -> Path:
    found = shards.singles(1, "val", ("google",), 1)
    shards.write_split(tmp_path / "toybox/val", shards.samples([next(found), next(found)], several=False))
    (tmp_path / "toybox/classnames.txt").write_text("cat\ndog\n", encoding="utf-8")
    return tmp_path / "toybox"


def test_pairs_lie_beside_the_names_of_shards(split: Path) -> None:
    assert open_shards(split / "val", "toybox", "val").equivalences == ()
    (split / "equivalences.csv").write_text("a,b\n0,1\n", encoding="utf-8")
    assert open_shards(split / "val", "toybox", "val").equivalences == ((0, 1),)


def test_pairs_of_classes_that_are_not_there_are_refused(split: Path) -> None:
    (split / "equivalences.csv").write_text("a,b\n0,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"equivalences.csv, line 2 has the class 2, expected 0 to 1"):
        open_shards(split / "val", "toybox", "val")


def test_pictures_are_cropped_and_never_made_larger() -> None:
    image = Image.new("RGBA", (400, 400))
    image.paste("red", (10, 20, 40, 80))
    assert fit_to_cell(image).size == (30, 60)
    image.paste("red", (10, 20, 300, 165))
    assert fit_to_cell(image).size == (CELL, CELL // 2)
