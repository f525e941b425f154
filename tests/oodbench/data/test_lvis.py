"""LVIS v1 in small files of its format: somebody looked for some categories of an image, and for no other."""

import json
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import fingerprint
from eyechart.errors import DataError, VocabularyError
from eyechart.oodbench.data import lvis
from eyechart.oodbench.data.instances import PublishedFile
from eyechart.oodbench.data.lvis import annotation_file, open_lvis

CAT, BAT, BOW, SKI = 1, 2, 3, 4
NAMES = ("alley_cat", "bat_(animal)", "bow-tie", "après-ski_boot")
PLACES = ("train2017/000000000007.jpg", "val2017/000000000005.jpg", "val2017/000000000009.jpg")


def image(location: str, **more: Any) -> dict[str, Any]:
    """An image as v1 has it: without file_name."""
    url = f"http://images.cocodataset.org/{location}"
    fields = {"id": int(location[-6:-4]), "coco_url": url, "width": 40, "height": 30, "license": 1}
    return fields | {"neg_category_ids": [], "not_exhaustive_category_ids": []} | more


def category(identity: int, name: str) -> dict[str, Any]:
    return {
        "id": identity,
        "name": name,
        "synset": f"{name}.n.01",
        "frequency": "r",
        "image_count": 0,
        "def": "a thing",
    }


@dataclass
class Folder:
    """A folder of LVIS with three pictures, whose lists of categories are set by `look`."""

    path: Path
    ids: Any = field(default_factory=count)
    images: list[dict[str, Any]] = field(default_factory=lambda: [image(index) for index in reversed(PLACES)])
    categories: list[dict[str, Any]] = field(default_factory=lambda: [category(*pair) for pair in enumerate(NAMES, 1)])
    things: list[dict[str, Any]] = field(default_factory=list)

    def add(self, where: int, what: int, box: tuple[float, ...] = (1, 2, 3, 4)) -> "Folder":
        fields = {"image_id": where, "category_id": what, "bbox": box, "area": 5.5, "id": next(self.ids)}
        self.things.append(fields | {"segmentation": [[1.0, 2, 4, 2, 4, 6]]})
        return self

    def look(self, where: int, negative: tuple[int, ...] = (), partly: tuple[int, ...] = ()) -> "Folder":
        (found,) = [one for one in self.images if one["id"] == where]
        found.update(neg_category_ids=negative, not_exhaustive_category_ids=partly)
        return self

    def open(self, split: str = "mine", inner: str = "") -> Dataset:
        content = {"images": self.images, "annotations": self.things, "categories": self.categories}
        (self.path / inner).mkdir(exist_ok=True)
        (self.path / inner / "lvis_v1_val.json").write_text(json.dumps({"info": {}} | content), encoding="utf-8")
        return open_lvis(self.path, "oodbench", split)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    for index in PLACES:
        (tmp_path / index).parent.mkdir(exist_ok=True)
        Image.new("RGB", (40, 30)).save(tmp_path / index)
    return Folder(tmp_path)


def facts(found: Dataset, name: str = "counts") -> list[list[int]]:
    table: list[list[int]] = getattr(found.details, name).astype(int).tolist()
    return table


def listed(found: Dataset) -> list[tuple[str, str, int, str]]:
    return [(one.what, one.why, one.count, one.first) for one in found.details.excluded] if found.details else []


def test_the_url_tells_the_folder_of_a_picture(folder: Folder) -> None:
    found = folder.open()
    assert [f"{key}.jpg" for key in found.keys] == [*PLACES]
    assert found.details.image_ids == ("7", "5", "9")


def test_an_underscore_is_a_space(folder: Folder) -> None:
    assert folder.open().names == ("alley cat", "bat (animal)", "bow-tie", "après-ski boot")


def test_names_equal_but_for_the_underscore(folder: Folder) -> None:
    folder.categories.append(category(5, "Alley cat"))
    with pytest.raises(VocabularyError, match="have one name"):
        folder.open()


def test_only_annotated_and_negative_categories_are_known(folder: Folder) -> None:
    found = folder.add(7, BAT).add(7, BAT, (5, 5, 5, 5)).look(7, negative=(SKI,)).look(5, negative=(CAT, BOW)).open()
    assert facts(found) == [[0, 2, 0, 0], [0] * 4, [0] * 4]
    assert facts(found, "known") == [[0, 1, 0, 1], [1, 0, 1, 0], [0] * 4]
    assert facts(found, "known_absent") == [[0, 0, 0, 1], [1, 0, 1, 0], [0] * 4]
    assert facts(found, "countable") == facts(found, "known")


def test_categories_not_fully_annotated_are_not_countable(folder: Folder) -> None:
    found = folder.add(7, BAT).add(7, CAT, (5, 5, 5, 5)).look(7, partly=(BAT,)).open()
    assert facts(found, "known")[0] == [1, 1, 0, 0]
    assert facts(found, "countable")[0] == [1, 0, 0, 0]


def test_a_category_said_to_be_partly_annotated_is_not_absent(folder: Folder) -> None:
    found = folder.look(7, negative=(BAT, CAT), partly=(BAT, BOW)).open()
    assert facts(found, "known")[0] == [1, 0, 0, 0]


def test_a_negative_category_that_is_annotated_is_there(folder: Folder) -> None:
    found = folder.add(5, BOW).look(5, negative=(BOW,)).open()
    assert listed(found) == [("negative category", "it is annotated in the same image", 1, "category 3 of image 5")]
    assert facts(found, "known")[1] == facts(found)[1] == [0, 0, 1, 0]


def test_lists_that_name_no_category(folder: Folder) -> None:
    found = folder.look(7, (8, 9), (8,)).look(5, (CAT, 9)).open()
    assert listed(found) == [
        ("negative category", "it names a category that is not there", 3, "category 8 of image 7"),
        ("not exhaustive category", "it names a category that is not there", 1, "category 8 of image 7"),
    ]
    assert facts(found, "known") == [[0] * 4, [1, 0, 0, 0], [0] * 4]


def test_a_broken_thing_of_a_negative_category_leaves_it_unknown(folder: Folder) -> None:
    found = folder.add(7, BAT, (1, 1, 0, 0)).look(7, negative=(BAT, CAT)).open()
    assert facts(found, "known")[0] == [1, 0, 0, 0]
    assert listed(found) == [("annotation", "its box or area is empty", 1, "annotation 0 of image 7")]


@pytest.mark.parametrize(("where", "what"), [(6, CAT), (7, 99)])
def test_annotations_that_lead_nowhere(folder: Folder, where: int, what: int) -> None:
    found = folder.add(where, what).open()
    assert listed(found)[0][2:] == (1, f"annotation 0 of image {where}")
    assert not found.details.known.any()


def test_a_file_name_is_read_where_there_is_no_url(folder: Folder) -> None:
    for one in folder.images:
        one["file_name"] = one.pop("coco_url").partition("org/")[2]
    assert [f"{key}.jpg" for key in folder.open().keys] == [*PLACES]


@pytest.mark.parametrize("name", ["{}", "C:\\lvis\\{}", "/data/{}"])
def test_a_file_name_without_its_folder(folder: Folder, name: str) -> None:
    for one, place in zip(folder.images, reversed(PLACES), strict=True):
        one["coco_url"], one["file_name"] = None, name.format(Path(place).name)
    assert {*folder.open().keys} == {place.removesuffix(".jpg") for place in PLACES}


def test_the_url_is_believed_more_than_the_file_name(folder: Folder) -> None:
    folder.images[0]["file_name"] = "COCO_val2014_000000000009.jpg"
    assert len(folder.open()) == 3


@pytest.mark.parametrize("url", ["", "http://images.example/", "http://images.example/../x.jpg", "http://a/x.jpg"])
def test_an_image_without_a_place(folder: Folder, url: str) -> None:
    folder.images[0]["coco_url"] = url
    with pytest.raises(DataError, match=r"lvis_v1_val\.json names the picture '.*', which is no file below"):
        folder.open()


def test_missing_pictures(folder: Folder) -> None:
    (folder.path / PLACES[0]).unlink()
    with pytest.raises(
        DataError, match=r"^1 of the 3 pictures that .*train2017/000000000007\.jpg: LVIS has pictures of"
    ):
        folder.open()


def test_the_file_lies_in_the_folder_or_in_annotations(folder: Folder) -> None:
    assert len(folder.open(inner="annotations")) == 3
    assert annotation_file(folder.path) == folder.path / "annotations/lvis_v1_val.json"
    assert folder.add(7, CAT).open().details.counts.sum() == 1
    assert annotation_file(folder.path) == folder.path / "lvis_v1_val.json"


def test_a_file_that_is_not_there(folder: Folder) -> None:
    with pytest.raises(DataError, match=r"lvis_v1_val\.json cannot be read"):
        open_lvis(folder.path, "oodbench", "mine")


def test_lvis_itself_has_its_published_numbers(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lvis, "PUBLISHED", {"val": PublishedFile(4, 0, fingerprint(NAMES))})
    with pytest.raises(DataError, match="has 3 images, expected the 4 of oodbench/lvis"):
        folder.open("lvis")
    assert folder.open("mine").expected is None
    folder.categories.pop()
    assert folder.open("lvis").expected is None


def test_what_is_published() -> None:
    assert {part: (fact.images, fact.annotations) for part, fact in lvis.PUBLISHED.items()} == {
        "val": (19_809, 244_707),
        "train": (100_170, 1_270_141),
    }
