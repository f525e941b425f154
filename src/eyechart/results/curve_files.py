"""Curves in files are written with a limited number of points."""

import numpy as np

POINTS = 1000  # of a curve in a file


def thin_curve(points: int) -> list[int]:
    """Return the indices of at most POINTS points of a curve, evenly spaced, with the first and the last.

    >>> thin_curve(3), len(thin_curve(5000)), thin_curve(5000)[-1]
    ([0, 1, 2], 1000, 4999)
    """
    indices: list[int] = np.unique(np.linspace(0, points - 1, min(points, POINTS)).round().astype(np.int64)).tolist()
    return indices
