"""Flat list: classify over species and genera together, where a genus is an abstention; the baseline of Figure 4."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.data.labels.class_names import check_unique
from eyechart.models.types import Floats
from eyechart.protocol.base import Example, Protocol, Rows
from eyechart.protocol.context import Context, missing_scores_reason
from eyechart.protocol.options import PROMPT
from eyechart.protocol.sample_view import Line, SampleView
from eyechart.realbirdid.answers.bird_predictions import (
    BIRD_COLUMNS,
    BirdPredictions,
    answerability,
    format_numbers,
    format_outcomes,
    names_of,
    scored_names,
    short_number,
)
from eyechart.realbirdid.answers.species_predictions import ALL, ELIGIBLE, PREFIXES, RANGE, metric_title
from eyechart.realbirdid.data.observations import Observations
from eyechart.realbirdid.metrics.shares import Float64s, harmonic_mean_estimate
from eyechart.realbirdid.protocols.helpers.bird_options import SPECIES_NAMES
from eyechart.realbirdid.protocols.helpers.name_scores import (
    ReadScores,
    candidate_mask,
    require_observations,
    score_names,
    softmax,
    species_names,
)
from eyechart.results.estimates import Estimate, score_estimates
from eyechart.results.records import ANSWERABLE, UNANSWERABLE, OutcomeCounts
from eyechart.results.sample_table import SHARED_COLUMNS
from eyechart.statistics.proper_scores import log_scores_of_probabilities

BLOCK = 1024
UNANSWERED = -1


@dataclass(frozen=True)
class _TopNames:
    """The most probable name of each image, an index into species + genera, and its probability; -1 and NaN if none.

    `of_right` (n,) are the probabilities of the right names, NaN if there is no answer.
    """

    indices: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    of_right: NDArray[np.float64]


@dataclass(frozen=True)
class FlatListPredictions(BirdPredictions):
    """The top name of each image, over all names and over the names of its range list."""

    top_names: Mapping[str, _TopNames]
    seed: int = 0

    def count_outcomes(self) -> OutcomeCounts:
        """Count the images by outcome."""
        right = _correct_answers(self, ALL)
        return OutcomeCounts(correct=int((right == 1).sum()), wrong=int((right == 0).sum()), error=len(self.errors))

    def samples(self) -> Rows:
        """Yield one row per image: the top name, its level, its probability, and whether it is correct."""
        titles = ("answer", "answer_level", "probability", "correct")
        names = (f"{prefix}{title}" for prefix in PREFIXES.values() for title in titles)
        yield [*SHARED_COLUMNS, *BIRD_COLUMNS, *names]
        columns = [column for labels in PREFIXES for column in self.sample_columns(labels)]
        correct = _correct_answers(self, ALL)
        for row, cells in enumerate(zip(*columns, strict=True)):
            shared = self.shared_cells(row, prediction=cells[0], correct=correct[row], error=self.errors.get(row, ""))
            yield [*shared, *self.bird_cells(row), *cells]

    def sample_columns(self, labels: str) -> Iterator[list[str]]:
        """Yield the columns of one label set for all images."""
        taxonomy, answers = self.observations.taxonomy, self.top_names[labels]
        species, genera = taxonomy.names[:2]
        kinds = (taxonomy.levels[0],) * len(species) + (taxonomy.levels[1],) * len(genera)
        yield names_of(answers.indices, (*species, *genera))
        yield names_of(answers.indices, kinds)
        yield format_numbers(answers.probabilities)
        yield format_outcomes(_correct_answers(self, labels))


def _outcomes_by_labels(predictions: FlatListPredictions) -> Iterator[tuple[str, Float64s, Float64s]]:
    """Yield for every label set its name, and per image (n,) whether the answer is correct and whether it abstains."""
    eligible = predictions.observations.eligible
    for labels, source, rows in ((ALL, ALL, None), (ELIGIBLE, ALL, eligible), (RANGE, RANGE, eligible)):
        outside = np.zeros(len(predictions.keys), np.bool_) if rows is None else ~rows
        right, stopped = _correct_answers(predictions, source), _genus_answers(predictions, source)
        yield labels, np.where(outside, np.nan, right), np.where(outside, np.nan, stopped)


def _correct_answers(predictions: FlatListPredictions, source: str) -> Float64s:
    """Return whether each answer is the true species, or the true genus if unanswerable (n,); NaN if none."""
    indices = predictions.top_names[source].indices
    return np.where(indices == UNANSWERED, np.nan, indices == predictions.observations.nodes)


def _genus_answers(predictions: FlatListPredictions, source: str) -> Float64s:
    """Return whether each answer is a genus (n,); NaN without an answer."""
    indices = predictions.top_names[source].indices
    return np.where(indices == UNANSWERED, np.nan, indices >= len(predictions.observations.taxonomy.names[0]))


def flat_list_accuracies(predictions: FlatListPredictions) -> Iterator[Estimate]:
    """Yield accuracy and abstention rate of both subsets, and the harmonic mean of the accuracies."""
    observations = predictions.observations
    for labels, right, stopped in _outcomes_by_labels(predictions):
        for subset, mask in ((ANSWERABLE, observations.answerable), (UNANSWERABLE, ~observations.answerable)):
            for name, outcomes in (("acc", right), ("abstained", stopped)):
                known = np.where(mask, outcomes, np.nan)
                yield Estimate.proportion(name, known, observations.clusters, labels=labels, subset=subset)
        yield harmonic_mean_estimate(
            "hm", labels, right, observations, predictions.seed, title=metric_title("HM", labels)
        )


def flat_list_scores(predictions: FlatListPredictions) -> Iterator[Estimate]:
    """Yield `log_score` and `target_brier` of the right name of each image: its species, or its genus if unanswerable.

    They are over all species and genera, and over both subsets together, as the harmonic mean is.
    """
    scores = log_scores_of_probabilities(predictions.top_names[ALL].of_right)
    yield from score_estimates(ALL, scores, predictions.observations.clusters)


def _describe_answers(row: Line) -> Iterator[tuple[str, str]]:
    for name in scored_names(row):
        if answer := row[f"{name}.answer"]:
            yield name, f"{answer} ({row[f'{name}.answer_level']}) {short_number(row[f'{name}.probability'])}"


class FlatList(Protocol[FlatListPredictions]):
    """Classify over one list of species and genera; a genus is an abstention."""

    name = "flat_list"
    example = Example("realbirdid/sample/hf[toybox-mllm]", ("hm all",))
    summary = "The model chooses among the names of species and genera in one list."
    score_name = "probability"
    reference_labels = "species"
    sample_view = SampleView(
        lambda columns: {f"flat list, {name}": (f"{name}.correct", "target") for name in scored_names(columns)},
        category=answerability,
        answer="all.answer",
        details=_describe_answers,
        score="all.probability",
        sampling_unit="observation",
    )
    source = "arXiv 2603.27033, Figure 4"
    requires = ("encoder", "scorer")
    options = (SPECIES_NAMES, PROMPT)
    benchmarks = ("realbirdid",)
    metrics = (flat_list_accuracies, flat_list_scores)
    steps = (score_names,)

    def unavailable(self, context: Context) -> str:
        """Return why the model has no log-probabilities."""
        return missing_scores_reason(context)

    def predict(self, context: Context) -> FlatListPredictions:
        """Score species and genera in one list."""
        observed = require_observations(context.dataset)
        names = (*species_names(context), *observed.taxonomy.names[1])
        check_unique(names)
        scores = score_names(context, names)
        return FlatListPredictions(
            dataset=context.dataset,
            seed=context.runner.seed,
            errors=scores.errors,
            variant={**context.options, "names": context.names_source, **scores.variant},
            observations=observed,
            top_names={
                ALL: top_names(scores.read, observed.nodes),
                RANGE: top_names(scores.read, observed.nodes, observed),
            },
        )


def top_names(read: ReadScores, right: NDArray[np.int64], observed: Observations | None = None) -> _TopNames:
    """Return the top names over all names, or over the range lists, which include the genera of their species.

    `right` (n,) are the right names, indices into species + genera.
    """
    rows = len(right)
    parts = [
        _row_maxima(
            softmax(
                read(start, stop), None if observed is None else _candidate_mask_with_genera(observed, start, stop)
            ),
            right[start:stop],
        )
        for start, stop in ((start, min(rows, start + BLOCK)) for start in range(0, max(rows, 1), BLOCK))
    ]
    return _TopNames(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _row_maxima(
    probabilities: Floats, right: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the index and the value of the first maximum of each row, and its value at its index in `right` (n,).

    They are -1 and NaN for a row with NaN.
    """
    known = ~np.isnan(probabilities).any(axis=1)
    indices = np.where(known, probabilities.argmax(axis=1), UNANSWERED)
    values = probabilities.max(axis=1), probabilities[np.arange(len(right)), right]
    best, of_right = (np.where(known, value, np.nan).astype(np.float64) for value in values)
    return indices, best, of_right


def _candidate_mask_with_genera(observed: Observations, start: int, stop: int) -> NDArray[np.bool_]:
    """Return the mask (rows, species + genera) of the range lists and the genera of their species."""
    species = candidate_mask(observed, start, stop)
    genera = np.zeros((len(species), len(observed.taxonomy.names[1])), np.bool_)
    rows, indices = np.nonzero(species)
    genera[rows, observed.taxonomy.ancestors[1][indices]] = True
    return np.concatenate([species, genera], axis=1)
