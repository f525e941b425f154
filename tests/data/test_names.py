"""Names that are written in two ways: accents, underscores, case, and what systems write into folders."""

import io
from collections.abc import Callable
from pathlib import Path
from unicodedata import normalize

import pytest
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.discovery import find_split
from eyechart.data.index.sample_keys import class_finder, find_rows
from eyechart.data.labels.label_files import ImageNames, read_labels
from eyechart.data.names import composed, fold_name, space_names
from eyechart.data.splits.open_split import open_split
from eyechart.errors import DataError
from eyechart.realbirdid.data.bird_folder import open_birds

FORMS = ("NFC", "NFD")
Open = Callable[..., Dataset]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Open a split with pictures of these names, each in the Unicode form, and a slices.csv."""

    def split(form: str, *names: str, slices: str = "") -> Dataset:
        for shade, name in enumerate(names):
            path = tmp_path / "pets" / "test" / normalize(form, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            buffer = io.BytesIO()
            Image.new("RGB", (4, 4), (shade, 0, 0)).save(buffer, "PNG")
            path.write_bytes(buffer.getvalue())
        if slices:
            (tmp_path / "pets" / "test" / "slices.csv").write_text(slices, encoding="utf-8")
        return open_split(find_split(tmp_path / "pets" / "test"))

    return split


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", FORMS)
def test_keys_in_another_unicode_form(opened: Open, tmp_path: Path, form: str, other: str) -> None:
    key = normalize(other, "rot/Müller.png")
    found = opened(form, "rot/Müller.png", "blau/a.png", slices=f"key,light\n{key},night\n")
    row = next(index for index, name in enumerate(found.keys) if "ller" in name)
    assert found.slices[0].codes[row] == 0
    assert find_rows(found, [key]).tolist() == find_rows(found, [key.partition("/")[2]]).tolist() == [row]
    (tmp_path / "labels.csv").write_text(f"file,labels\n{key},1\n", encoding="utf-8")
    assert ImageNames(found.index).match(read_labels(tmp_path / "labels.csv"))[row] == 0


def test_two_rows_about_one_image(opened: Open) -> None:
    keys = "\n".join(f"{normalize(form, 'rot/Müller.png')},night" for form in FORMS)
    with pytest.raises(DataError, match="remove or rename one of the two"):
        opened("NFC", "rot/Müller.png", "blau/a.png", slices=f"key,light\n{keys}\n")


def test_names_that_two_files_share_are_found_as_they_are_written(opened: Open) -> None:
    opened("NFC", "rot/Müller.png")
    found = opened("NFD", "rot/Müller.png", "blau/a.png")
    keys = [normalize(form, "rot/Müller.png") for form in FORMS]
    assert [found.keys[row] for row in find_rows(found, keys).tolist()] == keys
    assert not composed(keys)


@pytest.mark.parametrize("form", FORMS)
def test_lines_of_classnames_in_another_unicode_form(opened: Open, tmp_path: Path, form: str) -> None:
    opened(form, "Äpfel/0.png", "Birnen/0.png")
    (tmp_path / "pets" / "classnames.txt").write_text("Birnen\nÄpfel\n", encoding="utf-8")
    found = opened(form, "Äpfel/0.png", "Birnen/0.png")
    folders = [fold_name(key.partition("/")[0]) for key in found.keys]
    assert [fold_name(found.names[row.label]) for row in found.index] == folders


@pytest.mark.parametrize("answer", ["dog face", "Dog_Face", " dog  face ", "1"])
def test_answers_that_name_a_class(answer: str) -> None:
    find = class_finder(("cat", "dog face"), 2)
    assert (find(answer), find("dogface")) == (1, -1)


def test_answers_where_two_names_differ_in_underscores() -> None:
    find = class_finder(("dog face", "dog_face"), 2)
    assert [find(name) for name in ("dog face", "dog_face")] == [0, 1]


def test_names_that_would_be_equal_with_spaces_stay() -> None:
    assert space_names(["a_b", "a b"])[0] == ("a_b", "a b")
    assert space_names(["_", "a__b"])[0] == ("_", "a b")


def test_species_with_underscores(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "taxonomy.csv").write_text("species,genus,common_name\nParus_major,Parus,Great_Tit\n")
    (tmp_path / "birds.csv").write_text(
        "image,observation_id,species,genus,answerable,reason,latitude,longitude,candidates\n"
        "a.png,1,Parus_major,Parus,1,,,,Parus major;Parus_major\n"
    )
    found = open_birds(tmp_path, "realbirdid", "test")
    assert found.names == ("Parus major",)
    assert found.details is not None
    assert (found.details.taxonomy.common, found.details.candidates.tolist()) == (("Great Tit",), [0])
