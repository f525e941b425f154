"""The headline metrics of a case: those over all samples, without images whose outcome no answer can change.

A label set may count an image without any label as correct or as wrong, whatever the answer is. The published tables
do so over all images. The headline is then the same metric over the images with a label, the subset `labelled`.
"""

from collections.abc import Iterable

from eyechart.results.records import ANSWERABLE, LABELLED, WHOLE, Metric

ANSWERED, ASKED = "answered", "asked"  # the proportion of requested samples without an error, and its subset
WITH_EMPTY = "incl. no_label"  # added to the subset of all images where the labelled ones are listed beside it


def headlines(metrics: Iterable[Metric]) -> list[Metric]:
    """Return the metrics over all samples, or all answerable ones, without those that count images without a label.

    Those over the labelled images stand in for the latter.
    """
    metrics = list(metrics)
    return [
        metric
        for metric in metrics
        if metric.subset_text in (LABELLED, ANSWERABLE)
        or (metric.subset_text == WHOLE and not counts_empty(metric, metrics))
    ]


def counts_empty(metric: Metric, metrics: Iterable[Metric]) -> bool:
    """Return whether a metric counts images without a label and has a counterpart over the labelled ones."""
    counterpart = (metric.name, metric.labels, LABELLED)
    return metric.subset_text == WHOLE and any(m.printed_key == counterpart for m in metrics)


def subset_name(metric: Metric, metrics: Iterable[Metric]) -> str:
    """Return the name of a metric's subset in a list of metrics.

    >>> fields = {"value": 1.0, "n": 1, "n_clusters": 1, "ci": None, "ci_method": ""}
    >>> both = [Metric("acc1", "ReaL", subset, **fields) for subset in ("all", "labelled")]
    >>> [subset_name(metric, both) for metric in both]
    ['all, incl. no_label', 'labelled']
    """
    return f"{metric.subset_text}, {WITH_EMPTY}" if counts_empty(metric, metrics) else metric.subset_text
