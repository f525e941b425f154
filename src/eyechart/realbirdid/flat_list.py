"""A flat list: species and genera side by side, where to choose a genus is to abstain; the baseline of Figure 4."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.data.class_names import check_unique
from eyechart.data.observations import Observations
from eyechart.models.types import Floats
from eyechart.protocol.context import Sitting
from eyechart.realbirdid.bird_names import Read, listed, logits, observed_of, shares, species_names
from eyechart.realbirdid.species import ALL, RANGE

BLOCK = 1024
UNTOLD = -1


@dataclass(frozen=True)
class Answers:
    """The likeliest name of each bird, species first and then genera, and its probability; -1 and NaN without one."""

    places: NDArray[np.int64]
    probabilities: NDArray[np.float64]


@dataclass(frozen=True)
class FlatList:
    """What a model chooses of one list for each bird, from all of it and from the part for where the bird was seen."""

    keys: tuple[str, ...]
    errors: Mapping[int, str]
    variant: Mapping[str, str]
    observed: Observations
    answers: Mapping[str, Answers]


def flat_list(sitting: Sitting) -> FlatList:
    """Ask about species and genera in one list."""
    observed = observed_of(sitting.dataset)
    names = (*species_names(sitting), *observed.taxonomy.names[1])
    check_unique(names)
    told = logits(sitting, names)
    rows = len(sitting.dataset)
    return FlatList(
        keys=sitting.dataset.keys,
        errors=told.errors,
        variant={**sitting.chosen, "names": sitting.names_by, **told.variant},
        observed=observed,
        answers={ALL: likeliest(told.read, rows), RANGE: likeliest(told.read, rows, observed)},
    )


def likeliest(read: Read, rows: int, observed: Observations | None = None) -> Answers:
    """The likeliest of all names, or of those that are listed; a genus is listed with any of its species."""
    parts = [
        likeliest_of(shares(read(start, stop), None if observed is None else with_genera(observed, start, stop)))
        for start, stop in ((start, min(rows, start + BLOCK)) for start in range(0, max(rows, 1), BLOCK))
    ]
    places, sure = zip(*parts, strict=True)
    return Answers(np.concatenate(places), np.concatenate(sure))


def likeliest_of(found: Floats) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The place and the share of the greatest of each row, of equals the first."""
    told = ~np.isnan(found).any(axis=1)
    places = np.where(told, found.argmax(axis=1), UNTOLD)
    return places, np.where(told, found.max(axis=1), np.nan).astype(np.float64)


def with_genera(observed: Observations, start: int, stop: int) -> NDArray[np.bool_]:
    """Which species and genera (rows, species + genera) are in the lists."""
    species = listed(observed, start, stop)
    genera = np.zeros((len(species), len(observed.taxonomy.names[1])), np.bool_)
    rows, places = np.nonzero(species)
    genera[rows, observed.taxonomy.ancestors[1][places]] = True
    return np.concatenate([species, genera], axis=1)
