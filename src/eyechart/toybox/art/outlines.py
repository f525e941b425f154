"""From masks to what annotation files hold: polygons along pixel borders, and run lengths."""

from collections import defaultdict
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Point = tuple[int, int]
Polygon = list[Point]


def fill_holes(mask: Mask) -> Mask:
    """Fill a mask's holes, which a polygon cannot have."""
    from scipy.ndimage import binary_fill_holes

    filled: Mask = binary_fill_holes(mask)
    return filled


def polygons(mask: Mask) -> list[Polygon]:
    """Outline every part of a mask, holes filled, clockwise along pixel borders; the largest part comes first.

    Points are (x, y) with pixel (row, column) covering x from column to column + 1. Parts that touch only at a corner
    are two, so that the areas of the polygons add up to the pixels of the filled mask.
    """
    following = _borders(fill_holes(mask))
    outlines = []
    while following:
        outlines.append(_corners(_loop(following)))
    return sorted(outlines, key=lambda polygon: (-area(polygon), polygon))


def area(polygon: Polygon) -> float:
    """The area inside a polygon, positive where it runs clockwise on the screen."""
    closed = [*polygon, polygon[0]]
    return sum(x * next_y - next_x * y for (x, y), (next_x, next_y) in pairwise(closed)) / 2


def run_lengths(mask: Mask) -> list[int]:
    """Count pixels outside and inside in turn, down the columns, beginning outside: COCO's uncompressed RLE."""
    flat = mask.flatten(order="F")
    changes = np.flatnonzero(np.diff(flat)) + 1
    bounds = [0, *([0] if flat[0] else []), *changes.tolist(), len(flat)]
    return [after - before for before, after in pairwise(bounds)]


def _borders(mask: Mask) -> dict[Point, list[Point]]:
    """Collect every border of a pixel with its outside, directed so that the pixel lies to the right."""
    inside = np.pad(mask, 1)
    following: dict[Point, list[Point]] = defaultdict(list)
    for row, column in np.argwhere(mask).tolist():
        around = inside[row : row + 3, column : column + 3]
        if not around[0, 1]:
            following[column, row].append((column + 1, row))
        if not around[1, 2]:
            following[column + 1, row].append((column + 1, row + 1))
        if not around[2, 1]:
            following[column + 1, row + 1].append((column, row + 1))
        if not around[1, 0]:
            following[column, row + 1].append((column, row))
    return following


def _loop(following: dict[Point, list[Point]]) -> Polygon:
    """Take one closed way out of the borders; at a corner where two ways cross, turn right."""
    start = min(following)
    way, before = [start], start
    while True:
        here = way[-1]
        ways = following[here]
        step = ways[0] if len(ways) == 1 else min(ways, key=lambda there: _turn(before, here, there))
        ways.remove(step)
        if not ways:
            del following[here]
        if step == start:
            return way
        way.append(step)
        before = here


def _turn(before: Point, here: Point, there: Point) -> int:
    """-1 for a turn to the right, 1 to the left, on a screen whose y runs down."""
    along, across = (here[0] - before[0], here[1] - before[1]), (there[0] - here[0], there[1] - here[1])
    return -(along[0] * across[1] - along[1] * across[0])


def _corners(way: Polygon) -> Polygon:
    """Leave out points on straight lines."""
    ring = [way[-1], *way, way[0]]
    return [here for before, here, after in zip(ring, ring[1:], ring[2:], strict=False) if _turn(before, here, after)]
