"""Polygons and run lengths give back the masks that they were made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from eyechart.toybox.art.outlines import area, fill_holes, polygons, run_lengths

Mask = NDArray[np.bool_]
MASKS = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12))
SOME = MASKS.filter(lambda mask: mask.any())


def painted(outlines: list[list[tuple[int, int]]], shape: tuple[int, int]) -> Mask:
    """Rasterise polygons by the centres of the pixels: four fine pixels a side, whose middle is looked at."""
    canvas = Image.new("1", (4 * shape[1], 4 * shape[0]))
    for outline in outlines:
        ImageDraw.Draw(canvas).polygon([(4 * x, 4 * y) for x, y in outline], fill=1)
    return np.asarray(canvas)[2::4, 2::4]


def decoded(counts: list[int], shape: tuple[int, int]) -> Mask:
    values = np.repeat(np.arange(len(counts)) % 2 == 1, counts)
    return values.reshape(shape, order="F")


@given(SOME)
def test_the_areas_add_up_to_the_filled_mask(mask: Mask) -> None:
    assert sum(area(outline) for outline in polygons(mask)) == fill_holes(mask).sum()


@given(SOME)
def test_polygons_cover_the_filled_mask(mask: Mask) -> None:
    assert np.array_equal(painted(polygons(mask), mask.shape), fill_holes(mask))


@given(SOME)
def test_every_part_runs_clockwise_and_the_largest_comes_first(mask: Mask) -> None:
    areas = [area(outline) for outline in polygons(mask)]
    assert areas == sorted(areas, reverse=True)
    assert areas[-1] > 0


@given(SOME)
def test_points_are_corners_inside_the_picture(mask: Mask) -> None:
    for outline in polygons(mask):
        assert len(outline) >= 4
        for (x, y), (next_x, next_y) in zip(outline, [*outline[1:], outline[0]], strict=True):
            assert (x == next_x) != (y == next_y)
            assert 0 <= x <= mask.shape[1]
            assert 0 <= y <= mask.shape[0]


@given(MASKS)
def test_run_lengths_are_decoded_to_the_mask(mask: Mask) -> None:
    counts = run_lengths(mask)
    assert np.array_equal(decoded(counts, mask.shape), mask)
    assert all(count > 0 for count in counts[1:])


@given(st.integers(1, 9), st.integers(1, 9))
def test_a_rectangle_has_four_corners(width: int, height: int) -> None:
    assert polygons(np.ones((height, width), bool)) == [[(0, 0), (width, 0), (width, height), (0, height)]]


def test_a_hole_is_filled() -> None:
    ring = np.ones((3, 3), bool)
    ring[1, 1] = False
    assert polygons(ring) == polygons(np.ones((3, 3), bool))


@pytest.mark.parametrize("mask", [[[1, 0], [0, 1]], [[0, 1], [1, 0]]])
def test_parts_that_touch_at_a_corner_are_two(mask: list[list[int]]) -> None:
    assert [area(outline) for outline in polygons(np.array(mask, bool))] == [1, 1]
