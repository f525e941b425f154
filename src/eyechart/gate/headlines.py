"""The headline metrics of a case: those over all samples, without images whose outcome no answer can change.

A label set may count an image without any label as correct or as wrong, whatever the answer is. The published tables
do so in their subset A. The headline is then the same metric over the images with a label, the subset S∪M.
"""

from collections.abc import Iterable

from eyechart.records import Metric

WHOLE = ("A", "all")
LABELLED = "S∪M"
ANSWERED, ASKED = "answered", "asked"  # the proportion of requested samples without an error, and its subset
WITH_EMPTY = "incl. N"  # added to the subset A where S∪M is listed beside it


def headlines(metrics: Iterable[Metric]) -> list[Metric]:
    """Return the metrics over all samples; where these count images without a label, those over S∪M instead."""
    metrics = list(metrics)
    return [
        metric
        for metric in metrics
        if metric.subset_text == LABELLED or (metric.subset_text in WHOLE and not counts_empty(metric, metrics))
    ]


def counts_empty(metric: Metric, metrics: Iterable[Metric]) -> bool:
    """Return whether a metric counts images without a label and has a counterpart over S∪M."""
    counterpart = (metric.name, metric.labels, LABELLED)
    return metric.subset_text in WHOLE and any((m.name, m.labels, m.subset_text) == counterpart for m in metrics)


def subset_name(metric: Metric, metrics: Iterable[Metric]) -> str:
    """Return the name of a metric's subset in a list of metrics.

    >>> fields = {"name": "acc1", "labels": "ReaL", "value": 1.0, "n": 1, "n_clusters": 1, "ci": None, "ci_method": ""}
    >>> both = [Metric(subset=subset, **fields) for subset in ("A", "S∪M")]
    >>> [subset_name(metric, both) for metric in both]
    ['A, incl. N', 'S∪M']
    """
    return f"{metric.subset_text}, {WITH_EMPTY}" if counts_empty(metric, metrics) else metric.subset_text
