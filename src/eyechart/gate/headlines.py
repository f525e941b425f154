"""The headline metrics of a case: those over all samples, without images whose outcome no answer can change.

A label set may count an image without any label as correct or as wrong, whatever the answer is. The published tables
do so in their category A. The headline is then the same metric over the images with a label, the category S∪M.
"""

from collections.abc import Iterable

from eyechart.records import Metric

WHOLE = ("A", "all")
LABELLED = "S∪M"
ANSWERED, ASKED = "answered", "asked"  # the proportion of requested samples without an error, and its category
WITH_EMPTY = "incl. N"  # added to the category A where S∪M is listed beside it


def headlines(metrics: Iterable[Metric]) -> list[Metric]:
    """Return the metrics over all samples; where these count images without a label, those over S∪M instead."""
    metrics = list(metrics)
    return [
        metric
        for metric in metrics
        if metric.category == LABELLED or (metric.category in WHOLE and not counts_empty(metric, metrics))
    ]


def counts_empty(metric: Metric, metrics: Iterable[Metric]) -> bool:
    """Return whether a metric counts images without a label and has a counterpart over S∪M."""
    counterpart = (metric.name, metric.labels, LABELLED)
    return metric.category in WHOLE and any((m.name, m.labels, m.category) == counterpart for m in metrics)


def category_name(metric: Metric, metrics: Iterable[Metric]) -> str:
    """Return the name of a metric's category in a list of metrics.

    >>> fields = {"name": "acc1", "labels": "ReaL", "value": 1.0, "n": 1, "ci": None, "ci_method": ""}
    >>> both = [Metric(category=category, **fields) for category in ("A", "S∪M")]
    >>> [category_name(metric, both) for metric in both]
    ['A, incl. N', 'S∪M']
    """
    return f"{metric.category}, {WITH_EMPTY}" if counts_empty(metric, metrics) else metric.category
