"""The measures of OODBench with their intervals, from counts of answers."""

import numpy as np

from eyechart.metrics.degenerate_intervals import measure_intervals, share_interval
from eyechart.metrics.resampling import cluster_bootstrap_totals
from eyechart.metrics.yes_no import confusion_measures

from ..answers import Floats, Ints
from ..render import NumberCell

TIMES = 2000
HEADS = {"acc": "Accuracy", "f1": "F1", "precision": "Precision", "recall": "Recall", "mcc": "MCC"}
RATES = {"yes_rate": "Yes", "unparsed": "Unparsed"}


def measure_numbers(counts: Ints, strata: Ints, images: Ints, seed: int) -> dict[str, NumberCell]:
    """Return every measure and rate of a set with its interval clustered by image, as in the record of one data set."""
    tables, rate_counts = counts[:, :4], counts[:, 4:]
    _, units = np.unique(np.column_stack([strata, images]), axis=0, return_inverse=True)
    units = units.ravel()
    values, draws = (
        confusion_measures(tables.sum(axis=0)),
        confusion_measures(cluster_bootstrap_totals(tables, images, TIMES, seed, strata)),
    )
    sure = measure_intervals(tables, draws, clusters=units)
    parts, drawn = (
        rates(rate_counts.sum(axis=0)),
        rates(cluster_bootstrap_totals(rate_counts, images, TIMES, seed, strata)),
    )
    of = {
        name: share_interval(drawn[name], float(part), len(np.unique(units)))
        for name, part in parts.items()
        if part == part
    }
    return {
        name: NumberCell(float(value), ci=interval_or_none({**sure, **of}.get(name)))
        for name, value in {**values, **parts}.items()
    }


def rates(totals: Ints) -> dict[str, Floats]:
    """Return the shares of yes answers and unparsed answers of totals (..., 3)."""
    with np.errstate(invalid="ignore"):
        return {name: totals[..., place] / totals[..., 2] for place, name in enumerate(RATES)}


def interval_or_none(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return an interval, None if an end is NaN."""
    return None if interval is None or np.isnan(interval).any() else (interval[0], interval[1])
