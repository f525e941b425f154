"""Curves in files: which of their points are written."""

import numpy as np

POINTS = 1000  # of a curve in a file


def thin_curve(points: int) -> list[int]:
    """Return the indices of at most POINTS points of a curve, evenly spaced, with the first and the last."""
    kept: list[int] = np.unique(np.linspace(0, points - 1, min(points, POINTS)).round().astype(np.int64)).tolist()
    return kept
