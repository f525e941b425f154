"""Numbers of a record made from values, numbers of samples and intervals."""

import numpy as np

from eyechart.metrics.intervals import Interval
from eyechart.records import Metric

POINTS = 1000  # of a curve in a file


def metric(
    name: str, labels: str, value: float | None, n: int, ci: Interval | None, method: str, category: str
) -> Metric:
    """Plain Python numbers: a numpy float on a report ends a distributed session."""
    bounds = None if ci is None else (float(ci.low), float(ci.high))
    number = None if value is None else float(value)
    return Metric(name=name, labels=labels, category=category, value=number, n=n, ci=bounds, ci_method=method)


def defined(
    name: str,
    category: str,
    value: float,
    n: int,
    ci: Interval | None,
    method: str = "bootstrap",
    *,
    labels: str,
) -> Metric:
    """A number that NaN stands for where it is not defined: it then has no value, and no interval."""
    known = not np.isnan(value)
    sure = ci if known and ci is not None and not np.isnan(ci).any() else None
    return metric(name, labels, value if known else None, n, sure, method, category)


def thin_curve(points: int) -> list[int]:
    """Return the indices of at most POINTS points of a curve, evenly spaced, with the first and the last."""
    kept: list[int] = np.unique(np.linspace(0, points - 1, min(points, POINTS)).round().astype(np.int64)).tolist()
    return kept
