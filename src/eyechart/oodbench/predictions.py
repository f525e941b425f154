"""Answers about pairs of an image and a category, as a case sees them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.models.types import Usage
from eyechart.oodbench.divisions import HARD, SIMPLE, Division
from eyechart.records import Asked

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
PRIME = "'"  # of the initial benchmark, as in the paper's tables


@dataclass(frozen=True)
class Told:
    """What all answers about pairs have: the images' keys, the categories' names, and what the answers took by set."""

    division: Division
    keys: tuple[str, ...]
    names: tuple[str, ...]
    variant: Mapping[str, str]
    errors: Mapping[int, str]
    usage: Usage
    cost: float | None
    sets: Mapping[str, Asked]


@dataclass(frozen=True)
class Existence(Told):
    """Answers (m, 2) to the positive and the negative question about the pairs at `places` (m,) of the division.

    They are YES, NO, UNPARSED or MISSING of `metrics.yes_no`; `said` are their words. `errors` are by place in `places`
    and leave both answers of a pair out. `truncated` (m, 2) says which of the UNPARSED ended at the token limit.
    """

    places: Ints
    answers: Ints
    said: tuple[tuple[str, str], ...]
    truncated: Bools | None = None

    @property
    def expected(self) -> Bools:
        """Whether yes is right, (m, 2)."""
        here = self.division.present[self.places]
        return np.stack([here, ~here], axis=1)

    def masks(self) -> Iterator[tuple[str, Bools]]:
        """Every set that has a pair, with which pairs are its: the initial ones only where all of them were asked."""
        sets, main = np.array(self.division.sets)[self.places], self.division.main[self.places]
        for name in dict.fromkeys(self.division.sets):
            yield name, (sets == name) & main
        if self.variant["benchmark"] == "initial":
            yield from ((f"{name}{PRIME}", sets == name) for name in (SIMPLE, HARD))


@dataclass(frozen=True)
class Progression(Told):
    """Samples of two categories of one image: answers to whether the first is there, how many the second, which more.

    `first` and `second` (s,) are places in the division, `counts` (s, 2) how many there are. `existence` and `logic`
    (s,) are YES, NO, UNPARSED or MISSING, `counting` (s,) a number, -1 for unparsed and -2 for missing.
    `truncated` (s, 3) says which of the unparsed ended at the token limit.
    """

    first: Ints
    second: Ints
    counts: Ints
    existence: Ints
    counting: Ints
    logic: Ints
    said: tuple[tuple[str, str, str], ...]
    truncated: Bools | None = None

    @property
    def set_names(self) -> Sequence[str]:
        """The set of each sample."""
        return [self.division.sets[place] for place in self.first.tolist()]

    @property
    def missing(self) -> Bools:
        """Which samples have a question without an answer."""
        found: Bools = np.stack([self.existence, self.counting, self.logic]).min(axis=0) == -2
        return found

    @property
    def right(self) -> Ints:
        """(s, 3): whether existence, counting, and logic together with counting were answered rightly."""
        more = self.counts[:, 0] > self.counts[:, 1]
        counting = self.counting == self.counts[:, 1]
        return np.stack([self.existence == 1, counting, counting & (self.logic == more)], axis=1).astype(np.int64)
