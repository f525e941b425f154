"""The base class of predictions about birds, and the columns that their sample tables share."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.evaluation.case_result import make_usage_record
from eyechart.models.types import Usage
from eyechart.protocol.base import Predictions, Rows
from eyechart.protocol.sample_view import Line
from eyechart.realbirdid.data.observations import DATES, MAX_LISTED, REASONS, Observations
from eyechart.results.records import ANSWERABLE, UNANSWERABLE, OutcomeCounts, UsageRecord
from eyechart.results.sample_table import shared_cells

LABELS = "observations"
BIRD_COLUMNS = ("observation", "species", "genus", "reason")  # after the shared columns


@dataclass(frozen=True)
class BirdPredictions(Predictions):
    """Predictions about the images of a data set; images of one observation are one sampling unit."""

    dataset: Dataset
    errors: Mapping[int, str]
    variant: Mapping[str, str]
    observations: Observations

    @property
    def keys(self) -> tuple[str, ...]:  # type: ignore[override]
        """The keys of the images."""
        return self.dataset.keys

    def clusters(self) -> NDArray[np.int64]:
        """Return the observation of each image (n,)."""
        return self.observations.clusters

    def label_hashes(self) -> dict[str, str]:
        """Return the sha256 of the observations, including taxonomy and range lists."""
        return {LABELS: self.observations.sha256}

    def data_notes(self) -> Iterator[str]:
        """Yield notes about missing data and exact duplicates."""
        yield from (
            *map(str, self.observations.missing_metrics),
            *map(str, self.observations.exclusion_notes),
            *_exact_duplicates(self.dataset),
        )

    def shared_cells(
        self, row: int, target: str = "", prediction: str = "", correct: float | None = None, error: str = ""
    ) -> list[Any]:
        """Return the shared cells of an image; the target is by default its species, or its genus if unanswerable."""
        _, species, genus, _ = self.bird_cells(row)
        subset = ANSWERABLE if species else UNANSWERABLE
        return shared_cells(
            key=self.keys[row],
            target=target or species or genus,
            prediction=prediction,
            correct=correct,
            subset=subset,
            error=error,
        )

    def bird_cells(self, row: int) -> list[Any]:
        """Return the cells of `BIRD_COLUMNS`: the observation and the true labels of an image."""
        observations = self.observations
        species, genus, reason = (
            int(observations.species[row]),
            int(observations.genus[row]),
            int(observations.reason[row]),
        )
        names = observations.taxonomy.names
        known = names[0][species] if species >= 0 else ""
        why = REASONS[reason] if reason >= 0 else ""
        return [observations.ids[row], known, names[1][genus], why]

    def files(self) -> dict[str, Rows]:
        """Return the tables of genera, of images whose range list does not have their species, and of dates."""
        observations = self.observations
        unlisted = {"unlisted": self.unlisted_rows()} if observations.unlisted.any() else {}
        dates = {"dates": self.date_rows()} if observations.dates else {}
        return {"genera": _genus_rows(observations), **unlisted, **dates}

    def date_rows(self) -> Rows:
        """Yield for every image the days on which the bird was observed and entered, "" if unknown."""
        days = [self.observations.dates.get(name, ("",) * len(self.keys)) for name in DATES]
        yield ["key", "observation", "subset", "observed", "created"]
        for row, (key, observation) in enumerate(zip(self.keys, self.observations.ids, strict=True)):
            subset = ANSWERABLE if self.observations.answerable[row] else UNANSWERABLE
            yield [key, observation, subset, *(column[row] for column in days)]

    def unlisted_rows(self) -> Rows:
        """Yield every answerable image whose range list does not have its species, so that no answer can be correct."""
        observations = self.observations
        yield ["key", "observation", "species", "choices"]
        for row in np.flatnonzero(observations.unlisted).tolist():
            observation, species, *_ = self.bird_cells(row)
            yield [self.keys[row], observation, species, int(observations.candidate_counts[row])]


@dataclass(frozen=True)
class ExtractedPredictions(BirdPredictions):
    """Responses in text and the index of the choice that was extracted from each, -1 where it could not be parsed.

    `choice_indices` may have any shape; `completions`, `errors` and `truncated` (responses that reached the token limit
    before they answered) are by the flat index into it. `usage` and `requests` include the extraction.
    """

    completions: tuple[str, ...]
    choice_indices: NDArray[np.int64]
    usage: Usage
    cost: float | None
    requests: int
    truncated: frozenset[int] = field(default=frozenset(), kw_only=True)
    seed: int = field(default=0, kw_only=True)

    @property
    @abstractmethod
    def correct(self) -> NDArray[Any]:
        """Whether each response is correct, in the shape of `choice_indices`."""

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """Mask of responses without an error, parsed or not, in the shape of `choice_indices`."""
        answered = np.ones(self.choice_indices.size, np.bool_)
        answered[list(self.errors)] = False
        return answered.reshape(self.choice_indices.shape)

    @cached_property
    def parsed(self) -> NDArray[np.bool_]:
        """Mask of parsed responses, in the shape of `choice_indices`."""
        parsed: NDArray[np.bool_] = self.answered & (self.choice_indices >= 0)
        return parsed

    def count_outcomes(self) -> OutcomeCounts:
        """Count the responses by outcome."""
        cut = len(self.truncated - {*self.errors})
        return OutcomeCounts(
            correct=int((self.correct == 1).sum()),
            wrong=int((self.parsed & (self.correct == 0)).sum()),
            unparsed=int((self.answered & ~self.parsed).sum()) - cut,
            error=len(self.errors),
            truncated=cut,
        )

    def usage_record(self) -> UsageRecord:
        """Return the usage of requests and tokens, including extraction."""
        return make_usage_record(self.requests, self.usage, self.cost)


def _exact_duplicates(dataset: Dataset) -> Iterator[str]:
    """Yield a note about images whose bytes equal those of an earlier image."""
    first: dict[str, str] = {}
    rows = [*dataset.columns.take(dataset.selected)]
    duplicates = [(row.key, first[row.sha256]) for row in rows if first.setdefault(row.sha256, row.key) != row.key]
    if duplicates:
        shown = ", ".join(f"{key} as {other}" for key, other in duplicates[:MAX_LISTED]) + " …" * (
            len(duplicates) > MAX_LISTED
        )
        yield f"{len(duplicates):,} of {len(rows):,} images are byte for byte another: kept, and each counts ({shown})"


def _genus_rows(observations: Observations) -> Rows:
    """Yield for every genus the numbers of species and of answerable and unanswerable images, also by reason."""
    yield ["genus", "species", "answerable", "unanswerable", *REASONS]
    genera = observations.taxonomy.names[1]
    masks = (
        observations.answerable,
        ~observations.answerable,
        *(observations.reason == index for index in range(len(REASONS))),
    )
    counts = [np.bincount(genus, minlength=len(genera)) for genus in (observations.genus[mask] for mask in masks)]
    species = np.bincount(observations.taxonomy.parents[0], minlength=len(genera))
    for index, genus in enumerate(genera):
        yield [genus, int(species[index]), *(int(count[index]) for count in counts)]


def names_of(indices: NDArray[np.int64], names: Sequence[str]) -> list[str]:
    """Return the name of each index, "" for -1."""
    return [names[index] if index >= 0 else "" for index in indices.tolist()]


def format_numbers(values: NDArray[np.float64], digits: int = 9) -> list[str]:
    """Return numbers as text, "" for NaN; 9 digits distinguish all float32, and 17 all float64."""
    return ["" if value != value else f"{value:.{digits}g}" for value in values.tolist()]  # true for NaN


def format_outcomes(outcomes: NDArray[np.float64]) -> list[str]:
    """Return "1" for correct, "0" for wrong and "" for NaN."""
    return ["" if outcome != outcome else str(int(outcome)) for outcome in outcomes.tolist()]


def answerability(row: Line) -> str:
    """Return whether the bird of a row is answerable, and if not, the reason."""
    return row["subset"] if row["subset"] == ANSWERABLE else row["reason"] or row["subset"]


def scored_names(columns: Iterable[str]) -> list[str]:
    """Return the columns of answers that have an outcome of their own beside them."""
    return [name.removesuffix(".correct") for name in columns if name.endswith(".correct")]


def short_number(number: str) -> str:
    """Return a number with three significant digits."""
    return f"{float(number):.3g}" if number else ""
