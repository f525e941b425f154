"""The ranges of metrics: no value, end of an interval or loss lies outside of them."""

from math import inf

from eyechart.results.glossary import is_percent
from eyechart.results.metric_definitions import SHARE, metric_definitions

ROUNDING = 1e-9  # a sum of shares may leave its range by so much
CHANGES = ("_change", "_delta")  # the endings of changes of a metric


def range_of(name: str) -> tuple[float, float]:
    """Return the least and the largest value that a metric can have, infinite for one that is not known.

    A change, such as `mcc_delta`, has the range of the differences of two values of its metric.

    >>> range_of("acc1"), range_of("mcc"), range_of("mcc_delta"), range_of("length")
    ((0.0, 1.0), (-1.0, 1.0), (-2.0, 2.0), (-inf, inf))
    """
    known = metric_definitions()
    if name in known and (limits := known[name].range):
        return limits
    if name.endswith(CHANGES):
        base = known.get(name.rpartition("_")[0])
        least, most = (base and base.range) or SHARE
        return least - most, most - least
    return -inf, inf


def keep_in_range(name: str, value: float, interval: tuple[float, float] | None) -> tuple[float, float, float]:
    """Return a value of a metric and the ends of its interval, within the metric's range and the value within both.

    Rounding is removed from every metric: no share is -1e-16. A metric of another tool may have the name of one of ours
    and another scale: a value beyond the range stays as it is, and so does its interval. Without an interval its ends
    are NaN.

    >>> keep_in_range("aurc", 0.0, (-2e-16, 0.1)), keep_in_range("f1", 85.0, (80.0, 90.0))
    ((0.0, 0.0, 0.1), (85.0, 80.0, 90.0))
    """
    value = _without_rounding(value)
    if interval is None:
        return value, float("nan"), float("nan")
    low, high = (_without_rounding(end) for end in interval)
    least, most = range_of(name)
    if least <= value <= most:
        low, high = max(low, least), min(high, most)
    return value, min(low, value), max(high, value)


def _without_rounding(value: float) -> float:
    """Return a number that is beyond -1, 0 or 1 by an error of rounding as this whole number.

    >>> _without_rounding(1.0000000000000007), _without_rounding(-2.2e-16), _without_rounding(0.25)
    (1.0, 0.0, 0.25)
    """
    whole = float(round(value)) if abs(value) < 2 else value
    beyond = value < 0 if whole == 0 else abs(value) > abs(whole)
    return abs(whole) * (1 if whole > 0 else -1 if whole else 0) if beyond and abs(value - whole) <= ROUNDING else value


def largest_change(name: str, *values: float) -> float:
    """Return the largest change that a metric with some values can have: the width of its range, if it is known.

    >>> largest_change("acc1", 0.75), largest_change("mcc", 0.5), largest_change("f1", 85.0)
    (1.0, 2.0, inf)
    """
    least, most = range_of(name)
    return most - least if all(least <= value <= most for value in values) else inf


def largest_loss(name: str, value: float, direction: int) -> float:
    """Return the largest loss that a metric with this value can have; infinite where its range is not known.

    A metric that is not known counts as a share if its value may be one.

    >>> largest_loss("acc1", 0.75, 1), largest_loss("aurc", 0.25, -1), largest_loss("length", 9.9, 1)
    (0.75, 0.75, inf)
    """
    least, most = range_of(name)
    if (least, most) == (-inf, inf) and is_percent(name, value, counted=True):
        least, most = (0.0, 1.0) if value >= 0 else (-1.0, 1.0)
    if not least <= value <= most:
        return inf
    return value - least if direction > 0 else most - value
