"""Free form: a bird's species in the model's own words, then the one name that the words mean."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eyechart.estimates import Estimate
from eyechart.models.types import Usage
from eyechart.protocol.base import Protocol, Rows, truncation_note
from eyechart.protocol.context import Context
from eyechart.protocol.options import PROMPT, OptionValues
from eyechart.protocol.prompts import get_prompt
from eyechart.protocol.result import make_usage_record
from eyechart.realbirdid.bird_vocabulary import BirdNames
from eyechart.realbirdid.estimators import harmonic, rate
from eyechart.realbirdid.extraction import Extracted, complete_texts, extracted, truncated_replies, variant
from eyechart.realbirdid.name_scores import observed_of
from eyechart.realbirdid.options import EXTRACTION
from eyechart.realbirdid.predictions import BIRD, LABELS, BirdPredictions
from eyechart.realbirdid.prompts import put
from eyechart.records import OutcomeCounts, UsageRecord

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
SPECIES, GENUS, ABSTAINED, UNREAD = "species", "genus", "abstained", ""
ANSWERABLE, UNANSWERABLE = "A", "UA"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FreeFormPredictions(BirdPredictions):
    """What was said of each bird, and the place of the name that it means among `names`, -1 where it was not read.

    `truncated` are the rows whose reply ended at the token limit before it answered.
    """

    names: BirdNames
    said: tuple[str, ...]
    places: Ints
    usage: Usage
    cost: float | None
    requests: int
    truncated: frozenset[int] = frozenset()
    seed: int = 0

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

    def count_outcomes(self) -> OutcomeCounts:
        """Count the answers by what became of them."""
        return OutcomeCounts(
            correct=int(self.right.sum()),
            wrong=int((self.read & ~self.right).sum()),
            unparsed=int((self.told & ~self.read).sum()) - (cut := len(self.truncated - {*self.errors})),
            error=len(self.errors),
            truncated=cut,
        )

    def usage_record(self) -> UsageRecord:
        """Return what the answers took, extraction included."""
        return make_usage_record(self.requests, self.usage, self.cost)

    def notes(self) -> Iterator[str]:
        """Yield how many answers could not be read or were cut, and which names were not looked for."""
        came = self.count_outcomes()
        if came.unparsed:
            total = self.describe_count()
            yield f"{came.unparsed} of {total} got an answer that could not be read; it counts as wrong."
        yield from truncation_note(came.truncated, self.describe_count())
        if self.names.shared:
            yield f"common names of several species were not looked for: {', '.join(self.names.shared)}."

    def samples(self) -> Rows:
        """Yield every bird: what was said, the name that it means, how deep it goes, and whether it is right."""
        yield [*BIRD, "error", "said", "extracted", "level", "correct", "truncated"]
        for row in range(len(self.keys)):
            correct = int(self.right[row]) if self.told[row] else ""
            told = [
                self.errors.get(row, ""),
                self.said[row],
                self.extracted(row),
                self.level(row),
                correct,
                int(row in self.truncated),
            ]
            yield [*self.bird_cells(row), *told]


class FreeForm(Protocol[FreeFormPredictions]):
    """What bird is it, in the model's own words."""

    name = "free_form"
    requires = ("generator",)
    replays = "free_form"
    options = (PROMPT, EXTRACTION)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:  # noqa: ARG002
        """Return the options that say how a model is asked, which a file is not."""
        return {"extraction"} if replayed else set()

    def predict(self, context: Context) -> FreeFormPredictions:
        """Ask about every bird, then find the name in each answer."""
        observed = observed_of(context.dataset)
        names = BirdNames.of(observed.taxonomy)
        asked, second = context.select_prompt(get_prompt("species")), get_prompt("species_extraction")
        replies = put(context, [(row, asked.text) for row in range(len(context.dataset))])
        said = [reply.text for reply in replies.responses]
        found = extracted(context, complete_texts(replies.responses, names), second, names.choices, names)
        return FreeFormPredictions(
            dataset=context.dataset,
            seed=context.runner.seed,
            errors=first_errors([reply.error for reply in replies.responses], found),
            variant=variant(context, asked, second, names.choices),
            observed=observed,
            names=names,
            said=tuple(said),
            places=np.array(found.places, np.int64).reshape(-1),
            usage=(usage := replies.usage + found.usage),
            cost=context.model.cost(usage),
            requests=len(said) + found.requests,
            truncated=truncated_replies(replies.responses, names, found),
        )


def first_errors(asked: list[str], found: Extracted) -> dict[int, str]:
    """What went wrong with each answer, when it was asked for or when its choice was."""
    return {place: error for place, said in enumerate(asked) if (error := said or found.errors.get(place, ""))}


def free_form_accuracies(found: FreeFormPredictions) -> Iterator[Estimate]:
    """Yield accuracy by level, how often no species was named, and the harmonic mean; unread answers are wrong."""
    answerable = found.observed.answerable
    sets = (
        ("acc", "A.species", found.right, answerable, "A species"),
        ("acc", "A.genus", found.right_genus, answerable, ""),
        ("acc", "UA.genus", found.right_genus, ~answerable, ""),
        ("acc", UNANSWERABLE, found.right, ~answerable, ""),
        ("abstained", ANSWERABLE, found.abstained, answerable, "A abstained"),
        ("abstained", UNANSWERABLE, found.abstained, ~answerable, "UA abstained"),
    )
    for name, category, outcomes, mask, title in sets:
        known, better = np.where(mask, told(found, outcomes), np.nan), True if name == "acc" else None
        yield rate(name, LABELS, known, category, found.observed.clusters, better=better, title=title)
    yield harmonic("hm", LABELS, told(found, found.right), found.observed, found.seed)


def told(found: FreeFormPredictions, outcomes: Bools) -> Floats:
    """Outcomes (n,) as 1 and 0, NaN where there is no answer."""
    return np.where(found.told, outcomes, np.nan)
