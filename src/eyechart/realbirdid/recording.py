"""What cases about birds have in common: which bird an answer is about, and who is in the data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset import Dataset
from eyechart.data.observations import REASONS, SHOWN, Observations
from eyechart.gate.evidence import Floats
from eyechart.protocol.result import FoundRecording, Rows, about, answered_images, named

TRUTH = "observations"
BIRD = ("key", "observation", "species", "genus", "answerable", "reason")


class OfBirds(Protocol):
    """What a case about birds found, whatever else it holds."""

    @property
    def variant(self) -> Mapping[str, str]:
        """Every choice."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The pictures."""

    @property
    def errors(self) -> Mapping[int, str]:
        """What went wrong, by picture."""

    @property
    def observed(self) -> Observations:
        """What is known of the birds."""


T = TypeVar("T", bound=OfBirds)


class BirdRecording(FoundRecording[T]):
    """Which bird an answer is about, and which genera there are."""

    @property
    def errors(self) -> list[str]:
        """Every error, with its picture."""
        return [named(self.found.keys[row], error) for row, error in self.found.errors.items()]

    @property
    def asked(self) -> str:
        """How many answers were wanted."""
        return f"{len(self.found.keys)} images"

    def answered(self) -> Floats:
        """Whether each picture was answered."""
        return answered_images(np.arange(len(self.found.keys)), self.found.errors, len(self.found.keys))

    def clusters(self) -> NDArray[np.int64]:
        """The observation of each picture: photographs of one bird are not independent."""
        return self.found.observed.clusters

    def truths(self) -> Mapping[str, str]:
        """The sha256 of the observations, with their taxonomy and lists."""
        return {TRUTH: self.found.observed.sha256}

    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know of the data."""
        seen = self.found.observed
        return (*super().notes(), *about(self.case, (*seen.lacking, *seen.excluded, *twins(self.dataset))))

    def bird_cells(self, row: int) -> list[Any]:
        """The columns that say which bird it is."""
        seen = self.found.observed
        species, genus, reason = int(seen.species[row]), int(seen.genus[row]), int(seen.reason[row])
        names = seen.taxonomy.names
        known = names[0][species] if species >= 0 else ""
        why = REASONS[reason] if reason >= 0 else ""
        return [self.found.keys[row], seen.ids[row], known, names[1][genus], int(species >= 0), why]

    def artifact_rows(self) -> dict[str, Rows]:
        """The genera, and the lists without the bird that was seen."""
        seen = self.found.observed
        unlisted = {"unlisted": self.unlisted_rows()} if seen.unlisted.any() else {}
        return {"genera": genus_rows(seen), **unlisted}

    def unlisted_rows(self) -> Rows:
        """Every answerable bird that its range list does not hold, which nobody can name from the list."""
        seen = self.found.observed
        yield ["key", "observation", "species", "choices"]
        for row in np.flatnonzero(seen.unlisted).tolist():
            key, observation, species, *_ = self.bird_cells(row)
            yield [key, observation, species, int(seen.choices[row])]


def twins(dataset: Dataset) -> Iterator[str]:
    """Say which pictures are byte for byte an earlier one."""
    first: dict[str, str] = {}
    rows = [dataset.index[row] for row in dataset.selected]
    found = [(row.key, first[row.sha256]) for row in rows if first.setdefault(row.sha256, row.key) != row.key]
    if found:
        shown = ", ".join(f"{key} as {other}" for key, other in found[:SHOWN]) + " …" * (len(found) > SHOWN)
        yield f"{len(found):,} of {len(rows):,} images are byte for byte another: kept, and each counts ({shown})"


def genus_rows(seen: Observations) -> Rows:
    """Every genus: its species, its answerable and unanswerable pictures, and these by reason."""
    yield ["genus", "species", "answerable", "unanswerable", *REASONS]
    genera = seen.taxonomy.names[1]
    masks = (seen.answerable, ~seen.answerable, *(seen.reason == place for place in range(len(REASONS))))
    counts = [np.bincount(genus, minlength=len(genera)) for genus in (seen.genus[mask] for mask in masks)]
    species = np.bincount(seen.taxonomy.parents[0], minlength=len(genera))
    for place, genus in enumerate(genera):
        yield [genus, int(species[place]), *(int(count[place]) for count in counts)]


def names_of(places: NDArray[np.int64], names: Sequence[str]) -> list[str]:
    """The name of each place, nothing for -1."""
    return [names[place] if place >= 0 else "" for place in places.tolist()]


def cells(values: NDArray[np.float64]) -> list[str]:
    """Numbers, to the digits that tell any two of float32 apart, and nothing where there is none."""
    return ["" if value != value else f"{value:.9g}" for value in values.tolist()]  # NaN alone is not itself


def marks(outcomes: NDArray[np.float64]) -> list[str]:
    """1 for what is right, 0 for what is wrong, and nothing for what is neither."""
    return ["" if outcome != outcome else str(int(outcome)) for outcome in outcomes.tolist()]
