"""What a camera sees of a box, against points inside the box projected one by one, and against linear programs."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from eyechart.oodbench.data.nuscenes_camera import NEAR, Boxes, CameraViews, Poses, visible_rectangles
from eyechart.toybox.art.space import Camera, Pose, Vector, rotate, rotation_about_vertical

FRONT = (0.5, -0.5, 0.5, -0.5)
WIDTH, HEIGHT = 1600, 900
SLACK = 1e-3  # pixels
GRID = [(x - 1, y - 1, z - 1) for x, y, z in product(np.linspace(0, 2, 6).tolist(), repeat=3)]
Scene = tuple[Pose, Vector, Pose, Camera]


def _unit(values: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(value / math.hypot(*values) for value in values)


turns = st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda values: math.hypot(*values) > 0.1).map(_unit)
indices = st.tuples(st.floats(-15, 40), st.floats(-20, 20), st.floats(-3, 4))
sizes = st.tuples(*[st.floats(0.05, 12)] * 3)
egos = st.builds(
    Pose, st.tuples(st.floats(0, 2000), st.floats(0, 2000), st.just(0.0)), st.floats(-3, 3).map(rotation_about_vertical)
)
cameras = st.builds(
    Camera, st.builds(Pose, st.just((1.7, 0.0, 1.5)), st.just(FRONT)), st.just(1266.4), st.just((816.3, 491.5))
)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """A box somewhere about the car: its pose in the world, its size, the car's pose, and the camera."""
    ego = draw(egos)
    return Pose(ego.outward(draw(indices)), draw(turns)), draw(sizes), ego, draw(cameras)


def rectangle(box: Pose, size: Vector, ego: Pose, camera: Camera) -> np.ndarray:
    views = CameraViews(
        _poses(ego), _poses(camera.pose), np.array([camera.intrinsic]), np.array([(WIDTH, HEIGHT)], float)
    )
    return visible_rectangles(Boxes(_poses(box), np.array([size])), views)[0]


def _poses(pose: Pose) -> Poses:
    return Poses(np.array([pose.translation]), np.array([pose.rotation]))


def at(cube: Vector, box: Pose, size: Vector, ego: Pose, camera: Camera) -> np.ndarray:
    """Where a point of the cube between -1 and 1 is to the camera."""
    width, length, height = size
    point = box.outward((cube[0] * length / 2, cube[1] * width / 2, cube[2] * height / 2))
    return np.array(inward(camera.pose, inward(ego, point)))


def inward(pose: Pose, point: Vector) -> Vector:
    """A point of the frame outside in a pose's own frame."""
    w, x, y, z = pose.rotation
    away = (point[0] - pose.translation[0], point[1] - pose.translation[1], point[2] - pose.translation[2])
    return rotate((w, -x, -y, -z), away)


def possible(found: Scene, left: float, top: float, right: float, bottom: float) -> bool:
    """Whether a point of the box is before the camera and within these pixels: a linear program over the cube."""
    camera = found[3]
    origin = at((0.0, 0.0, 0.0), *found)
    axes = np.stack([at(tuple(row), *found) - origin for row in np.eye(3)], axis=1)
    planes = np.array(
        [
            [-camera.focal, 0, left - camera.centre[0]],
            [camera.focal, 0, camera.centre[0] - right],
            [0, -camera.focal, top - camera.centre[1]],
            [0, camera.focal, camera.centre[1] - bottom],
            [0, 0, -1],
        ]
    )
    bounds = np.array([0, 0, 0, 0, -NEAR]) - planes @ origin
    return bool(linprog(np.zeros(3), planes @ axes, bounds, bounds=[(-1, 1)] * 3).status == 0)


@pytest.mark.deep
@given(scenes())
def test_every_point_of_the_box_in_the_picture_is_in_the_rectangle(found: Scene) -> None:
    points = np.array([at(cube, *found) for cube in GRID])
    points = points[points[:, 2] > NEAR]
    pixels = points[:, :2] / points[:, 2:] * found[3].focal + found[3].centre
    pixels = pixels[((pixels >= 0) & (pixels <= (WIDTH, HEIGHT))).all(axis=1)]
    assume(len(pixels) > 0)
    seen = rectangle(*found)
    assert (pixels >= seen[:2] - SLACK).all()
    assert (pixels <= seen[2:] + SLACK).all()


@given(scenes())
def test_a_box_is_shown_where_a_point_of_it_can_be_in_the_picture(found: Scene) -> None:
    if np.isnan(rectangle(*found)).any():
        assert not possible(found, 1, 1, WIDTH - 1, HEIGHT - 1)
    else:
        assert possible(found, -1, -1, WIDTH + 1, HEIGHT + 1)


@pytest.mark.deep
@given(scenes())
def test_no_side_of_the_rectangle_can_be_moved_in(found: Scene) -> None:
    left, top, right, bottom = seen = rectangle(*found)
    assume(not np.isnan(seen).any())
    assert possible(found, -1, -1, left + 1, HEIGHT + 1)
    assert possible(found, -1, -1, WIDTH + 1, top + 1)
    assert possible(found, right - 1, -1, WIDTH + 1, HEIGHT + 1)
    assert possible(found, -1, bottom - 1, WIDTH + 1, HEIGHT + 1)


@pytest.mark.deep
@given(scenes())
def test_nothing_in_the_picture_is_beyond_the_rectangle(found: Scene) -> None:
    left, top, right, bottom = seen = rectangle(*found)
    assume(not np.isnan(seen).any())
    assert not possible(found, 1, 1, left - 1, HEIGHT - 1)
    assert not possible(found, 1, 1, WIDTH - 1, top - 1)
    assert not possible(found, right + 1, 1, WIDTH - 1, HEIGHT - 1)
    assert not possible(found, 1, bottom + 1, WIDTH - 1, HEIGHT - 1)


@given(st.lists(scenes(), min_size=2, max_size=5))
def test_boxes_do_not_touch_one_another(found: list[Scene]) -> None:
    boxes, sizes, egos, eyes = zip(*found, strict=True)
    together = visible_rectangles(
        Boxes(_all(boxes), np.array(sizes)),
        CameraViews(
            _all(egos),
            _all([eye.pose for eye in eyes]),
            np.array([eye.intrinsic for eye in eyes]),
            np.array([(WIDTH, HEIGHT)] * len(eyes), float),
        ),
    )
    assert np.allclose(together, [rectangle(*one) for one in found], atol=SLACK, equal_nan=True)


def _all(poses: list[Pose]) -> Poses:
    return Poses(np.array([pose.translation for pose in poses]), np.array([pose.rotation for pose in poses]))


@given(scenes(), turns)
def test_a_rotation_and_its_negative_are_the_same(found: Scene, turn: Vector) -> None:
    box, *rest = found
    both = [rectangle(Pose(box.translation, tuple(sign * value for value in turn)), *rest) for sign in (1, -1)]
    assert np.allclose(*both, atol=SLACK, equal_nan=True)
