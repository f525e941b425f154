"""Scenes: how many things stand how, and that what they say is what the pixels show."""

import numpy as np
import pytest

from eyechart.toybox.art.backdrops import paint
from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.scenes import MAX_THINGS, MIN_VISIBLE, RenderedScene, box, everyday_scene, render, single_scene
from eyechart.toybox.art.shapes import styles
from eyechart.toybox.art.things import render_layer
from eyechart.toybox.art.toy_classes import equivalent_classes


@pytest.fixture(scope="module")
def drawn() -> list[RenderedScene]:
    several = [
        everyday_scene(Draw("test", index), f"t/{index}", styles()[index % 6], (128, 128)) for index in range(60)
    ]
    return [render(scene) for scene in several]


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
