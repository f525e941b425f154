"""What cases about species write down: every bird's answer level by level, the curves, and who is in the data."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.metrics.abstention import CRITERIA, tradeoff
from eyechart.metrics.information_gain import information_gain
from eyechart.metrics.selective import macro_coverage
from eyechart.metrics.thresholds import accuracy_coverage
from eyechart.protocol.curves import thin_curve
from eyechart.protocol.result import Rows
from eyechart.realbirdid.recording import BIRD, BirdRecording, cells, marks, names_of
from eyechart.realbirdid.species import ALL, RANGE, Species
from eyechart.realbirdid.species_scoring import (
    View,
    Views,
    named,
    species_estimates,
)
from eyechart.records import Outcomes

PREFIXES = {ALL: "all.", RANGE: "range."}
Floats = NDArray[np.float64]
Points = tuple[str, Floats, Floats, Floats]  # a curve's name, its thresholds, x and y


class SpeciesRecording(BirdRecording[Species]):
    """Collects the numbers of a case of species."""

    def species(self, found: Species) -> None:
        """Score the probabilities."""
        self.views = Views(found)
        self.scored.extend(species_estimates(self.views, self.settings.seed))

    def outcomes(self) -> Outcomes:
        """What became of the birds at the finest level that is known of each."""
        correct = self.views[ALL].deepest
        return Outcomes(correct=int((correct == 1).sum()), wrong=int((correct == 0).sum()), error=len(self.errors))

    def artifact_rows(self) -> dict[str, Rows]:
        """The curves, and the genera."""
        return {**super().artifact_rows(), "curves": curve_rows(self.views)}

    def answer_rows(self) -> Rows:
        """Every bird: the best of every level, how sure it is, and whether it is right."""
        levels = self.found.observed.taxonomy.levels
        numbers = ("", ".p", ".p2", ".entropy", ".correct")
        titles = [f"{prefix}{level}{number}" for prefix in PREFIXES.values() for level in levels for number in numbers]
        yield [*BIRD, "error", *titles, "range.choices"]
        columns = [column for labels in PREFIXES for column in self.columns(labels)]
        told = zip(*columns, self.found.observed.choices.tolist(), strict=True)
        for row, said in enumerate(told):
            yield [*self.bird_cells(row), self.found.errors.get(row, ""), *said]

    def columns(self, labels: str) -> Iterator[list[str]]:
        """What is said of all birds under one list, level by level."""
        view, names = self.views[labels], self.found.observed.taxonomy.names
        for level, known, right in zip(view.summary.levels, names, view.correct, strict=True):
            yield names_of(level.best, known)
            yield from (cells(part) for part in (level.probability, level.second, level.entropy))
            yield marks(right)


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
