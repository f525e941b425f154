"""What one model says of birds, as it is scored: under which list of species, about which birds."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eyechart.data.observations import Observations
from eyechart.metrics.abstention import CRITERIA, Criterion, uncertainty
from eyechart.metrics.hierarchy import Tree
from eyechart.realbirdid.species import ALL, RANGE, Species
from eyechart.realbirdid.species_summary import Summary

ELIGIBLE = "eligible"
Outcomes = NDArray[np.float64]


@dataclass(frozen=True)
class View:
    """A model's answers under one list of species, about the birds in `rows` (n,)."""

    labels: str
    summary: Summary
    seen: Observations
    rows: NDArray[np.bool_]

    @cached_property
    def told(self) -> NDArray[np.bool_]:
        """Which birds are in play and have an answer (n,)."""
        return self.rows & (self.summary.levels[0].best >= 0)

    @cached_property
    def truths(self) -> tuple[NDArray[np.int64], ...]:
        """The true place of each bird at every level, -1 for the species of an unanswerable one."""
        found = [self.seen.species, self.seen.genus]
        for parents in self.seen.taxonomy.parents[1:]:
            found.append(parents[found[-1]])
        return tuple(found)

    @cached_property
    def correct(self) -> tuple[Outcomes, ...]:
        """Whether the best of every level is right: 1, 0, NaN for a bird without an answer or a truth."""
        return tuple(
            np.where(self.told & (truth >= 0), level.best == truth, np.nan)
            for level, truth in zip(self.summary.levels, self.truths, strict=True)
        )

    @cached_property
    def deepest(self) -> Outcomes:
        """Whether the finest level that is known of a bird is right."""
        return np.where(self.seen.answerable, self.correct[0], self.correct[1])

    def sets(self) -> Iterator[tuple[str, int, NDArray[np.bool_]]]:
        """The sets of birds by level: their name, the level's place, and which birds are in it."""
        for name, mask, first in (("A", self.seen.answerable, 0), ("UA", ~self.seen.answerable, 1)):
            for place, level in enumerate(self.seen.taxonomy.levels[first:], first):
                yield f"{name}.{level}", place, mask & self.told

    def uncertainty(self, criterion: Criterion, place: int) -> Outcomes:
        """How unsure each answer of a level is, by a criterion; NaN without an answer."""
        level = self.summary.levels[place]
        return uncertainty(criterion, level.probability, level.second, level.entropy)


class Views:
    """The views of a case: every bird; those that have an answer from their list, without the list and with it."""

    def __init__(self, found: Species) -> None:
        seen = found.observed
        every, listed = np.ones(len(found.keys), np.bool_), found.summaries[RANGE].levels[0].best >= 0
        self.tree = Tree.of_levels(seen.taxonomy.ancestors)
        self.every = (
            View(ALL, found.summaries[ALL], seen, every),
            View(ELIGIBLE, found.summaries[ALL], seen, listed),
            View(RANGE, found.summaries[RANGE], seen, listed),
        )

    def __getitem__(self, labels: str) -> View:
        return next(view for view in self.every if view.labels == labels)


def named(name: str, criterion: Criterion, between: str = "_") -> str:
    """A number's or a curve's name, with the criterion unless it is the main one."""
    return name if criterion == CRITERIA[0] else f"{name}{between}{criterion}"
