"""What the choices from one flat list are worth: Figure 4's accuracies and their harmonic mean."""

from collections.abc import Iterator

import numpy as np

from eyechart.estimates import Estimate
from eyechart.realbirdid.flat_list import UNTOLD, FlatList
from eyechart.realbirdid.scoring import Outcomes, harmonic, rate
from eyechart.realbirdid.species import ALL, RANGE
from eyechart.realbirdid.species_scoring import ELIGIBLE


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


def flat_list_estimates(found: FlatList, seed: int) -> Iterator[Estimate]:
    """Accuracy and abstention of both sets of birds, and the harmonic mean of the accuracies."""
    seen = found.observed
    for labels, right, stopped in views(found):
        for category, mask in (("A", seen.answerable), ("UA", ~seen.answerable)):
            yield rate("acc", labels, np.where(mask, right, np.nan), category, seen.clusters, better=True)
            yield rate("abstained", labels, np.where(mask, stopped, np.nan), category, seen.clusters)
        yield harmonic("hm", labels, right, seen, seed)
