"""Abstention: the question for a bird's species in many wordings, and the reasons of those who decline."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eyechart.data.observations import REASONS, Observations
from eyechart.models.types import Usage
from eyechart.protocol.context import Sitting, cost
from eyechart.protocol.prompts import prompt
from eyechart.realbirdid.bird_names import observed_of
from eyechart.realbirdid.bird_questions import put
from eyechart.realbirdid.bird_words import BirdNames
from eyechart.realbirdid.extraction import complete_texts, extracted, truncated_replies, variant
from eyechart.realbirdid.free_form import first_errors
from eyechart.realbirdid.reason_words import ANSWERED, CHOICES, ReasonWords
from eyechart.realbirdid.wordings import Wordings, wordings

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
WHY = ", ".join(REASONS)


@dataclass(frozen=True)
class Abstention:
    """What was said of the birds in `rows` (r,) to each of k wordings, level by level.

    `said` are the words and `places` the places in `CHOICES`, -1 where nothing could be read: (k, r), as `errors` are
    by place in there, and `truncated`, the replies that ended at the token limit before they answered.
    """

    keys: tuple[str, ...]
    errors: Mapping[int, str]
    variant: Mapping[str, str]
    observed: Observations
    wordings: Wordings
    rows: Ints
    said: tuple[str, ...]
    places: Ints
    usage: Usage
    cost: float | None
    requests: int
    truncated: frozenset[int] = frozenset()

    @cached_property
    def told(self) -> Bools:
        """Where there is an answer, read or not (k, r)."""
        found = np.ones(self.places.size, np.bool_)
        found[list(self.errors)] = False
        return found.reshape(self.places.shape)

    @cached_property
    def read(self) -> Bools:
        """Where an answer could be read (k, r)."""
        found: Bools = self.told & (self.places >= 0)
        return found

    @cached_property
    def abstained(self) -> Bools:
        """Where no species was named (k, r); an answer that could not be read is none of these."""
        found: Bools = self.read & (self.places != CHOICES.index(ANSWERED))
        return found

    @cached_property
    def levels(self) -> Mapping[str, slice]:
        """The wordings of each level."""
        found, start = {}, 0
        for level, texts in self.wordings.levels.items():
            found[level] = slice(start, start + len(texts))
            start += len(texts)
        return found

    @cached_property
    def answerable(self) -> Bools:
        """Which of the birds can be told (r,)."""
        return self.observed.answerable[self.rows]

    @cached_property
    def reason(self) -> Ints:
        """Why each of the birds cannot be told (r,), as places in REASONS, -1 where it can or nobody says why."""
        return self.observed.reason[self.rows]


def abstention(sitting: Sitting) -> Abstention:
    """Ask in every wording, and find the reason in every answer."""
    observed, asked = observed_of(sitting.dataset), wordings(sitting.chosen["wordings"])
    everyone = sitting.chosen["about"] == "all"
    rows = np.arange(len(observed)) if everyone else np.flatnonzero(~observed.answerable)
    queries = [(row, text) for texts in asked.levels.values() for text in texts for row in rows.tolist()]
    replies = put(sitting, queries)
    said, second = [reply.text for reply in replies.said], prompt("abstention_reason")
    reader = ReasonWords(BirdNames.of(observed.taxonomy))
    found = extracted(sitting, complete_texts(replies.said, reader), second, CHOICES, reader, reason_list=WHY)
    usage = replies.usage + found.usage
    return Abstention(
        keys=sitting.dataset.keys,
        errors=first_errors([reply.error for reply in replies.said], found),
        variant=variant(sitting, None, second, CHOICES) | {"wordings": f"{asked.name} ({asked.sha256[:8]})"},
        observed=observed,
        wordings=asked,
        rows=rows,
        said=tuple(said),
        places=np.array(found.places, np.int64).reshape(asked.count, len(rows)),
        usage=usage,
        cost=cost(sitting.model, usage),
        requests=len({*queries}) + found.requests,
        truncated=truncated_replies(replies.said, reader, found),
    )
