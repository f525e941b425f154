"""Which of a case's numbers it is known by: those over all samples, without images that cannot be answered wrong.

A ground truth may count an image without any label as correct or as wrong, whatever the answer is. The published tables
do so in their category A. The headline is the same number over the images that have a label, the category S∪M.
"""

from collections.abc import Iterable

from eyechart.records import Metric

WHOLE = ("A", "all")
LABELLED = "S∪M"
ANSWERED, ASKED = "answered", "asked"  # the share of samples without an error, and what it is over: all that were asked
WITH_EMPTY = "incl. N"  # what the number over all images is called beside that over the images with a label


def headlines(metrics: Iterable[Metric]) -> list[Metric]:
    """Return the numbers over all samples; where images without a label are counted, those over the others instead."""
    every = list(metrics)
    return [
        metric
        for metric in every
        if metric.category == LABELLED or (metric.category in WHOLE and not counts_empty(metric, every))
    ]


def counts_empty(metric: Metric, metrics: Iterable[Metric]) -> bool:
    """Whether a number counts images without a label, and stands beside the same number without them."""
    wanted = (metric.name, metric.labels, LABELLED)
    return metric.category in WHOLE and any((m.name, m.labels, m.category) == wanted for m in metrics)


def category_name(metric: Metric, metrics: Iterable[Metric]) -> str:
    """Return what a number's category is called where its numbers are listed.

    >>> how = {"name": "acc1", "labels": "ReaL", "value": 1.0, "n": 1, "ci": None, "ci_method": ""}
    >>> both = [Metric(category=category, **how) for category in ("A", "S∪M")]
    >>> [category_name(each, both) for each in both]
    ['A, incl. N', 'S∪M']
    """
    return f"{metric.category}, {WITH_EMPTY}" if counts_empty(metric, metrics) else metric.category
