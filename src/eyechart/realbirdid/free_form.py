"""Free form: a bird's species in the model's own words, then the one name that the words mean."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eyechart.data.observations import Observations
from eyechart.estimates import Estimate
from eyechart.models.types import Usage
from eyechart.protocol.context import Sitting, cost
from eyechart.protocol.prompts import prompt
from eyechart.protocol.result import Rows, served, truncation_note
from eyechart.realbirdid.bird_names import observed_of
from eyechart.realbirdid.bird_questions import put
from eyechart.realbirdid.bird_words import BirdNames
from eyechart.realbirdid.extraction import Extracted, complete_texts, extracted, truncated_replies, variant
from eyechart.realbirdid.recording import BIRD, BirdRecording
from eyechart.realbirdid.scoring import harmonic, rate
from eyechart.records import Outcomes, Served

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
SPECIES, GENUS, ABSTAINED, UNREAD = "species", "genus", "abstained", ""
LABELS = "observations"
ANSWERABLE, UNANSWERABLE = "A", "UA"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FreeForm:
    """What was said of each bird, and the place of the name that it means among `names`, -1 where it was not read.

    `truncated` are the rows whose reply ended at the token limit before it answered.
    """

    keys: tuple[str, ...]
    errors: Mapping[int, str]
    variant: Mapping[str, str]
    observed: Observations
    names: BirdNames
    said: tuple[str, ...]
    places: Ints
    usage: Usage
    cost: float | None
    requests: int
    truncated: frozenset[int] = frozenset()

    @cached_property
    def meaning(self) -> Ints:
        """The species and the genus that were named (n, 2), -1 where none was."""
        table = np.array([*self.names.meaning, (-1, -1)], np.int64)
        return table[self.places]

    @cached_property
    def told(self) -> Bools:
        """Who got an answer, read or not (n,)."""
        found = np.ones(len(self.keys), np.bool_)
        found[list(self.errors)] = False
        return found

    @cached_property
    def read(self) -> Bools:
        """Whose answer could be read (n,)."""
        return self.told & (self.places >= 0)

    @cached_property
    def abstained(self) -> Bools:
        """Where no species was named: a genus at most, or none of them (n,)."""
        found: Bools = self.read & (self.meaning[:, 0] < 0)
        return found

    @cached_property
    def right(self) -> Bools:
        """Where the species was named that it is; where nobody can tell, no species and no other genus (n,)."""
        species, genus = self.meaning.T
        stopped = self.abstained & ((genus == self.observed.genus) | (genus < 0))
        found: Bools = np.where(self.observed.answerable, self.told & (species == self.observed.species), stopped)
        return found

    @cached_property
    def right_genus(self) -> Bools:
        """Where the genus is right, named itself or by one of its species (n,)."""
        found: Bools = self.read & (self.meaning[:, 1] == self.observed.genus)
        return found

    def level(self, row: int) -> str:
        """How deep an answer goes."""
        if not self.read[row]:
            return UNREAD
        species, genus = self.meaning[row].tolist()
        return SPECIES if species >= 0 else GENUS if genus >= 0 else ABSTAINED

    def extracted(self, row: int) -> str:
        """The name that an answer means."""
        return self.names.choices[self.places[row]] if self.read[row] else ""


def free_form(sitting: Sitting) -> FreeForm:
    """Ask about every bird, then find the name in each answer."""
    observed = observed_of(sitting.dataset)
    names = BirdNames.of(observed.taxonomy)
    asked, second = sitting.prompt(prompt("species")), prompt("species_extraction")
    replies = put(sitting, [(row, asked.text) for row in range(len(sitting.dataset))])
    said = [reply.text for reply in replies.said]
    found = extracted(sitting, complete_texts(replies.said, names), second, names.choices, names)
    return FreeForm(
        keys=sitting.dataset.keys,
        errors=first_errors([reply.error for reply in replies.said], found),
        variant=variant(sitting, asked, second, names.choices),
        observed=observed,
        names=names,
        said=tuple(said),
        places=np.array(found.places, np.int64).reshape(-1),
        usage=(usage := replies.usage + found.usage),
        cost=cost(sitting.model, usage),
        requests=len(said) + found.requests,
        truncated=truncated_replies(replies.said, names, found),
    )


def first_errors(asked: list[str], found: Extracted) -> dict[int, str]:
    """What went wrong with each answer, when it was asked for or when its choice was."""
    return {place: error for place, said in enumerate(asked) if (error := said or found.errors.get(place, ""))}


def free_form_estimates(found: FreeForm, seed: int) -> Iterator[Estimate]:
    """Accuracy by level, how often no species was named, and the harmonic mean; an unread answer is a wrong one."""
    answerable = found.observed.answerable
    sets = (
        ("acc", "A.species", found.right, answerable),
        ("acc", "A.genus", found.right_genus, answerable),
        ("acc", "UA.genus", found.right_genus, ~answerable),
        ("acc", UNANSWERABLE, found.right, ~answerable),
        ("abstained", ANSWERABLE, found.abstained, answerable),
        ("abstained", UNANSWERABLE, found.abstained, ~answerable),
    )
    for name, category, outcomes, mask in sets:
        known, better = np.where(mask, told(found, outcomes), np.nan), True if name == "acc" else None
        yield rate(name, LABELS, known, category, found.observed.clusters, better=better)
    yield harmonic("hm", LABELS, told(found, found.right), found.observed, seed)


def told(found: FreeForm, outcomes: Bools) -> Floats:
    """Outcomes (n,) as 1 and 0, NaN where there is no answer."""
    return np.where(found.told, outcomes, np.nan)


def free_form_outcomes(found: FreeForm) -> Outcomes:
    """What became of the answers."""
    return Outcomes(
        correct=int(found.right.sum()),
        wrong=int((found.read & ~found.right).sum()),
        unparsed=int((found.told & ~found.read).sum()) - (cut := len(found.truncated - {*found.errors})),
        error=len(found.errors),
        truncated=cut,
    )


class FreeFormRecording(BirdRecording[FreeForm]):
    """Collects the numbers of a case of free form."""

    def free_form(self, found: FreeForm) -> None:
        """Score what was said."""
        self.scored.extend(free_form_estimates(found, self.settings.seed))

    def outcomes(self) -> Outcomes:
        """What became of the answers."""
        return free_form_outcomes(self.found)

    def served(self) -> Served:
        """What the answers took, extraction included."""
        return served(self.found.requests, self.found.usage, self.found.cost)

    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        unread, case = self.outcomes().unparsed, f"{self.case} ({self.case.protocol})"
        silent = f"{case}: {unread} of {self.asked} got an answer that could not be read; it counts as wrong."
        shared = self.found.names.shared
        among = f"{case}: common names of several species were not looked for: {', '.join(shared)}."
        cut = truncation_note(case, self.outcomes().truncated, self.asked)
        return (*super().notes(), *((silent,) if unread else ()), *cut, *((among,) if shared else ()))

    def answer_rows(self) -> Rows:
        """Every bird: what was said, the name that it means, how deep it goes, and whether it is right."""
        yield [*BIRD, "error", "said", "extracted", "level", "correct", "truncated"]
        found = self.found
        for row in range(len(found.keys)):
            correct = int(found.right[row]) if found.told[row] else ""
            told = [
                found.errors.get(row, ""),
                found.said[row],
                found.extracted(row),
                found.level(row),
                correct,
                int(row in found.truncated),
            ]
            yield [*self.bird_cells(row), *told]
