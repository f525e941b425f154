"""Distribution: whether the pairs out of distribution of two splits come from one distribution."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from eyechart.data.dataset import Dataset
from eyechart.errors import DataError
from eyechart.metrics.distribution import Equivalence, equivalence
from eyechart.models.types import Floats
from eyechart.oodbench.divisions import HARD, SIMPLE, Division
from eyechart.oodbench.existence import made
from eyechart.oodbench.split_division import division
from eyechart.protocol.context import Sitting
from eyechart.protocol.options import Chosen

LEAST, NONE = 4, "none"  # pairs a side; no reference


@dataclass(frozen=True)
class Sample:
    """The pairs of a split whose images have features: places in its division, their features and categories."""

    dataset: Dataset
    division: Division
    places: np.ndarray
    features: Floats
    categories: np.ndarray
    errors: dict[str, str]


@dataclass(frozen=True)
class Distribution:
    """A split's pairs beside those of the reference, and how far apart they are."""

    here: Sample
    reference: Sample
    found: Equivalence
    variant: dict[str, str]


def distribution(sitting: Sitting) -> Distribution:
    """Compare the split's OOD pairs with those of the reference, in the features of the model."""
    benchmark, _, split = sitting.chosen["reference"].rpartition("/")
    if why := unlike(sitting.chosen, sitting.dataset, sitting.fetch):
        raise DataError(f"--eye-reference={why}. Expected a split of the same data set, such as its training images.")
    other = sitting.fetch(benchmark, split)
    here, reference = sampled(sitting), sampled(replace(sitting, dataset=other))
    found = equivalence(
        reference.features, reference.categories, here.features, here.categories, seed=sitting.asker.seed
    )
    variant = {**sitting.chosen, **made(sitting, here.division), "bandwidth": f"{found.bandwidth:.6g}"}
    return Distribution(here, reference, found, variant)


def unlike(chosen: Chosen, dataset: Dataset, fetch: Callable[[str, str], Dataset]) -> str:
    """Why a split cannot be compared with the reference; "" where it can, or none is asked for."""
    given, here = chosen.get("reference", NONE), f"{dataset.benchmark}/{dataset.split}"
    if given == NONE:
        return ""
    if given == here:
        return f"{given} is the split itself: its pairs are no second sample"
    benchmark, _, split = given.rpartition("/")
    other = fetch(benchmark, split).names != dataset.names
    return f"{given} has other categories than {here}" if other else ""


def sampled(sitting: Sitting) -> Sample:
    """The OOD pairs of the main benchmark with their images' features."""
    divided = division(sitting)
    seen = sitting.asker.features(sitting.model, sitting.dataset)
    wanted = np.isin(np.array(divided.sets), (SIMPLE, HARD)) & divided.main
    places = np.flatnonzero(wanted & ~np.isin(divided.rows, [*seen.errors]))
    if len(places) < LEAST:
        name = f"{sitting.dataset.benchmark}/{sitting.dataset.split}"
        raise DataError(
            f"{name} has {len(places)} pairs out of distribution with features, expected at least {LEAST}. Take more "
            "images, or another threshold."
        )
    errors = {sitting.dataset.keys[row]: error for row, error in seen.errors.items()}
    features = np.asarray(seen.values[divided.rows[places]])
    return Sample(sitting.dataset, divided, places, features, divided.categories[places], errors)
