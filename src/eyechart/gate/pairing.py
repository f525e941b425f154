"""Numbers with what they are made of: the samples' outcomes, or draws that any run takes of the same resamples."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from eyechart.gate.evidence import Floats, Given
from eyechart.records import Metric

Key = tuple[str, str, str]  # a number's name, its ground truth, its set
Draw = Callable[[], Floats]
Drawn = Callable[[], Iterable[NDArray[np.int64]]]  # how often each sample is taken, resample by resample


def paired(
    metrics: Iterable[Metric],
    outcomes: Mapping[Key, Floats],
    draws: Mapping[Key, Draw],
    units: Mapping[Key, int] | None = None,
) -> Iterator[Given]:
    """Every number with its outcomes (n,) and its draws (TIMES,), where it has a value and there are any.

    `units` are the images that numbers are about which count several samples of one.
    """
    for metric in metrics:
        key = key_of(metric)
        yield Given(metric, outcomes.get(key), draws_of(metric, draws), (units or {}).get(key))


def draws_of(metric: Metric, draws: Mapping[Key, Draw]) -> Floats | None:
    """A number's draws, where it has a value and there are any."""
    draw = None if metric.value is None else draws.get(key_of(metric))
    return draw() if draw else None


def key_of(metric: Metric) -> Key:
    """What tells a number from the case's others."""
    return metric.name, metric.labels, metric.category
