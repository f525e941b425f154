"""COCO's instances in small files of its format, with everything odd that such files hold."""

import os
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any
from unicodedata import normalize

import pytest
from PIL import Image

from eyechart.errors import DataError
from eyechart.oodbench.data import coco
from eyechart.oodbench.data.coco import open_coco
from eyechart.oodbench.data.instances import PublishedFile
from tests.oodbench.data.coco_folder import APPLE, CAR, PERSON, Folder, category, facts, image

OFFICIAL = (
    "person,bicycle,car,motorcycle,airplane,bus,train,truck,boat,traffic light,fire hydrant,stop sign,parking meter,"
    "bench,bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe,backpack,umbrella,handbag,tie,suitcase,frisbee,"
    "skis,snowboard,sports ball,kite,baseball bat,baseball glove,skateboard,surfboard,tennis racket,bottle,wine glass,"
    "cup,fork,knife,spoon,bowl,banana,apple,sandwich,orange,broccoli,carrot,hot dog,pizza,donut,cake,chair,couch,"
    "potted plant,bed,dining table,toilet,tv,laptop,mouse,remote,keyboard,cell phone,microwave,oven,toaster,sink,"
    "refrigerator,book,clock,vase,scissors,teddy bear,hair drier,toothbrush"
)


def test_things_are_counted_by_picture_and_category_id(folder: Folder) -> None:
    found = folder.add(1, CAR).add(1, CAR, (9, 9, 1, 1)).add(3, PERSON).add(3, APPLE).open()
    assert facts(found) == [[0, 2, 0], [0, 0, 0], [1, 0, 1]]
    assert found.details.known.all()
    assert found.details.countable.all()
    assert found.details.excluded == ()


def test_the_data_set(folder: Folder) -> None:
    found = folder.open()
    assert found.keys == ("val2017/000000000001", "val2017/000000000002", "val2017/000000000003")
    assert (found.names, found.classes) == (("person", "car", "Äpfel 🍎"), 3)
    assert (found.details.image_ids, found.details.category_ids) == (("1", "2", "3"), ("1", "3", "52"))
    assert (found.upright, found.expected, found.label_sets) == (False, None, {})
    assert {row.label for row in found.index} == {-1}


def test_pictures_are_read_as_they_are(folder: Folder) -> None:
    found = folder.open()
    data = [data for _, data in found.read(range(3))]
    assert data == [(folder.path / f"{key}.jpg").read_bytes() for key in found.keys]
    assert [row.sha256 for row in found.index] == [sha256(one).hexdigest() for one in data]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_file_changes_nothing(folder: Folder, seed: int) -> None:
    before = folder.add(1, CAR).add(2, APPLE).add(2, APPLE).add(3, iscrowd=1).open()
    for part in (folder.images, folder.categories, folder.things):
        Random(seed).shuffle(part)
    after = folder.open()
    assert (after.fingerprint, after.details.sha256) == (before.fingerprint, before.details.sha256)


def test_an_image_without_annotation_has_nothing(folder: Folder) -> None:
    found = folder.open()
    assert facts(found, "known_absent") == [[1, 1, 1]] * 3


@pytest.mark.parametrize("counts", [[10, 5, 3], "0;2N9"])
def test_a_crowd_is_present_and_not_countable(folder: Folder, counts: Any) -> None:
    found = folder.add(2, CAR, iscrowd=1, segmentation={"counts": counts, "size": [30, 40]}).add(2, CAR).open()
    assert facts(found, "present")[1] == [0, 1, 0]
    assert facts(found, "countable")[1] == [1, 0, 1]
    assert facts(found, "known")[1] == [1, 1, 1]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"where": 17}, "it names an image that is not there"),
        ({"what": 2}, "it names a category that is not there"),
        ({"box": (1, 2, 0, 4)}, "its box or area is empty"),
        ({"box": (1, 2, 3, -4)}, "its box or area is empty"),
        ({"area": 0}, "its box or area is empty"),
        ({"box": (float("nan"), 2, 3, 4)}, "its box or area is empty"),
        ({"box": (1, 2, float("inf"), 4)}, "its box or area is empty"),
        ({"box": (40, 2, 3, 4)}, "its box lies outside its image"),
        ({"box": (1, 30.5, 3, 4)}, "its box lies outside its image"),
        ({"box": (-9, 2, 9, 4)}, "its box lies outside its image"),
        ({"box": (1, -4, 3, 3.5)}, "its box lies outside its image"),
    ],
)
def test_what_cannot_be_counted_is_listed(folder: Folder, left_out: Any, fields: dict[str, Any], why: str) -> None:
    folder.add(1, CAR).add(**fields)
    assert left_out() == [(why, 1, f"annotation 1 of image {fields.get('where', 1)}")]
    assert facts(folder.open()) == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_every_category_in_an_image(folder: Folder) -> None:
    found = folder.add(1, PERSON).add(1, CAR).add(1, APPLE).open()
    assert facts(found, "known_absent")[0] == [0, 0, 0]


def test_pictures_that_are_missing(folder: Folder) -> None:
    for number in (2, 3):
        (folder.path / f"val2017/{number:012}.jpg").unlink()
    message = r"^2 of the 3 pictures .*instances_val2017\.json names .*val2017/000000000002\.jpg: unpack all of val2017"
    with pytest.raises(DataError, match=message):
        folder.open()


@pytest.mark.parametrize("name", ["../secret.jpg", ""])
def test_pictures_that_are_no_files_of_the_folder(folder: Folder, name: str) -> None:
    folder.images[0]["file_name"] = name
    with pytest.raises(DataError, match=r"instances_val2017\.json names the picture '.*', which is no file below"):
        folder.open()


@pytest.mark.parametrize("part", ["images", "categories"])
def test_nothing_to_open(folder: Folder, part: str) -> None:
    getattr(folder, part).clear()
    with pytest.raises(DataError, match=f"has no {part}, expected those of COCO instances"):
        folder.open()


def test_train_has_pictures_of_its_own(folder: Folder) -> None:
    folder.add().open()
    for name in ("val2017", "annotations/instances_val2017.json"):
        (folder.path / name).rename(folder.path / name.replace("val", "train"))
    found = open_coco(folder.path, "oodbench", "mine", part="train")
    assert found.keys[0] == "train2017/000000000001"
    assert facts(found)[0] == [1, 0, 0]


def test_a_changed_picture_of_the_same_size_and_date_is_another(folder: Folder, tmp_path: Path) -> None:
    picture = folder.path / "val2017/000000000001.jpg"
    before, stat = folder.open(cache=tmp_path / "cache"), picture.stat()
    picture.write_bytes(bytes(stat.st_size))
    os.utime(picture, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert folder.open(cache=tmp_path / "cache").fingerprint != before.fingerprint
    assert folder.open().fingerprint != before.fingerprint


def test_the_annotations_are_read_every_time(folder: Folder, tmp_path: Path) -> None:
    assert facts(folder.open(cache=tmp_path))[0] == [0, 0, 0]
    assert facts(folder.add().open(cache=tmp_path))[0] == [1, 0, 0]


@pytest.fixture
def official(folder: Folder) -> Folder:
    folder.categories = [category(number, name) for number, name in enumerate(OFFICIAL.split(","), 1)]
    return folder


@pytest.mark.parametrize("split", ["coco", "COCO"])
def test_coco_itself_has_its_published_numbers(official: Folder, split: str) -> None:
    with pytest.raises(DataError, match=rf"has 3 images, expected the 5,000 of oodbench/{split}: copy it again, or"):
        official.open(split)


def test_coco_itself_has_its_published_annotations(official: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coco, "PUBLISHED", {"val": PublishedFile(3, 1, coco.NAMES)})
    with pytest.raises(DataError, match="has 2 annotations, expected the 1 of oodbench/coco"):
        official.add().add().open("coco")
    official.things.pop()
    assert official.open("coco").expected == 3


def test_a_selection_of_coco_has_another_name(official: Folder) -> None:
    found = official.open("coco-mine")
    assert (found.expected, found.classes) == (None, 80)


def test_other_categories_are_free_to_be_named_coco(folder: Folder) -> None:
    assert folder.open("coco").expected is None


def test_what_is_published() -> None:
    assert {part: (fact.images, fact.annotations) for part, fact in coco.PUBLISHED.items()} == {
        "val": (5_000, 36_781),
        "train": (118_287, 860_001),
    }


@pytest.mark.parametrize("name", ["fish", "Fish", "my-project", "background"])
def test_the_parent_of_others_is_never_known_to_be_absent(folder: Folder, name: str) -> None:
    root = {"id": 0, "name": name, "supercategory": "none"}
    folder.categories = [root, {"id": PERSON, "name": "cod", "supercategory": name}, category(CAR, "car")]
    annotation = folder.add().open().details
    assert annotation.known[0].tolist() == [False, True, True]
    assert [(part.what, part.first) for part in annotation.excluded] == [("category", name)]


def test_a_parent_with_the_name_of_a_class_is_left_out(folder: Folder) -> None:
    root = {"id": 0, "name": "Cod", "supercategory": "none"}
    folder.categories = [root, {"id": PERSON, "name": "cod", "supercategory": "cod"}]
    found = folder.add().open()
    assert (found.names, found.details.known.all(), found.details.excluded[0].first) == (
        ("cod",),
        True,
        "Cod (0)",
    )


def test_a_parent_that_is_annotated_is_a_class(folder: Folder) -> None:
    folder.categories = [category(PERSON, "thing"), category(CAR, "car")]
    assert folder.add().open().details.known.all()


@pytest.mark.parametrize("write", ["a\\{}", ".\\a\\{}", "./a/{}", "val2017/a/{}", "val2017\\a\\{}", '"a/{}"', " a/{} "])
@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
def test_paths_of_other_systems(folder: Folder, write: str, on_disk: str) -> None:
    name = normalize(on_disk, "é.jpg")
    (folder.path / "val2017/a").mkdir()
    Image.new("RGB", (40, 30)).save(folder.path / "val2017/a" / name)
    folder.images = [image(1) | {"file_name": write.format("é.jpg")}]
    assert folder.open().keys == (f"val2017/a/{name.removesuffix('.jpg')}",)


@pytest.mark.parametrize("path", ["C:\\cats\\{}", "/data/upload/1/{}", "http://host/val2017/{}"])
def test_paths_of_other_machines(folder: Folder, path: str) -> None:
    folder.images = [image(number) | {"file_name": path.format(f"{number:012}.jpg")} for number in (1, 2, 3)]
    assert folder.add().open().keys == tuple(f"val2017/{number:012}" for number in (1, 2, 3))


def test_a_path_of_windows_that_is_not_there_is_named_as_it_is_here(folder: Folder) -> None:
    folder.images = [image(1) | {"file_name": "a\\gone.jpg"}]
    with pytest.raises(DataError, match=r"val2017/a/gone\.jpg"):
        folder.open()


def test_one_category_with_underscores(folder: Folder) -> None:
    """Its answers may be wrong, other than those about one class."""
    folder.categories = [category(PERSON, "traffic_light")]
    found = folder.add().open()
    assert found.names == ("traffic light",)
    assert len(found.notes) == 1
    assert "have underscores" in found.notes[0]


@pytest.mark.parametrize("name", ["ignored regions", "void", "DontCare", "empty", "__ignore__"])
def test_a_name_for_no_category_is_never_known_to_be_absent(folder: Folder, name: str) -> None:
    folder.categories = [category(0, name), category(PERSON, "cod")]
    assert folder.add().open().details.known[0].tolist() == [False, True]


@pytest.mark.parametrize("name", ["\ufeffcod", " cod ", "cod\n"])
def test_names_of_categories_without_marks_and_spaces(folder: Folder, name: str) -> None:
    folder.categories = [category(PERSON, name), category(CAR, "car")]
    assert "cod" in folder.add().open().names


def test_a_name_of_a_category_that_is_no_text(folder: Folder) -> None:
    folder.categories = [category(PERSON, "\ud800"), category(CAR, "car")]
    with pytest.raises(DataError, match=r"has the category .*, which is no UTF-8 text"):
        folder.add().open()
