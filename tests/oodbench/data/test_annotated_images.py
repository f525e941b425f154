"""Files of annotations that cannot be read, and ids, names and pictures that are there twice."""

import gzip
from collections.abc import Callable

import pytest

from eyechart.errors import DataError, VocabularyError
from eyechart.oodbench.data.coco import open_coco
from tests.oodbench.data.coco_folder import Folder, category


def test_a_byte_order_mark_is_no_part_of_a_file(folder: Folder) -> None:
    expected = folder.add().open().names
    folder.write("\ufeff" + (folder.path / "annotations/instances_val2017.json").read_text(encoding="utf-8"))
    assert open_coco(folder.path, "oodbench", "mine").names == expected


@pytest.mark.parametrize("text", ["", "{", '{"images": []}', "[]", '{"images": NaN}'])
def test_a_file_that_is_no_annotation(folder: Folder, text: str) -> None:
    folder.write(text)
    with pytest.raises(DataError, match=r"instances_val2017\.json is no file of COCO instances"):
        open_coco(folder.path, "oodbench", "mine")


def test_a_file_that_is_not_there(folder: Folder) -> None:
    with pytest.raises(DataError, match=r"instances_train2017\.json cannot be read"):
        open_coco(folder.path, "oodbench", "mine", part="train")


@pytest.mark.parametrize(
    ("change", "message"),
    [(gzip.compress, "is compressed with gzip"), (lambda _: b"version https://git-lfs", "is a pointer of Git LFS")],
)
def test_a_file_that_is_compressed_or_a_pointer(folder: Folder, change: Callable[[bytes], bytes], message: str) -> None:
    folder.add().open()
    path = folder.path / "annotations/instances_val2017.json"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DataError, match=rf"instances_val2017.json {message}"):
        open_coco(folder.path, "oodbench", "mine")


@pytest.mark.parametrize("part", ["images", "categories"])
def test_equal_ids(folder: Folder, part: str) -> None:
    getattr(folder, part)[0]["id"] = getattr(folder, part)[1]["id"]
    with pytest.raises(DataError, match=f"has two {part} with the id 1: remove or renumber"):
        folder.open()


@pytest.mark.parametrize("name", ["Person", " person"])
def test_names_equal_but_for_case(folder: Folder, name: str) -> None:
    folder.categories.append(category(90, name))
    with pytest.raises(VocabularyError, match=rf"Classes 0 \('person'\) and 3 \('{name.strip()}'\) have one name"):
        folder.open()


def test_two_images_of_one_picture(folder: Folder) -> None:
    folder.images[0]["file_name"] = folder.images[1]["file_name"]
    with pytest.raises(DataError, match="two samples with the key val2017/000000000001"):
        folder.open()
