"""The measures of OODBench with their intervals, from counts of answers."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from eyechart.oodbench.tables.pair_frames import CONFUSION, COUNTS
from eyechart.statistics.array_types import Floats, Ints
from eyechart.statistics.degenerate_intervals import measure_intervals, share_interval
from eyechart.statistics.resampling import cluster_bootstrap_totals
from eyechart.statistics.yes_no import confusion_measures

TIMES = 2000
HEADS = {"acc": "Accuracy", "f1": "F1", "precision": "Precision", "recall": "Recall", "mcc": "MCC"}
RATES = {"yes_rate": "Yes", "unparsed": "Unparsed"}
COLUMNS = ("Num", *HEADS.values())
MEANING = (
    "Num: answers, two opposite questions per pair. Accuracy to MCC in %, yes is the positive class; an unparsed "
    "answer counts as wrong, a pair with an error is left out. Yes and Unparsed: shares of the answers. "
    "Brackets: 95 % intervals, bootstrap over images with all their pairs, within each data set."
)
Estimates = dict[str, tuple[float, float, float]]  # the value of each measure and the ends of its interval


def measure_cells(pairs: pd.DataFrame, seed: int, columns: Sequence[str] = (*COLUMNS, *RATES.values())) -> pd.DataFrame:
    """Return the number of answers of some pairs, then every measure and rate with its interval, as cells.

    `pairs` has the columns of `page_pairs`; pairs without both answers do not count.
    """
    pairs = pairs[pairs["answered"]]
    estimates = _measure_estimates(
        pairs[COUNTS].to_numpy(np.int64), pairs["data"].to_numpy(np.int64), pairs["image"].to_numpy(np.int64), seed
    )
    rows: list[dict[str, object]] = [{"column": "Num", "count": int(pairs[CONFUSION].to_numpy().sum())}]
    for name, (value, low, high) in estimates.items():
        rows.append({"column": (HEADS | RATES)[name], "value": value, "low": low, "high": high})
    cells = pd.DataFrame(rows)
    return cells[cells["column"].isin(columns)]


def _measure_estimates(counts: Ints, strata: Ints, images: Ints, seed: int) -> Estimates:
    """Return every measure and rate of pairs with its interval clustered by image, as in the record of one data set.

    `counts` (m, 7) are the columns COUNTS of each pair; `strata` and `images` (m,) its data set and image. An interval
    that is not defined has the ends NaN.
    """
    tables, rate_counts = counts[:, : len(CONFUSION)], counts[:, len(CONFUSION) :]
    _, units = np.unique(np.column_stack([strata, images]), axis=0, return_inverse=True)
    units = units.ravel()
    values, drawn = (
        {**confusion_measures(confusion), **rates(totals)}
        for confusion, totals in (
            (tables.sum(axis=0), rate_counts.sum(axis=0)),
            (
                cluster_bootstrap_totals(tables, images, TIMES, seed, strata),
                cluster_bootstrap_totals(rate_counts, images, TIMES, seed, strata),
            ),
        )
    )
    intervals = measure_intervals(tables, drawn, clusters=units)
    for name in RATES:
        if not np.isnan(values[name]):
            intervals[name] = share_interval(drawn[name], float(values[name]), len(np.unique(units)))
    return {name: (float(value), *intervals.get(name, (np.nan, np.nan))) for name, value in values.items()}


def rates(totals: Ints) -> dict[str, Floats]:
    """Return the shares of yes answers and unparsed answers of totals (..., 3)."""
    with np.errstate(invalid="ignore"):
        return {name: totals[..., index] / totals[..., -1] for index, name in enumerate(RATES)}
