"""Species: a probability for every species, over all of them and over those that live where the bird was seen."""

from collections.abc import Mapping
from dataclasses import dataclass

from eyechart.data.observations import Observations
from eyechart.models.types import Floats
from eyechart.protocol.context import Sitting
from eyechart.realbirdid.bird_names import Read, Share, listed, logits, observed_of, shares, species_names
from eyechart.realbirdid.species_summary import Summary, summarised

ALL, RANGE = "all species", "range"


@dataclass(frozen=True)
class Species:
    """What a model says of each bird, under all species (`ALL`) and under the range lists (`RANGE`).

    Where a bird has no list, `RANGE` says nothing.
    """

    keys: tuple[str, ...]
    errors: Mapping[int, str]
    variant: Mapping[str, str]
    observed: Observations
    summaries: Mapping[str, Summary]


def species(sitting: Sitting) -> Species:
    """Ask about every species, and make probabilities of it."""
    observed = observed_of(sitting.dataset)
    told = logits(sitting, species_names(sitting))
    readers = {
        ALL: probabilities(told.read, share=told.share),
        RANGE: probabilities(told.read, observed, told.share),
    }
    ancestors, rows = observed.taxonomy.ancestors, len(sitting.dataset)
    return Species(
        keys=sitting.dataset.keys,
        errors=told.errors,
        variant={**sitting.chosen, "names": sitting.names_by, **told.variant},
        observed=observed,
        summaries={name: summarised(read, rows, ancestors) for name, read in readers.items()},
    )


def probabilities(read: Read, observed: Observations | None = None, share: Share = shares) -> Read:
    """Probabilities of rows over all species, or over the listed ones, where NaN stands for a bird without a list."""

    def some(start: int, stop: int) -> Floats:
        return share(read(start, stop), None if observed is None else listed(observed, start, stop))

    return some
