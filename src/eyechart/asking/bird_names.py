"""How much each name speaks for each picture of a bird: an encoder's cosines, or how likely a model would say it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eyechart.asking.asker import Wording, nothing
from eyechart.asking.detecting import scale
from eyechart.asking.likelihood import of_each_image
from eyechart.asking.sitting import OWN, Sitting
from eyechart.data.class_names import check_unique, templates
from eyechart.data.dataset import Dataset
from eyechart.data.observations import Observations
from eyechart.errors import DataError, SpecError, VocabularyError
from eyechart.models.interfaces import Floats, Request
from eyechart.protocols.prompt_files import prompt
from eyechart.protocols.zero_shot import scores

TEMPLATES = "bird"
Read = Callable[[int, int], Floats]


@dataclass(frozen=True)
class Told:
    """Logits of names: `read(start, stop)` gives those of some rows, NaN where there is an error."""

    read: Read
    errors: Mapping[int, str]
    variant: Mapping[str, str]


def observed_of(dataset: Dataset) -> Observations:
    """The observations of a split; one without any is no split of birds."""
    if dataset.observed is None:
        raise DataError(
            f"{dataset.benchmark}/{dataset.split} has no observations. Put birds.csv (or birds.parquet) and "
            "taxonomy.csv into its folder; README says what they hold."
        )
    return dataset.observed


def species_names(sitting: Sitting) -> tuple[str, ...]:
    """The names of the species as they were asked for."""
    if sitting.chosen["called"] == "scientific":
        return sitting.names
    common = observed_of(sitting.dataset).taxonomy.common
    nameless = [sitting.names[place] for place, name in enumerate(common) if not name]
    if nameless:
        raise VocabularyError(
            f"--eye-called=common: {len(nameless):,} of {len(common):,} species of {sitting.dataset.benchmark}/"
            f"{sitting.dataset.split} have no common_name in taxonomy.csv, the first {nameless[0]}. Add them."
        )
    check_unique(common)
    return common


def logits(sitting: Sitting, names: Sequence[str]) -> Told:
    """Ask about names, each image once."""
    if hasattr(sitting.model, "probabilities"):
        return replayed(sitting)
    if hasattr(sitting.model, "score"):
        return retrieved(sitting, names)
    return compared(sitting, names)


def compared(sitting: Sitting, names: Sequence[str]) -> Told:
    """Cosines of an encoder, times its own scale."""
    if sitting.chosen["prompt"] != OWN:
        raise SpecError(
            f"--eye-prompt={sitting.chosen['prompt']} is for models that answer in words; "
            f"{sitting.model.identity.name} compares. Give --eye-templates."
        )
    asker, model, chosen = sitting.asker, sitting.model, templates(sitting.templates or TEMPLATES)
    by = f"{chosen.name} ({chosen.sha256[:8]})"
    seen = asker.features(model, sitting.dataset)
    weights = asker.weights(model, Wording(tuple(names), chosen.formats, sitting.names_by, by))
    times = scale(asker, model)

    def read(start: int, stop: int) -> Floats:
        if nothing(seen):
            return np.full((stop - start, len(names)), np.nan, np.float32)
        return scores(seen.values[start:stop], weights) * times

    return Told(read, seen.errors, {"templates": by, "scale": f"{times:.6g}"})


def retrieved(sitting: Sitting, names: Sequence[str]) -> Told:
    """Log-probabilities of a language model, of each name up to where no other goes on in the same way."""
    asked = sitting.prompt(prompt("species"))

    def ask(requests: Sequence[Request]) -> Floats:
        return np.asarray(sitting.model.score(requests, names, until="unique"))

    found = of_each_image(sitting, "retrieval", (0, asked.text), names, ask)

    def read(start: int, stop: int) -> Floats:
        if nothing(found):
            return np.full((stop - start, len(names)), np.nan, np.float32)
        return found.values[start:stop]

    told = {"prompt": f"{asked.name} ({asked.sha256[:8]})", "parser": "none", "stop": "unique prefix"}
    return Told(read, found.errors, told)


def replayed(sitting: Sitting) -> Told:
    """Probabilities of a file."""
    found = sitting.model.probabilities(sitting.dataset)

    def read(start: int, stop: int) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(found[start:stop], np.float32))

    return Told(read, found.errors, {})


def shares(logits: Floats, allowed: np.ndarray | None = None) -> Floats:
    """The softmax (n, names) of logits over the names that are allowed (n, names); NaN where none is.

    >>> shares(np.zeros((1, 4), np.float32), np.array([[True, True, False, False]])).tolist()
    [[0.5, 0.5, 0.0, 0.0]]
    """
    given = logits if allowed is None else np.where(allowed, logits, -np.inf)
    top = given.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        raised = np.exp(given - top)
        found: Floats = raised / raised.sum(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
    return found
