"""What the choices from one flat list are worth: Figure 4's accuracies and their harmonic mean."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from eyechart.gate.pairing import Draw, Key
from eyechart.realbirdid.flat_list import UNTOLD, FlatList
from eyechart.realbirdid.scoring import Outcomes, harmonic, harmonic_draw, rate, sides_of
from eyechart.realbirdid.species import ALL, RANGE
from eyechart.realbirdid.species_scoring import ELIGIBLE
from eyechart.records import Metric


def views(found: FlatList) -> Iterator[tuple[str, Outcomes, Outcomes]]:
    """Under every list: its label, whether each answer is right, and whether it is an abstention; NaN for none."""
    eligible = found.observed.eligible
    for labels, source, rows in ((ALL, ALL, None), (ELIGIBLE, ALL, eligible), (RANGE, RANGE, eligible)):
        outside = np.zeros(len(found.keys), np.bool_) if rows is None else ~rows
        right, stopped = correct(found, source), abstained(found, source)
        yield labels, np.where(outside, np.nan, right), np.where(outside, np.nan, stopped)


def correct(found: FlatList, source: str) -> Outcomes:
    """Whether each answer is the species of an answerable bird, or the genus of an unanswerable one; NaN for none."""
    places = found.answers[source].places
    return np.where(places == UNTOLD, np.nan, places == found.observed.nodes)


def abstained(found: FlatList, source: str) -> Outcomes:
    """Whether each answer is a genus; NaN for none."""
    places = found.answers[source].places
    return np.where(places == UNTOLD, np.nan, places >= len(found.observed.taxonomy.names[0]))


def flat_list_metrics(found: FlatList, seed: int) -> Iterator[Metric]:
    """Accuracy and abstention of both sets of birds, and the harmonic mean of the accuracies."""
    answerable = found.observed.answerable
    for labels, right, stopped in views(found):
        for (name, _, category), outcomes in shares(labels, right, stopped, answerable).items():
            yield rate(name, labels, outcomes, category, found.observed.clusters)
        yield harmonic("hm", labels, right[answerable], right[~answerable], seed, sides_of(found.observed))


def flat_list_outcomes(found: FlatList) -> Mapping[Key, Outcomes]:
    """Each share's outcomes of all birds (n,), NaN for a bird that it is not about."""
    each = [shares(*view, found.observed.answerable) for view in views(found)]
    return {key: outcomes for some in each for key, outcomes in some.items()}


def shares(labels: str, right: Outcomes, stopped: Outcomes, answerable: NDArray[np.bool_]) -> dict[Key, Outcomes]:
    """Accuracy and abstention of both sets of birds, as each bird's outcome, NaN outside of the set."""
    return {
        (what, labels, name): np.where(mask, outcomes, np.nan)
        for name, mask in (("A", answerable), ("UA", ~answerable))
        for what, outcomes in (("acc", right), ("abstained", stopped))
    }


def flat_list_units(found: FlatList) -> Mapping[Key, int]:
    """Of how many observations the images of the harmonic means are."""
    clusters = found.observed.clusters
    return {("hm", labels, "all"): len(np.unique(clusters[~np.isnan(right)])) for labels, right, _ in views(found)}


def flat_list_draws(found: FlatList, seed: int) -> Mapping[Key, Draw]:
    """How the harmonic means are drawn."""
    return {("hm", labels, "all"): harmonic_draw(right, found.observed, seed) for labels, right, _ in views(found)}
