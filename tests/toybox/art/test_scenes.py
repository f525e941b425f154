"""Scenes and shards: the same from the same seed, and what they say is what the pixels show."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from eyechart.cli import main
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.toybox.art.backdrops import paint
from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.scenes import MAX_THINGS, MIN_VISIBLE, RenderedScene, box, everyday_scene, render, single_scene
from eyechart.toybox.art.shapes import atlas, styles
from eyechart.toybox.art.things import draw_look, render_layer
from eyechart.toybox.art.toy_classes import equivalences, equivalent_classes, names

SMALL = ("--per-class", "1", "--scenes", "12", "--birds", "12")


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    main(["toybox", folder, *SMALL])
    return folder


@pytest.fixture(scope="module")
def drawn() -> list[RenderedScene]:
    several = [
        everyday_scene(Draw("test", index), f"t/{index}", styles()[index % 6], (128, 128)) for index in range(60)
    ]
    return [render(scene) for scene in several]


def test_another_seed_gives_other_pictures_in_the_same_files(world: Path, tmp_path: Path) -> None:
    main(["toybox", tmp_path, *SMALL, "--seed", "1", "--part", "birds"])
    birds = {name: data for name, data in files(world).items() if name.startswith("realbirdid/drawn/images")}
    other = {name: data for name, data in files(tmp_path).items() if name in birds}
    assert other.keys() == birds.keys()
    assert all(data != birds[name] for name, data in other.items())


@pytest.mark.parametrize("part", ["scenes", pytest.param("birds", marks=pytest.mark.deep)])
def test_a_part_drawn_again_is_the_same_as_in_the_whole(world: Path, tmp_path: Path, part: str) -> None:
    main(["toybox", tmp_path, *SMALL, "--part", part])
    whole, again = files(world), files(tmp_path)
    assert again
    assert all(data == whole[name] for name, data in again.items())


@pytest.fixture(scope="module")
def opened(world: Path):
    refs = [ref for ref in list_splits(world) if ref.benchmark == "toybox" and ref.layout == "shards"]
    return {ref.split: open_split(ref) for ref in refs}


def test_every_split_opens_as_shards(opened) -> None:
    held_out = ["cutouts", "fluent-3d", "noto-v1"]
    assert sorted(opened) == sorted(
        [*held_out, *(f"scenes-{name}" for name in (*held_out, "train", "val")), "train", "val"]
    )
    assert all(found.names == names() and found.equivalences == equivalences() for found in opened.values())


def test_splits_have_every_class_of_their_style_once(opened) -> None:
    assert Counter(row.label for row in opened["noto-v1"].index) == Counter(atlas("noto-v1").classes)
    assert {*Counter(row.label for row in opened["train"].index).values()} == {3}


def test_no_picture_of_training_comes_again(opened) -> None:
    hashes = [row.sha256 for found in opened.values() for row in found.index]
    assert len({*hashes}) == len(hashes)


def test_scenes_have_several_labels(opened) -> None:
    labels = opened["scenes-train"].label_sets["multilabel"].labels
    assert (labels[:, 0] >= 0).all()
    assert labels.shape[1] > 1


def test_scenes_have_one_to_five_things(drawn: list[RenderedScene]) -> None:
    assert {len(found.scene.things) for found in drawn} == {*range(1, MAX_THINGS + 1)}


def test_no_thing_stands_beside_its_equivalent(drawn: list[RenderedScene]) -> None:
    for found in drawn:
        assert all(equivalent_classes(label) & {*found.labels} == {label} for label in found.labels)


def test_some_scenes_have_a_main_thing_and_some_repeat_a_class(drawn: list[RenderedScene]) -> None:
    sizes = [sorted(thing.size for thing in found.scene.things) for found in drawn if len(found.scene.things) > 1]
    assert any(size[-1] > 1.8 * size[-2] for size in sizes)
    assert any(size[-1] < 1.3 * size[0] for size in sizes)
    assert any(len(found.labels) < len(found.scene.things) for found in drawn)


def test_the_main_thing_is_the_largest(drawn: list[RenderedScene]) -> None:
    for found in drawn:
        assert found.scene.things[found.scene.main].size == max(thing.size for thing in found.scene.things)


def test_everything_can_be_seen(drawn: list[RenderedScene]) -> None:
    assert all(share >= MIN_VISIBLE for found in drawn for share in found.visible_fractions)


def test_masks_are_apart_and_boxes_hold_them(drawn: list[RenderedScene]) -> None:
    for found in drawn:
        assert np.sum(found.masks, axis=0).max() == 1
        for number, mask in enumerate(found.masks):
            left, top, width, height = found.box(number)
            assert mask[top : top + height, left : left + width].sum() == mask.sum()


def test_pixels_differ_from_the_background_where_things_are(drawn: list[RenderedScene]) -> None:
    for found in drawn[:20]:
        bare = np.asarray(paint(found.scene.backdrop, 128, 128)).astype(int)
        changed = np.abs(np.asarray(found.image).astype(int) - bare).max(axis=2) > 0
        anything = np.any(
            [np.asarray(render_layer(thing, 128, 128))[..., 3] > 0 for thing in found.scene.things], axis=0
        )
        assert not (changed & ~anything).any()
        assert (changed & np.any(found.masks, axis=0)).sum() > 0.9 * np.any(found.masks, axis=0).sum()


def test_removing_a_thing_changes_only_its_layer(drawn: list[RenderedScene]) -> None:
    from dataclasses import replace

    found = next(found for found in drawn if len(found.scene.things) == 3)
    without = render(replace(found.scene, things=found.scene.things[1:], main=0))
    changed = (np.asarray(found.image) != np.asarray(without.image)).any(axis=2)
    left, top, width, height = box(changed)
    a, b, c, d = box(np.asarray(render_layer(found.scene.things[0], 128, 128))[..., 3] > 0)
    assert a <= left
    assert b <= top
    assert left + width <= a + c
    assert top + height <= b + d


def test_a_single_picture_is_mostly_its_thing() -> None:
    found = [render(single_scene(Draw("one", index), "one", styles()[0], index, 96)) for index in range(20)]
    assert all(len(one.scene.things) == 1 for one in found)
    assert np.median([max(one.box(0)[2:]) for one in found]) > 48


def test_draws_are_the_ones_that_python_promises() -> None:
    draw = Draw(42, "sample", 0)
    assert [draw.below(100) for _ in range(4)] == [57, 54, 24, 42]
    assert draw.noise(2, 2).tolist() == [[-63, -47], [94, 12]]


def test_looks_are_drawn_from_a_grid() -> None:
    found = [draw_look(Draw("look", index)) for index in range(50)]
    assert all(0.8 <= one.brightness <= 1.15 for one in found)
    assert {one.outline is None for one in found} == {True, False}
