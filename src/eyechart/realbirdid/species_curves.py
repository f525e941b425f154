"""The curves of a case of species, under every list: what each threshold gains and costs."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.abstention import CRITERIA, tradeoff
from eyechart.metrics.information_gain import information_gain
from eyechart.metrics.selective import macro_coverage
from eyechart.metrics.thresholds import accuracy_coverage
from eyechart.protocol.numbers import thin_curve
from eyechart.realbirdid.species_views import View, Views, named

Floats = NDArray[np.float64]
Points = tuple[str, Floats, Floats, Floats]  # a curve's name, its thresholds, x and y


def curve_rows(views: Views) -> Iterator[list[Any]]:
    """Every curve, of one with many points as many as `spread` leaves.

    Thresholds are written in full, so that they keep what the point says.
    """
    yield ["labels", "curve", "threshold", "x", "y"]
    for view in views.every:
        for name, thresholds, x, y in (*gains(views, view), *abstentions(view), *accuracies(view)):
            kept = thin_curve(len(thresholds))
            for threshold, *point in zip(*(column[kept].tolist() for column in (thresholds, x, y)), strict=True):
                yield [view.labels, name, repr(threshold), *(f"{value:.9g}" for value in point)]


def gains(views: Views, view: View) -> Iterator[Points]:
    """Accuracy of the answerable birds' nodes by their mean information."""
    rows = np.flatnonzero(view.told & view.seen.answerable)
    if len(rows):
        found = information_gain(views.tree, view.summary.stairs.of(rows), view.seen.species[rows])
        yield "ig", found.thresholds, found.gain, found.accuracy


def abstentions(view: View) -> Iterator[Points]:
    """The share of unanswerable birds abstained from by that of answerable ones."""
    without = ~view.seen.answerable[view.told]
    if without.any() and not without.all():
        for criterion in CRITERIA:
            yield f"abstention {criterion}", *tradeoff(view.uncertainty(criterion, 0)[view.told], without)


def accuracies(view: View) -> Iterator[Points]:
    """Accuracy by coverage of every set and level: by each criterion, and with every class counted alike.

    One less the accuracy is the risk of the risk-coverage curve.
    """
    for name, place, mask in view.sets():
        right, truth = view.correct[place][mask], view.truths[place][mask]
        for criterion in CRITERIA if len(right) else ():
            found = accuracy_coverage(-view.uncertainty(criterion, place)[mask], right)
            yield named(f"accuracy {name}", criterion, " "), found.thresholds, found.coverage, found.accuracy
        if len(right):
            found = macro_coverage(-view.uncertainty(CRITERIA[0], place)[mask], right, truth)
            yield f"macro {name}", found.thresholds, found.coverage, found.accuracy
