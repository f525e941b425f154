"""Estimates of the first proportion of a case on the slices of the user's table: `acc1 (original, lighting=night)`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from eyechart.data.dataset.slice_variables import SliceVariable
from eyechart.protocol.base import Floats, Ints
from eyechart.results.estimates import Estimate
from eyechart.results.headlines import ANSWERED
from eyechart.results.records import LABELLED, WHOLE
from eyechart.statistics.clusters import clustered_wilson


def slice_estimates(
    estimates: Sequence[Estimate], variables: Iterable[SliceVariable], clusters: Ints | None
) -> Iterator[Estimate]:
    """Yield the metric that is sliced on each slice of variables (n,); `clusters` (n,) as elsewhere."""
    whole = _sliced_estimate(estimates)
    if whole is None or whole.correct is None:
        return
    units = np.arange(len(whole.correct)) if clusters is None else clusters
    for variable in variables:
        for index, value in enumerate(variable.values):
            outcomes = np.where(variable.codes == index, whole.correct, np.nan)
            yield _slice_estimate(whole, f"{variable.name}={value}", outcomes, units)


def _sliced_estimate(estimates: Sequence[Estimate]) -> Estimate | None:
    """Return the first proportion that the gate judges; of one that counts images without a label, that without them.

    It is the primary metric, unless that is no proportion.
    """
    judged = {
        estimate.key: estimate
        for estimate in estimates
        if estimate.n
        and estimate.higher_is_better is not None
        and estimate.name != ANSWERED
        and estimate.correct is not None
    }
    first = next(iter(judged.values()), None)
    if first is None or first.subset_text != WHOLE:
        return first
    return judged.get((first.name, first.labels, LABELLED, "", ""), first)


def _slice_estimate(whole: Estimate, subset: str, outcomes: Floats, clusters: Ints) -> Estimate:
    """Return the mean of outcomes (n,) of 1, 0 and NaN, with Wilson's interval over clusters (n,)."""
    known = ~np.isnan(outcomes)
    n, n_clusters = int(known.sum()), len(np.unique(clusters[known]))
    return replace(
        whole,
        subset=subset,
        level="",
        prompt="",
        title=subset,
        value=float(outcomes[known].mean()) if n else None,
        n=n,
        n_clusters=n_clusters,
        interval=clustered_wilson(outcomes, clusters) if n else None,
        method="wilson" if n_clusters == n else "clustered wilson",
        correct=None,
        bootstrap=None,
        epochs_interval=None,
    )
