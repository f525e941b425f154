"""The packaged label maps and the official scenes: whole, and without two equal names."""

import pytest

from eyechart.oodbench.data.label_maps import label_map
from eyechart.oodbench.data.nuscenes import _official_scenes


@pytest.mark.parametrize(("source", "kept", "dropped"), [("nuscenes", 22, 1), ("cityscapes", 23, 14)])
def test_the_maps_are_whole(source: str, kept: int, dropped: int) -> None:
    labels = label_map(source)
    assert len({name.casefold().strip() for name in labels.names}) == len({*labels.originals}) == kept
    assert len(labels.dropped) == dropped
    assert all(labels.dropped.values())
    assert not {*labels.originals} & labels.dropped.keys()


def test_nuscenes_has_the_names_of_table_4() -> None:
    labels = label_map("nuscenes")
    names = dict(zip(labels.originals, labels.names, strict=True))
    assert names["human.pedestrian.personal_mobility"] == "Pedestrian using Personal Mobility Device"
    assert names["movable_object.pushable_pullable"] == "Pushable/Pullable Object"
    assert [*labels.dropped] == ["movable_object.debris"]


def test_cityscapes_drops_what_table_5_drops() -> None:
    labels = label_map("cityscapes")
    assert labels.names == labels.originals
    published = {"on rails", "pole group", "terrain", "sky", "ground", "dynamic", "static"}
    assert published | {"train", "polegroup", "license plate", "ego vehicle"} <= labels.dropped.keys()


def test_the_official_scenes_are_whole() -> None:
    assert (len(_official_scenes("val")), len(_official_scenes("mini_val"))) == (150, 2)
    assert _official_scenes("mini_val") < _official_scenes("val")
