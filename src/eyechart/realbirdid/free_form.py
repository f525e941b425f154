"""Free form: a bird's species in the model's own words, then the one name that the words mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eyechart.data.observations import Observations
from eyechart.models.types import Usage
from eyechart.protocol.context import Sitting, cost
from eyechart.protocol.prompts import prompt
from eyechart.realbirdid.bird_names import observed_of
from eyechart.realbirdid.bird_questions import put
from eyechart.realbirdid.bird_words import BirdNames
from eyechart.realbirdid.extraction import Extracted, complete_texts, extracted, truncated_replies, variant

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
SPECIES, GENUS, ABSTAINED, UNREAD = "species", "genus", "abstained", ""


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
