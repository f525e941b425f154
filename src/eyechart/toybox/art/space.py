"""Positions and rotations between a camera, the car that carries it, and the world, as nuScenes writes them down.

Quaternions are (w, x, y, z). A camera looks along its z, x to the right and y down; a car drives along its x, y to the
left and z up.
"""

import math
from dataclasses import dataclass

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


@dataclass(frozen=True)
class Pose:
    """Where a frame's origin is in the frame outside it, and how it is turned."""

    translation: Vector
    rotation: Quaternion

    def outward(self, point: Vector) -> Vector:
        """Give a point of the frame in the frame outside it."""
        x, y, z = rotate(self.rotation, point)
        return x + self.translation[0], y + self.translation[1], z + self.translation[2]


@dataclass(frozen=True)
class Camera:
    """A pinhole: its place on the car, its focal length and its centre in pixels."""

    pose: Pose
    focal: float
    centre: tuple[float, float]

    @property
    def intrinsic(self) -> list[list[float]]:
        """The matrix from a direction to pixels."""
        return [[self.focal, 0.0, self.centre[0]], [0.0, self.focal, self.centre[1]], [0.0, 0.0, 1.0]]

    def point(self, x: float, y: float, depth: float) -> Vector:
        """Return the point, as the camera sees it, that a pixel shows at a depth."""
        return (x - self.centre[0]) * depth / self.focal, (y - self.centre[1]) * depth / self.focal, depth


def rotation_about_vertical(angle: float) -> Quaternion:
    """Return a turn to the left, in radians, around the axis that points up."""
    return round(math.cos(angle / 2), 9), 0.0, 0.0, round(math.sin(angle / 2), 9)


def multiply(first: Quaternion, second: Quaternion) -> Quaternion:
    """Return the rotation that does the second, then the first."""
    (a, b, c, d), (e, f, g, h) = first, second
    return (
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    )


def rotate(by: Quaternion, point: Vector) -> Vector:
    """Rotate a point."""
    w, x, y, z = by
    _, *there = multiply(multiply(by, (0.0, *point)), (w, -x, -y, -z))
    return there[0], there[1], there[2]
