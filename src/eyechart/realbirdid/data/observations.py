"""The observations of images of birds: species, or genus and reason if unanswerable, location, and candidates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset, SliceVariable
from eyechart.errors import DataError
from eyechart.realbirdid.data.taxonomy import Taxonomy

REASONS = ("image quality", "angle/occlusion", "vocalization")
DATES = ("observed_on", "created_at")  # optional columns: when a bird was observed, and when that was entered
MAX_LISTED = 10  # observations listed in a note
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Observations:
    """Images in the order of a data set's index.

    `ids` (n) are observation ids. `species` (n,) are indices into the taxonomy, -1 if unanswerable. `genus` (n,) are
    indices at level 1. `reason` (n,) are indices into REASONS, -1 if none. `latitude` and `longitude` (n,) are degrees,
    NaN if unknown. The candidate species of image i are candidates[offsets[i]:offsets[i + 1]], ascending. `dates` has
    for each of DATES the day of each image as YYYY-MM-DD, "" if unknown; no prediction depends on it.
    """

    taxonomy: Taxonomy
    ids: tuple[str, ...]
    species: Ints
    genus: Ints
    reason: Ints
    latitude: Floats
    longitude: Floats
    offsets: Ints
    candidates: Ints
    dates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("species", "genus", "reason", "latitude", "longitude", "candidate_counts"):
            if getattr(self, name).shape != (len(self),):
                raise DataError(
                    f"The observations' {name} have the shape {getattr(self, name).shape}, expected {(len(self),)}: "
                    "one an image."
                )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def clusters(self) -> Ints:
        """The observation of each image (n,), numbered from 0: the sampling unit."""
        indices = {name: index for index, name in enumerate(dict.fromkeys(self.ids))}
        return np.array([indices[name] for name in self.ids], np.int64)

    @cached_property
    def answerable(self) -> Bools:
        """Mask of images with a known species (n,)."""
        answerable: Bools = self.species >= 0
        return answerable

    @cached_property
    def nodes(self) -> Ints:
        """The finest known taxon of each image (n,): an index into species + genera."""
        return np.where(self.answerable, self.species, len(self.taxonomy.names[0]) + self.genus)

    @cached_property
    def has_location(self) -> Bools:
        """Mask of images with a location (n,)."""
        known: Bools = ~np.isnan(self.latitude)
        return known

    @cached_property
    def candidate_counts(self) -> Ints:
        """The number of candidates of each image (n,)."""
        return np.diff(self.offsets)

    @cached_property
    def eligible(self) -> Bools:
        """Mask of images with a location and candidates, which have results under range lists (n,)."""
        return self.has_location & (self.candidate_counts > 0)

    @cached_property
    def unlisted(self) -> Bools:
        """Mask of answerable and eligible images whose candidates do not have their species (n,)."""
        return self._without_candidate(np.arange(len(self.taxonomy)), self.species) & self.answerable

    @cached_property
    def unlisted_genus(self) -> Bools:
        """Mask of unanswerable and eligible images whose candidates do not have their genus (n,)."""
        return self._without_candidate(self.taxonomy.ancestors[1], self.genus) & ~self.answerable

    def _without_candidate(self, ancestors: Ints, truth: Ints) -> Bools:
        """Return the mask of eligible images without a candidate below their true taxon."""
        listed = np.zeros(len(self), np.bool_)
        rows = np.repeat(np.arange(len(self)), self.candidate_counts)
        listed[rows[ancestors[self.candidates] == truth[rows]]] = True
        return self.eligible & ~listed

    def candidate_mask(self, start: int, stop: int) -> Bools:
        """Return the mask (stop - start, species) of candidates; all False for images without a list."""
        mask = np.zeros((len(self.ids[start:stop]), len(self.taxonomy)), np.bool_)
        rows = np.repeat(np.arange(len(mask)), self.candidate_counts[start:stop])
        where = self.offsets[start : start + len(mask) + 1] if len(mask) else np.zeros(1, np.int64)
        mask[rows, self.candidates[where[0] : where[-1]]] = True
        return mask

    def select(self, rows: Sequence[int]) -> "Observations":
        """Return the observations of some rows, in the order of `rows`."""
        chosen = np.asarray(rows, np.int64).reshape(-1)
        choices = self.candidate_counts[chosen]
        offsets = np.concatenate([[0], np.cumsum(choices)]).astype(np.int64)
        taken = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], choices)
        return Observations(
            self.taxonomy,
            tuple(self.ids[row] for row in chosen.tolist()),
            self.species[chosen],
            self.genus[chosen],
            self.reason[chosen],
            self.latitude[chosen],
            self.longitude[chosen],
            offsets,
            self.candidates[taken],
            {name: tuple(days[row] for row in chosen.tolist()) for name, days in self.dates.items()},
        )

    def slice_variables(self) -> Iterator[SliceVariable]:
        """Yield the species, genus and higher taxa of images, from the lowest level to the highest."""
        taxonomy, taxa = self.taxonomy, self.genus
        yield SliceVariable(taxonomy.levels[0], taxonomy.names[0], self.species)
        for level in range(1, len(taxonomy.levels)):
            yield SliceVariable(taxonomy.levels[level], taxonomy.names[level], taxa)
            if level < len(taxonomy.parents):
                taxa = taxonomy.parents[level][taxa]

    def image_classes(self) -> Ints:
        """Return the finest known taxon of each image (n,)."""
        return self.nodes

    def image_attributes(self) -> dict[str, NDArray[np.float64]]:
        """Return no attributes: a photograph is of one bird."""
        return {}

    @cached_property
    def exclusion_notes(self) -> tuple[str, ...]:
        """Notes about images that are excluded or wrong under range lists, with the first observations of each kind."""
        return tuple(self._notes())

    @cached_property
    def missing_metrics(self) -> tuple[str, ...]:
        """Notes about metrics that this data set does not define, with the reason."""
        one_kind = "no UA/A and no HM"
        conditions = {
            f"no image is answerable: there is no accuracy of species, no IG, {one_kind}": not self.answerable.any(),
            f"every image is answerable: there is no accuracy of unanswerable ones, {one_kind}": self.answerable.all(),
            "the taxonomy has one species, which leaves nothing to gain: IG is 0": len(self.taxonomy) == 1,
        }
        return tuple(note for note, applies in conditions.items() if applies)

    def _notes(self) -> Iterator[str]:
        rest = "kept, and left out of the results by range"
        every = np.ones(len(self), np.bool_)
        yield from self._note(~self.has_location, every, f"images have no location: {rest}")
        yield from self._note(
            ~self.eligible, self.has_location, f"images with a location have no candidate species: {rest}"
        )
        yield from self._note(
            self.unlisted,
            self.answerable & self.eligible,
            "answerable images with a list of candidates have one without their own species: kept, and wrong by range",
        )
        yield from self._note(
            self.unlisted_genus,
            ~self.answerable & self.eligible,
            "unanswerable images with a list of candidates have one without a species of their genus: kept, and wrong "
            "by range",
        )

    def _note(self, which: Bools, among: Bools, what: str) -> Iterator[str]:
        rows = np.flatnonzero(which & among).tolist()
        if rows:
            named = dict.fromkeys(self.ids[row] for row in rows)
            more = " …" if len(named) > MAX_LISTED else ""
            listed = ", ".join([*named][:MAX_LISTED])
            yield f"{len(rows):,} of {among.sum():,} {what} (observations {listed}{more})"

    @cached_property
    def sha256(self) -> str:
        """The sha256 of all fields but the dates, including the taxonomy."""
        whole = sha256("\n".join((self.taxonomy.sha256, *self.ids)).encode())
        for part in (self.species, self.genus, self.reason, self.offsets, self.candidates):
            whole.update(part.astype("<i8").tobytes())
        for coordinates in (self.latitude, self.longitude):
            whole.update(coordinates.astype("<f8").tobytes())
        return whole.hexdigest()


def find_observations(dataset: Dataset) -> Observations | None:
    """Return the observations of the selected images, None for a data set without any."""
    details = dataset.selected_details
    return details if isinstance(details, Observations) else None
