"""Rotations and cameras do what their definitions say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.toybox.art.space import Quaternion, Vector, multiply, rotate, rotation_about_vertical
from eyechart.toybox.formats.nuscenes_files import CAMERAS

NUMBERS = st.floats(-100, 100)
VECTORS = st.tuples(NUMBERS, NUMBERS, NUMBERS)
ANGLES = st.floats(-math.pi, math.pi)


def matrix(rotation: Quaternion) -> np.ndarray:
    """The textbook matrix of a unit quaternion."""
    w, x, y, z = rotation
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@given(ANGLES, VECTORS)
def test_a_rotation_is_its_matrix(angle: float, point: Vector) -> None:
    assert rotate(rotation_about_vertical(angle), point) == pytest.approx(
        matrix(rotation_about_vertical(angle)) @ point, abs=1e-6
    )


@given(ANGLES, ANGLES, VECTORS)
def test_a_product_rotates_twice(one: float, two: float, point: Vector) -> None:
    front = CAMERAS["CAM_FRONT"].pose.rotation
    both = multiply(rotation_about_vertical(one), multiply(front, rotation_about_vertical(two)))
    assert rotate(both, point) == pytest.approx(
        rotate(rotation_about_vertical(one), rotate(front, rotate(rotation_about_vertical(two), point))), abs=1e-5
    )


@pytest.mark.parametrize(("channel", "ahead"), [("CAM_FRONT", 1), ("CAM_BACK", -1)])
def test_a_camera_looks_along_the_car(channel: str, ahead: int) -> None:
    turn = CAMERAS[channel].pose.rotation
    assert rotate(turn, (0, 0, 1)) == (ahead, 0, 0)  # what is deep is ahead, or behind
    assert rotate(turn, (1, 0, 0)) == (0, -ahead, 0)  # what is right in the picture is to the right of its view
    assert rotate(turn, (0, 1, 0)) == (0, 0, -1)


@given(NUMBERS, NUMBERS, st.floats(0.1, 100))
def test_a_pixel_is_seen_where_it_came_from(x: float, y: float, depth: float) -> None:
    camera = CAMERAS["CAM_FRONT"]
    seen = np.array(camera.intrinsic) @ camera.point(x, y, depth)
    assert seen[:2] / seen[2] == pytest.approx((x, y), abs=1e-6)
