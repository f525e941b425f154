"""Cityscapes: the toy's streets, and one small street whose polygons and files are odd one at a time."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError
from eyechart.oodbench.data.cityscapes import POLYGONS, VALIDATION, _clip_polygon, _polygon_area, open_cityscapes
from eyechart.oodbench.data.label_maps import label_map
from eyechart.toybox.art.scenes import RenderedScene
from eyechart.toybox.art.shapes import styles
from eyechart.toybox.art.toy_classes import classes
from eyechart.toybox.formats import cityscapes_files as toy

Points = list[tuple[float, float]]
SQUARE: Points = [(2, 2), (6, 2), (6, 6), (2, 6)]
STEM = "ulm/ulm_000000_000019"


class Street:
    """Pictures of 16 x 9 pixels and their polygons."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.objects = folder, []

    def put(self, label: str, polygon: Points = SQUARE, **more: Any) -> None:
        self.objects.append({"label": label, "polygon": polygon, **more})

    def write(self, stem: str = STEM, part: str = "val") -> Path:
        content = {"imgHeight": 9, "imgWidth": 16, "objects": self.objects}
        path = self.folder / f"gtFine/{part}/{stem}{POLYGONS}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
        self.picture(stem, part)
        return path

    def picture(self, stem: str = STEM, part: str = "val") -> Path:
        path = self.folder / f"leftImg8bit/{part}/{stem}_leftImg8bit.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (16, 9)).save(path)
        return path

    def open(self, **options: Any) -> Dataset:
        return open_cityscapes(self.folder, "oodbench", "cityscapes", **options)

    def says(self, label: str) -> tuple[int, bool, bool]:
        """What the street says of a label: its count, and whether it is known and countable."""
        self.write()
        found = self.open().details
        index = found.category_ids.index(label)
        return int(found.counts[0, index]), bool(found.known[0, index]), bool(found.countable[0, index])

    def left_out(self) -> list[str]:
        return [f"{one.count} {one.what}: {one.why}" for one in self.open().details.excluded]


@pytest.fixture
def street(tmp_path: Path) -> Street:
    return Street(tmp_path)


class Toy:
    def __init__(self, folder: Path) -> None:
        self.found: list[RenderedScene] = toy.write(folder, 7, styles(), 24)
        self.data = open_cityscapes(folder, "oodbench", "cityscapes")
        self.by_key = dict(zip(self.data.details.image_ids, range(len(self.data)), strict=True))

    def row(self, picture: RenderedScene) -> int:
        return self.by_key[picture.scene.key.rpartition("/")[2]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    return Toy(tmp_path_factory.mktemp("cityscapes"))


def drawn(picture: RenderedScene) -> Counter[str]:
    """The things of a picture, a crowd once, of kept labels, and the road."""
    things = picture.scene.things[max(picture.scene.crowd - 1, 0) :]
    labels = Counter([*(classes()[one.label].concept.cityscapes for one in things), "road"])
    return Counter({label: count for label, count in labels.items() if label in label_map("cityscapes").index_by_label})


def test_the_toy_s_counts_are_the_things_that_were_drawn(world: Toy) -> None:
    assert len(world.data) == len(world.found)
    for picture in world.found:
        counts = world.data.details.counts[world.row(picture)].tolist()
        assert +Counter(dict(zip(world.data.details.category_ids, counts, strict=True))) == drawn(picture)


def test_only_the_toy_s_crowds_are_not_countable(world: Toy) -> None:
    crowds = [picture for picture in world.found if picture.scene.crowd]
    grouped = {classes()[picture.scene.things[0].label].concept.cityscapes for picture in crowds} & toy.GROUPED
    uncountable = np.argwhere(~world.data.details.countable)
    assert world.data.details.known.all()
    assert {world.data.details.category_ids[index] for _, index in uncountable} == grouped - {"train"}
    assert {row for row, _ in uncountable.tolist()} <= {world.row(picture) for picture in crowds}


def test_what_table_5_drops_is_left_out_and_listed(world: Toy) -> None:
    left_out = {one.why.partition(" is no class here")[0]: one.count for one in world.data.details.excluded}
    assert left_out["sky"] == len(world.found)
    assert {*left_out} <= {"sky", "train", "traingroup"}


def test_a_data_set_of_many_things_has_no_label_sets(world: Toy) -> None:
    assert (world.data.classes, world.data.upright, world.data.expected) == (23, False, None)
    assert not world.data.label_sets
    assert world.data.keys[0] == "leftImg8bit/val/playroom/playroom_000000_000000_leftImg8bit"


@pytest.mark.parametrize("label", ["car", "road", "vegetation", "fence", "guard rail"])
def test_every_polygon_is_an_instance(street: Street, label: str) -> None:
    street.put(label)
    street.put(label, [(8, 2), (12, 2), (12, 6)])
    assert street.says(label) == (2, True, True)


def test_what_is_not_annotated_is_absent(street: Street) -> None:
    assert street.says("bus") == (0, True, True)
    assert street.open().details.known_absent.all()


def test_a_group_is_present_and_cannot_be_counted(street: Street) -> None:
    street.put("persongroup")
    assert street.says("person") == (1, True, False)
    street.put("person")
    assert street.says("person") == (2, True, False)


def test_a_pole_group_leaves_poles_open(street: Street) -> None:
    street.put("polegroup")
    assert street.says("pole") == (0, False, False)
    street.put("pole")
    assert street.says("pole") == (1, True, False)
    assert "it means the same as pole" in street.left_out()[0]


def test_deleted_objects_never_were(street: Street) -> None:
    street.put("car", deleted=1)
    street.put("car", deleted=None, verified=1, user="ü", date="01-Jan-2015 00:00:00", id=3, draw=True)
    assert street.says("car") == (1, True, True)
    assert not street.left_out()


@pytest.mark.parametrize(
    "label", ["train", "traingroup", "ego vehicle", "out of roi", "license plate", "sky", "Straße"]
)
def test_other_labels_are_left_out_and_listed(street: Street, label: str) -> None:
    street.put(label)
    street.write()
    assert street.left_out()[0].startswith(f"1 polygon: {label} is no class here (")
    assert not street.open().details.present.any()


@pytest.mark.parametrize("polygon", [[], [(2, 2)], [(2, 2), (5, 5)], [(2, 2), (5, 5), (3, 3)]])
def test_a_polygon_without_area_leaves_its_label_unknown(street: Street, polygon: Points) -> None:
    street.put("car", polygon)
    assert street.says("car") == (0, False, False)
    assert street.left_out() == ["1 polygon: it has no area; its label is unknown there"]


@pytest.mark.parametrize(
    "polygon", [[(16, 0), (20, 0), (20, 9)], [(-4, -4), (20, -4), (20, -1)], [(-9, 4), (4, -9), (-9, -9)]]
)
def test_a_polygon_outside_the_picture_is_left_out(street: Street, polygon: Points) -> None:
    street.put("car", polygon)
    assert street.says("car") == (0, True, True)
    assert street.left_out() == ["1 polygon: it is outside the picture"]


def test_equal_polygons_of_a_label_count_once(street: Street) -> None:
    street.put("car", deleted=1)
    for label in ("car", "car", "persongroup", "persongroup", "rider"):
        street.put(label)
    assert [street.says(label)[0] for label in ("car", "person", "rider")] == [1, 1, 1]
    assert street.left_out() == ["2 polygon: it repeats another one's label and outline"]


def test_a_polygon_partly_in_the_picture_is_in_it(street: Street) -> None:
    street.put("car", [(-4, -4), (30, -4), (30, 30), (-4, 30)])
    street.put("car", [(15.5, 4), (30, 4), (30, 6)])
    assert street.says("car") == (2, True, True)


def test_files_without_their_other_half_are_left_out_and_listed(street: Street) -> None:
    street.write()
    street.picture("ulm/ulm_000000_000020")
    street.write("bonn/bonn_000000_000001")
    street.picture("bonn/bonn_000000_000001").unlink()
    assert len(street.open()) == 1
    assert [text.partition(":")[0] for text in street.left_out()] == ["1 picture", "1 polygon file"]


def test_hidden_files_are_no_pictures(street: Street) -> None:
    street.write()
    street.write("ulm/._ulm_000000_000020")
    assert len(street.open()) == 1


def test_the_other_part_is_opened_by_name(street: Street) -> None:
    street.write(part="train")
    assert street.open(part="train").keys == (f"leftImg8bit/train/{STEM}_leftImg8bit",)


def test_parts_without_annotations_are_refused(street: Street) -> None:
    with pytest.raises(DataError, match="the parts val and train, not for 'test'"):
        street.open(part="test")


def test_a_missing_folder_is_named(street: Street) -> None:
    street.picture()
    with pytest.raises(DataError, match=r"gtFine/val is no folder: unpack leftImg8bit and gtFine beside each other"):
        street.open()


def test_nothing_in_common_is_refused(street: Street) -> None:
    street.write().unlink()
    with pytest.raises(DataError, match="holds no images"):
        street.open()


def test_a_whole_val_must_have_its_pictures(street: Street) -> None:
    for city in VALIDATION:
        street.write(f"{city}/{city}_000000_000019")
    with pytest.raises(DataError, match=r"has 3 pictures with polygons in the cities of val, expected 500"):
        street.open()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"imgWidth": 1}', '{"imgWidth": 16, "imgHeight": 9, "objects": [{"label": "car"}]}', "\udcff"]
)
def test_a_broken_file_is_named(street: Street, text: str) -> None:
    street.write().write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=rf"{STEM}_gtFine_polygons.json is no file of Cityscapes' polygons"):
        street.open()


def test_a_picture_without_size_is_refused(street: Street) -> None:
    street.write().write_text('{"imgWidth": 0, "imgHeight": 9, "objects": []}', encoding="utf-8")
    with pytest.raises(DataError, match="the picture is 0 x 9 pixels"):
        street.open()


coordinates = st.integers(-12, 24)


@given(st.lists(st.tuples(coordinates, coordinates), min_size=3, max_size=3))
def test_a_clipped_triangle_has_the_area_of_its_pixels(corners: Points) -> None:
    fine = (np.stack(np.meshgrid(np.arange(320), np.arange(180)), axis=2).reshape(-1, 2) + 0.5) / 20
    a, b, c = np.array(corners, dtype=np.float64)
    sides = np.array([_side(fine, *pair) for pair in ((a, b), (b, c), (c, a))])
    inside = ((sides > 0).all(axis=0) | (sides < 0).all(axis=0)).sum() / 400
    assert _polygon_area(_clip_polygon(np.array([a, b, c]), 16, 9)) == pytest.approx(inside, abs=3)


def _side(points: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    away, along = points - first, second - first
    return along[0] * away[:, 1] - along[1] * away[:, 0]
