"""A thing is drawn where, as large, turned and in the colours that it says."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageFilter

from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.shapes import atlas
from eyechart.toybox.art.things import SOLID, Look, Thing, draw_look, draw_variant, layer_mask, render_layer
from eyechart.toybox.art.toy_classes import index_of

DUCK = Thing(index_of("duck"), "google", 0, x=50, y=40, size=36)


def render(thing: Thing) -> Image.Image:
    """A layer of 100 columns and 80 rows."""
    return render_layer(thing, 100, 80)


def pixels(thing: Thing) -> np.ndarray:
    """The colours of a thing where it is solid."""
    layer = render(thing)
    return np.asarray(layer).astype(int)[layer_mask(layer)][:, :3]


@pytest.mark.parametrize(
    "change", [{}, {"x": 30, "y": 20}, {"size": 24}, {"angle": 90}, {"stretch": 0.5}, {"stretch": 2.0}]
)
def test_a_thing_has_its_centre_and_its_long_side(change: dict[str, float]) -> None:
    thing = replace(DUCK, **change)
    left, top, right, bottom = render(thing).getbbox()
    assert max(right - left, bottom - top) == thing.size
    assert ((left + right) / 2, (top + bottom) / 2) == pytest.approx((thing.x, thing.y), abs=1)


def test_a_stretched_thing_is_narrower() -> None:
    left, top, right, bottom = render(replace(DUCK, stretch=0.5)).getbbox()
    sprite = atlas("google").sprites[DUCK.label][0]
    assert (right - left) / (bottom - top) == pytest.approx(0.5 * sprite.width / sprite.height, abs=0.03)


def test_a_mirrored_thing_is_the_mirrored_picture() -> None:
    mirrored, plain = render(replace(DUCK, mirrored=True)), np.asarray(render(DUCK)).astype(int)
    assert np.abs(np.asarray(mirrored) - plain).mean() > 5
    assert np.abs(np.asarray(mirrored.transpose(Image.Transpose.FLIP_LEFT_RIGHT)) - plain).mean() < 1


def test_a_look_changes_colours_and_no_shape() -> None:
    plain = pixels(DUCK)
    dark = pixels(replace(DUCK, look=Look(brightness=0.5)))
    assert np.abs(dark - plain / 2).max() <= 0.5
    assert (pixels(replace(DUCK, look=Look(channels=(2, 1, 0)))) == plain[:, ::-1]).all()
    grey = pixels(replace(DUCK, look=Look(saturation=0.0)))
    assert (grey == grey[:, :1]).all()
    assert (pixels(replace(DUCK, look=Look(tint=(1, 0, 1)))) == plain * (1, 0, 1)).all()


def test_shade_falls_from_one_side() -> None:
    layer = np.asarray(render(replace(DUCK, look=Look(shade=(-1.0, 0.0))))).astype(int)
    plain = np.asarray(render(DUCK)).astype(int)
    assert layer[:, :50].sum() > plain[:, :50].sum()
    assert layer[:, 50:].sum() < plain[:, 50:].sum()


def test_an_outline_is_a_line_of_one_pixel_around_the_thing() -> None:
    left, top, right, bottom = render(DUCK).getbbox()
    layer = render(replace(DUCK, look=Look(outline=(255, 0, 0))))
    assert layer.getbbox() == (left - 1, top - 1, right + 1, bottom + 1)
    alpha = render(DUCK).getchannel("A")
    assert (layer_mask(layer) == (np.asarray(alpha.filter(ImageFilter.MaxFilter(3))) >= SOLID)).all()
    outside = layer_mask(layer) & (np.asarray(alpha) == 0)
    assert outside.any()
    assert (np.asarray(layer)[outside][:, :3] == (255, 0, 0)).all()


def test_a_blur_goes_beyond_the_edge() -> None:
    (left, _, right, _), wider = render(DUCK).getbbox(), render(replace(DUCK, look=Look(blur=0.8))).getbbox()
    assert wider[0] < left < right < wider[2]


def test_every_picture_of_a_class_is_drawn() -> None:
    label, sprites = max(atlas("cutouts").sprites.items(), key=lambda item: len(item[1]))
    assert {draw_variant(Draw("variant", index), "cutouts", label) for index in range(99)} == {*range(len(sprites))}


def test_looks_are_drawn_from_a_grid() -> None:
    found = [draw_look(Draw("look", index)) for index in range(50)]
    assert all(0.8 <= one.brightness <= 1.15 for one in found)
    assert {one.outline is None for one in found} == {True, False}
