"""Backdrops: plain, shaded, blotched and noisy ones, and streets whose road begins at the horizon."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from eyechart.toybox.art.backdrops import Backdrop, draw_backdrop, draw_street, horizon, paint
from eyechart.toybox.art.draw import Draw

FIRST, SECOND = (200, 100, 50), (100, 200, 50)
PLAIN = Backdrop("plain", (FIRST, SECOND), "a seed")


def pixels(backdrop: Backdrop) -> NDArray[np.int_]:
    """A painted backdrop of 40 rows and 30 columns."""
    return np.asarray(paint(backdrop, 30, 40)).astype(int)


def test_a_plain_one_has_its_first_colour() -> None:
    assert (pixels(PLAIN) == FIRST).all()


def test_a_slope_goes_two_fifths_of_the_way_to_the_second_colour() -> None:
    slope = pixels(replace(PLAIN, kind="slope"))
    assert (slope[0] == FIRST).all()
    assert (slope[-1] == (160, 140, 50)).all()
    assert (np.diff(slope[:, 0, 0]) < 0).all()


def test_a_street_has_its_sky_above_its_road() -> None:
    street = replace(PLAIN, kind="street", horizon=0.3)
    assert (pixels(street)[:12] == FIRST).all()
    assert (pixels(street)[12:] == SECOND).all()
    assert horizon(street, 40) == 12


@pytest.mark.parametrize("backdrop", [replace(PLAIN, kind="blotches"), replace(PLAIN, noise=9.0)])
def test_blotches_and_noise_are_those_of_their_seed(backdrop: Backdrop) -> None:
    assert (pixels(backdrop) == pixels(backdrop)).all()
    assert (pixels(backdrop) != pixels(replace(backdrop, seed="another seed"))).any()
    assert np.abs(pixels(backdrop).mean(axis=(0, 1)) - FIRST).max() < 12
    assert pixels(backdrop).std(axis=(0, 1)).min() > 3


def test_backdrops_are_drawn_of_every_kind_and_streets_as_streets() -> None:
    everyday = [draw_backdrop(Draw("everyday", index), str(index)) for index in range(60)]
    assert {backdrop.kind for backdrop in everyday} == {"plain", "slope", "blotches"}
    assert {backdrop.noise > 0 for backdrop in everyday} == {True, False}
    streets = [draw_street(Draw("street", index), str(index)) for index in range(60)]
    assert {street.kind for street in streets} == {"street"}
    assert all(0.3 <= street.horizon <= 0.55 for street in streets)
