"""Which part of a picture a box in the world takes up: the geometry of nuScenes, for many boxes at once.

Everything happens in homogeneous pixels q = K p, where p is a point as the camera sees it: there a box is still the
image of a cube under a linear map, and what can be seen lies between five planes, the four sides of the picture and
the nearest distance. Boxes are cut at these planes, not judged by their corners, so that one that reaches behind the
camera, or is so near that none of its corners is in the picture, counts as any other.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NEAR = 0.1  # metres before the camera where the visible space begins
PARALLEL = 1e-12
BLOCK = 4096
CORNERS = np.array([*product((-1.0, 1.0), repeat=3)])
EDGES = np.array([(a, b) for a in range(8) for b in range(a) if np.abs(CORNERS[a] - CORNERS[b]).sum() == 2])
UNIT = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])


@dataclass(frozen=True)
class Poses:
    """Where n frames are in the frames outside them (n, 3), in metres, and how they are turned (n, 4): w, x, y, z."""

    translation: Floats
    rotation: Floats


@dataclass(frozen=True)
class Boxes:
    """The n boxes in the world; `size` (n, 3) is width (along y), length (along x) and height (along z), in metres."""

    pose: Poses
    size: Floats


@dataclass(frozen=True)
class CameraViews:
    """The n pictures: the car in the world, the camera on the car, its matrix (n, 3, 3), width and height (n, 2)."""

    ego: Poses
    camera: Poses
    intrinsic: Floats
    size: Floats


def visible_rectangles(boxes: Boxes, views: CameraViews) -> Floats:
    """Return the rectangle around the part of every box that is in the picture of its row.

    The result is (n, 4): left, top, right and bottom in pixels, within the picture; NaN where no part is in it. What
    hides what is not considered. The devkit's `BoxVisibility.ANY` asks for a corner in the picture and all corners in
    front of the camera; it misses boxes that are cut off on all sides.
    """
    centre, axes = _to_camera(boxes, views)
    starts = range(0, len(centre), BLOCK)
    parts = [_rectangles(*(values[start : start + BLOCK] for values in (centre, axes, views.size))) for start in starts]
    return np.concatenate([np.empty((0, 4)), *parts])


def _to_camera(boxes: Boxes, views: CameraViews) -> tuple[Floats, Floats]:
    """Return the boxes' centres (n, 3) and half axes, as columns (n, 3, 3), in homogeneous pixels."""
    ego, camera = _rotation(views.ego.rotation).inv(), _rotation(views.camera.rotation).inv()
    on_car = ego.apply(boxes.pose.translation - views.ego.translation)
    centre = camera.apply(on_car - views.camera.translation)
    axes = (camera * ego * _rotation(boxes.pose.rotation)).as_matrix() * (boxes.size[:, None, [1, 0, 2]] / 2)
    return np.einsum("nij,nj->ni", views.intrinsic, centre), views.intrinsic @ axes


def _rotation(rotation: Floats) -> Any:
    from scipy.spatial.transform import Rotation  # half a second that few runs need

    return Rotation.from_quat(rotation, scalar_first=True)


def _rectangles(centre: Floats, axes: Floats, size: Floats) -> Floats:
    """Return the rectangles around what is common to boxes and visible space: all its vertices lie on their edges."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.concatenate([_box_edges(centre, axes, size), _view_edges(centre, axes, size)], axis=1)
        pixels = ends[..., :2] / ends[..., 2:]
    low, high = (np.where(np.isnan(pixels), away, pixels) for away in (np.inf, -np.inf))
    rectangles = np.concatenate([low.min(axis=1), high.max(axis=1)], axis=1)
    return np.where(np.isinf(rectangles).any(axis=1, keepdims=True), np.nan, rectangles)


def _box_edges(centre: Floats, axes: Floats, size: Floats) -> Floats:
    """Return the ends (n, 24, 3) of what the visible space leaves of the boxes' edges, NaN for nothing."""
    corners = centre[:, None] + CORNERS @ axes.transpose(0, 2, 1)
    first, second = corners[:, EDGES[:, 0]], corners[:, EDGES[:, 1]]
    inside, beyond = _inside(first, size), _inside(second, size)
    cut = inside / (inside - beyond)
    enter = np.where(inside < 0, np.where(beyond < 0, np.inf, cut), 0.0).max(axis=2)
    leave = np.where(beyond < 0, np.where(inside < 0, -np.inf, cut), 1.0).min(axis=2)
    return _ends(first, second - first, enter, leave)


def _inside(points: Floats, size: Floats) -> Floats:
    """Return how far points (n, m, 3) are on the visible side of the five planes (n, m, 5)."""
    x, y, depth = points[..., 0], points[..., 1], points[..., 2]
    width, height = size[:, :1], size[:, 1:]
    return np.stack([x, width * depth - x, y, height * depth - y, depth - NEAR], axis=2)


def _view_edges(centre: Floats, axes: Floats, size: Floats) -> Floats:
    """Return the ends (n, 16, 3) of what the boxes leave of the edges of the visible space, NaN for nothing.

    These are the rays through the corners of the picture, without end, and the sides of the nearest rectangle.
    """
    rays = np.concatenate([UNIT * size[:, None], np.ones((len(size), 4, 1))], axis=2)
    near = NEAR * rays
    origins = np.concatenate([near, near], axis=1)
    ways = np.concatenate([rays, np.roll(near, -1, axis=1) - near], axis=1)
    into = np.linalg.inv(axes).transpose(0, 2, 1)
    start, way = (origins - centre[:, None]) @ into, ways @ into
    parallel = np.abs(way) < PARALLEL
    way = np.where(parallel, 1.0, way)
    middle = np.where(parallel, 0.0, -start / way)
    bound = np.where(parallel, np.where(np.abs(start) <= 1, np.inf, -np.inf), 1 / np.abs(way))
    enter = np.maximum((middle - bound).max(axis=2), 0.0)
    leave = np.minimum((middle + bound).min(axis=2), [np.inf] * 4 + [1.0] * 4)
    return _ends(origins, ways, enter, leave)


def _ends(origins: Floats, ways: Floats, enter: Floats, leave: Floats) -> Floats:
    """Return both ends of the stretches of lines, NaN where they end before they begin."""
    none = ~(enter <= leave)
    both = np.concatenate([np.where(none, np.nan, end)[..., None] * ways + origins for end in (enter, leave)], axis=1)
    return np.asarray(both)
