"""Projection of 3D boxes into camera images: the geometry of nuScenes, vectorised over boxes.

The computations use homogeneous pixels q = K p, where K is the camera matrix and p a point in the camera frame. In
these coordinates a box is the image of a cube under a linear map. The visible space is bounded by five planes: the
four sides of the image and the nearest distance. Boxes are clipped at these planes. A test of the corners alone would
miss boxes that extend behind the camera, and near boxes without a corner in the image.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NEAR = 0.1  # metres: distance from the camera to the visible space
_PARALLEL = 1e-12
BLOCK = 4096
_CORNERS = np.array([*product((-1.0, 1.0), repeat=3)])
EDGES = np.array([(a, b) for a in range(8) for b in range(a) if np.abs(_CORNERS[a] - _CORNERS[b]).sum() == 2])
_UNIT = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])


@dataclass(frozen=True)
class Poses:
    """The poses of n frames in their parent frames: translation (n, 3) in metres, rotation (n, 4) as w, x, y, z."""

    translation: Floats
    rotation: Floats


@dataclass(frozen=True)
class Boxes:
    """The n boxes in world coordinates; `size` (n, 3) is width (y), length (x) and height (z) in metres."""

    pose: Poses
    size: Floats


@dataclass(frozen=True)
class CameraViews:
    """The n images: poses of the car and of the camera on it, camera matrix (n, 3, 3), width and height (n, 2)."""

    ego: Poses
    camera: Poses
    intrinsic: Floats
    size: Floats


def visible_rectangles(boxes: Boxes, views: CameraViews) -> Floats:
    """Return the rectangle around the part of each box that is in the image of the same row.

    The result is (n, 4): left, top, right and bottom in pixels, within the image; NaN if no part is in the image.
    Occlusion is ignored. The devkit's `BoxVisibility.ANY` requires a corner in the image and all corners in front of
    the camera, so that it misses boxes that extend beyond the image on all sides.
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
    from scipy.spatial.transform import Rotation  # slow to import (half a second), and few runs need it

    return Rotation.from_quat(rotation, scalar_first=True)


def _rectangles(centre: Floats, axes: Floats, size: Floats) -> Floats:
    """Return the rectangles around the intersections of boxes and visible space.

    All vertices of an intersection lie on edges of the box or of the visible space.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.concatenate([_box_edges(centre, axes, size), _view_edges(centre, axes, size)], axis=1)
        pixels = ends[..., :2] / ends[..., 2:]
    low, high = (np.where(np.isnan(pixels), away, pixels) for away in (np.inf, -np.inf))
    rectangles = np.concatenate([low.min(axis=1), high.max(axis=1)], axis=1)
    return np.where(np.isinf(rectangles).any(axis=1, keepdims=True), np.nan, rectangles)


def _box_edges(centre: Floats, axes: Floats, size: Floats) -> Floats:
    """Return the ends (n, 24, 3) of the boxes' edges after clipping at the visible space, NaN for invisible edges."""
    corners = centre[:, None] + _CORNERS @ axes.transpose(0, 2, 1)
    first, second = corners[:, EDGES[:, 0]], corners[:, EDGES[:, 1]]
    inside, beyond = _inside(first, size), _inside(second, size)
    cut = inside / (inside - beyond)
    enter = np.where(inside < 0, np.where(beyond < 0, np.inf, cut), 0.0).max(axis=2)
    leave = np.where(beyond < 0, np.where(inside < 0, -np.inf, cut), 1.0).min(axis=2)
    return _ends(first, second - first, enter, leave)


def _inside(points: Floats, size: Floats) -> Floats:
    """Return signed values of points (n, m, 3) for the five planes (n, m, 5), positive on the visible side."""
    x, y, depth = points[..., 0], points[..., 1], points[..., 2]
    width, height = size[:, :1], size[:, 1:]
    return np.stack([x, width * depth - x, y, height * depth - y, depth - NEAR], axis=2)


def _view_edges(centre: Floats, axes: Floats, size: Floats) -> Floats:
    """Return the ends (n, 16, 3) of the visible space's edges after clipping at the boxes, NaN for edges outside.

    The edges are the infinite rays through the corners of the image, and the sides of the nearest rectangle.
    """
    rays = np.concatenate([_UNIT * size[:, None], np.ones((len(size), 4, 1))], axis=2)
    near = NEAR * rays
    origins = np.concatenate([near, near], axis=1)
    ways = np.concatenate([rays, np.roll(near, -1, axis=1) - near], axis=1)
    into = np.linalg.inv(axes).transpose(0, 2, 1)
    start, way = (origins - centre[:, None]) @ into, ways @ into
    parallel = np.abs(way) < _PARALLEL
    way = np.where(parallel, 1.0, way)
    middle = np.where(parallel, 0.0, -start / way)
    bound = np.where(parallel, np.where(np.abs(start) <= 1, np.inf, -np.inf), 1 / np.abs(way))
    enter = np.maximum((middle - bound).max(axis=2), 0.0)
    leave = np.minimum((middle + bound).min(axis=2), [np.inf] * 4 + [1.0] * 4)
    return _ends(origins, ways, enter, leave)


def _ends(origins: Floats, ways: Floats, enter: Floats, leave: Floats) -> Floats:
    """Return both ends of line segments, NaN for empty segments."""
    none = ~(enter <= leave)
    both = np.concatenate([np.where(none, np.nan, end)[..., None] * ways + origins for end in (enter, leave)], axis=1)
    return np.asarray(both)
