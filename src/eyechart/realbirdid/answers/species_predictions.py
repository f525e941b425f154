"""The probabilities of species, and their views under every label set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.protocol.base import Rows
from eyechart.realbirdid.answers.bird_predictions import (
    BIRD_COLUMNS,
    BirdPredictions,
    format_numbers,
    format_outcomes,
    names_of,
)
from eyechart.realbirdid.answers.species_summary import ProbabilitySummary
from eyechart.realbirdid.data.observations import Observations
from eyechart.realbirdid.statistics.abstention_tradeoff import CRITERIA, Criterion, abstention_curve, uncertainty
from eyechart.realbirdid.statistics.hierarchy import Tree
from eyechart.realbirdid.statistics.information_gain import information_gain
from eyechart.results.curve_files import thin_curve
from eyechart.results.records import ANSWERABLE, UNANSWERABLE, OutcomeCounts, subset_text
from eyechart.results.sample_table import SHARED_COLUMNS
from eyechart.statistics.selective import macro_accuracy_coverage
from eyechart.statistics.thresholds import accuracy_coverage

ALL, RANGE, ELIGIBLE = "all species", "range", "eligible"
PREFIXES = {ALL: "all.", RANGE: "range."}
Float64s = NDArray[np.float64]
_CurvePoints = tuple[str, Float64s, Float64s, Float64s]  # a curve's name, its thresholds, x and y


@dataclass(frozen=True)
class SpeciesPredictions(BirdPredictions):
    """Summaries of the species probabilities, over all species (`ALL`) and over the range lists (`RANGE`).

    Images without a range list have no answer under `RANGE`.
    """

    summaries: Mapping[str, ProbabilitySummary]
    seed: int = 0
    tree_levels: int | None = None  # of the tree of IG and TreeGT, the finest first; None for all

    @cached_property
    def views(self) -> "RangeViews":
        """The predictions under every label set."""
        return RangeViews(self)

    def count_outcomes(self) -> OutcomeCounts:
        """Count the images by outcome at the finest known level: species if answerable, else genus."""
        correct = self.views[ALL].finest_correct
        return OutcomeCounts(correct=int((correct == 1).sum()), wrong=int((correct == 0).sum()), error=len(self.errors))

    def files(self) -> dict[str, Rows]:
        """Return the tables of curves and genera."""
        return {**super().files(), "curves": _curve_rows(self.views)}

    def samples(self) -> Rows:
        """Yield one row per image: for every level the top name, probabilities, entropy, and outcome.

        The prediction is the top species over all species, and for an unanswerable image the top genus.
        """
        levels = self.observations.taxonomy.levels
        numbers = ("", ".probability", ".second_probability", ".entropy", ".correct")
        titles = [f"{prefix}{level}{number}" for prefix in PREFIXES.values() for level in levels for number in numbers]
        yield [*SHARED_COLUMNS, *BIRD_COLUMNS, *titles, "range.candidates"]
        columns = [column for labels in PREFIXES for column in self.sample_columns(labels)]
        rows = zip(*columns, self.observations.candidate_counts.tolist(), strict=True)
        species, genera = columns[0], columns[len(numbers)]
        correct, answerable = self.views[ALL].finest_correct, self.observations.answerable
        for row, cells in enumerate(rows):
            prediction = species[row] if answerable[row] else genera[row]
            shared = self.shared_cells(row, prediction=prediction, correct=correct[row], error=self.errors.get(row, ""))
            yield [*shared, *self.bird_cells(row), *cells]

    def sample_columns(self, labels: str) -> Iterator[list[str]]:
        """Yield the columns of one label set, level by level."""
        view, names = self.views[labels], self.observations.taxonomy.names
        for level, known, right in zip(view.summary.levels, names, view.correct, strict=True):
            yield names_of(level.best, known)
            yield from (format_numbers(part, 17) for part in (level.probability, level.second, level.entropy))
            yield format_outcomes(right)


@dataclass(frozen=True)
class RangeView:
    """Predictions under one label set, for the images in `mask` (n,)."""

    labels: str
    summary: ProbabilitySummary
    observations: Observations
    mask: NDArray[np.bool_]

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """Mask of images in `mask` that have an answer (n,)."""
        return self.mask & (self.summary.levels[0].best >= 0)

    @cached_property
    def targets(self) -> tuple[NDArray[np.int64], ...]:
        """The true index of each image at every level, -1 for the species of unanswerable images."""
        targets = [self.observations.species, self.observations.genus]
        for parents in self.observations.taxonomy.parents[1:]:
            targets.append(parents[targets[-1]])
        return tuple(targets)

    @cached_property
    def correct(self) -> tuple[Float64s, ...]:
        """Whether the top name of every level is correct (n,): 1, 0, or NaN without an answer or a target."""
        return tuple(
            np.where(self.answered & (truth >= 0), level.best == truth, np.nan)
            for level, truth in zip(self.summary.levels, self.targets, strict=True)
        )

    @cached_property
    def finest_correct(self) -> Float64s:
        """Whether the finest known level of each image is correct (n,)."""
        return np.where(self.observations.answerable, self.correct[0], self.correct[1])

    def subsets(self) -> Iterator["LevelSubset"]:
        """Yield the answerable images at every level, then the unanswerable ones at every level but species."""
        answerable = self.observations.answerable
        for name, mask, first in ((ANSWERABLE, answerable, 0), (UNANSWERABLE, ~answerable, 1)):
            for level_index, level in enumerate(self.observations.taxonomy.levels[first:], first):
                yield LevelSubset(name, level, level_index, mask & self.answered)

    def uncertainty(self, criterion: Criterion, level_index: int) -> Float64s:
        """Return the uncertainty of each answer of a level by a criterion (n,); NaN without an answer."""
        level = self.summary.levels[level_index]
        return uncertainty(criterion, level.probability, level.second, level.entropy, level.rest)


class LevelSubset(NamedTuple):
    """The images of a subset with an answer, `mask` (n,), at a level of the taxonomy with its index."""

    subset: str
    level: str
    level_index: int
    mask: NDArray[np.bool_]


class RangeViews:
    """The predictions under all label sets: all images; eligible images without their list; and with it."""

    def __init__(self, predictions: "SpeciesPredictions") -> None:
        observations = predictions.observations
        everything, listed = np.ones(len(predictions.keys), np.bool_), predictions.summaries[RANGE].levels[0].best >= 0
        self.tree = Tree.from_levels(observations.taxonomy.ancestors[: predictions.tree_levels])
        self.all = (
            RangeView(ALL, predictions.summaries[ALL], observations, everything),
            RangeView(ELIGIBLE, predictions.summaries[ALL], observations, listed),
            RangeView(RANGE, predictions.summaries[RANGE], observations, listed),
        )

    def __getitem__(self, labels: str) -> RangeView:
        return next(view for view in self.all if view.labels == labels)


def metric_title(number: str, labels: str) -> str:
    """Return the title of a metric in the terminal, "" for label sets that are not shown."""
    return {ALL: number, RANGE: f"{number}, range"}.get(labels, "")


def criterion_name(name: str, criterion: Criterion, between: str = "_") -> str:
    """Return the name of a metric or curve, with the criterion unless it is the default."""
    return name if criterion == CRITERIA[0] else f"{name}{between}{criterion}"


def _curve_rows(views: RangeViews) -> Iterator[list[Any]]:
    """Yield the points of every curve, thinned if there are many.

    Thresholds are written in full precision, so that each point can be reproduced.
    """
    yield ["labels", "curve", "threshold", "x", "y"]
    for view in views.all:
        for name, thresholds, x, y in (*_gain_curve(views, view), *_abstention_curves(view), *_accuracy_curves(view)):
            kept = thin_curve(len(thresholds))
            for threshold, *point in zip(*(column[kept].tolist() for column in (thresholds, x, y)), strict=True):
                yield [view.labels, name, repr(threshold), *(f"{value:.9g}" for value in point)]


def _gain_curve(views: RangeViews, view: RangeView) -> Iterator[_CurvePoints]:
    """Yield accuracy by mean information gain of the answerable images."""
    rows = np.flatnonzero(view.answered & view.observations.answerable)
    if len(rows):
        curve = information_gain(views.tree, view.summary.threshold_steps.select(rows), view.observations.species[rows])
        yield "ig", curve.thresholds, curve.gain, curve.accuracy


def _abstention_curves(view: RangeView) -> Iterator[_CurvePoints]:
    """Yield the abstention rate on unanswerable images by that on answerable images, for each criterion."""
    without = ~view.observations.answerable[view.answered]
    if without.any() and not without.all():
        for criterion in CRITERIA:
            yield f"abstention {criterion}", *abstention_curve(view.uncertainty(criterion, 0)[view.answered], without)


def _accuracy_curves(view: RangeView) -> Iterator[_CurvePoints]:
    """Yield accuracy by coverage of every subset and level: by each criterion, and macro-averaged over classes.

    The risk of the risk-coverage curve is 1 - accuracy.
    """
    for subset, level, level_index, mask in view.subsets():
        name = subset_text(subset, level)
        right, truth = view.correct[level_index][mask], view.targets[level_index][mask]
        for criterion in CRITERIA if len(right) else ():
            curve = accuracy_coverage(-view.uncertainty(criterion, level_index)[mask], right)
            yield criterion_name(f"accuracy {name}", criterion, " "), curve.thresholds, curve.coverage, curve.accuracy
        if len(right):
            curve = macro_accuracy_coverage(-view.uncertainty(CRITERIA[0], level_index)[mask], right, truth)
            yield f"macro {name}", curve.thresholds, curve.coverage, curve.accuracy
