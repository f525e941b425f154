"""What the choices from one flat list are worth: Figure 4's accuracies and their harmonic mean."""

from collections.abc import Iterator, Mapping

import numpy as np

from eyechart.asking.flat_list import UNTOLD, FlatList
from eyechart.asking.species import ALL, RANGE
from eyechart.bird_scoring import Outcomes, harmonic, harmonic_draw, rate
from eyechart.pairing import Draw, Key
from eyechart.records import Metric
from eyechart.species_views import ELIGIBLE


def views(found: FlatList) -> Iterator[tuple[str, Outcomes, Outcomes]]:
    """Under every list: its label, whether each answer is right, and whether it is an abstention; NaN for none."""
    eligible = found.observed.eligible
    for labels, source, rows in ((ALL, ALL, None), (ELIGIBLE, ALL, eligible), (RANGE, RANGE, eligible)):
        outside = np.zeros(len(found.keys), np.bool_) if rows is None else ~rows
        right, stopped = correct(found, source), abstained(found, source)
        yield labels, np.where(outside, np.nan, right), np.where(outside, np.nan, stopped)


def correct(found: FlatList, source: str) -> Outcomes:
    """Whether each answer is the species of an answerable bird, or the genus of an unanswerable one; NaN for none."""
    places, seen = found.answers[source].places, found.observed
    truth = np.where(seen.answerable, seen.species, len(seen.taxonomy.names[0]) + seen.genus)
    return np.where(places == UNTOLD, np.nan, places == truth)


def abstained(found: FlatList, source: str) -> Outcomes:
    """Whether each answer is a genus; NaN for none."""
    places = found.answers[source].places
    return np.where(places == UNTOLD, np.nan, places >= len(found.observed.taxonomy.names[0]))


def flat_list_metrics(found: FlatList, seed: int) -> Iterator[Metric]:
    """Accuracy and abstention of both sets of birds, and the harmonic mean of the accuracies."""
    answerable = found.observed.answerable
    for labels, right, stopped in views(found):
        for name, mask in (("A", answerable), ("UA", ~answerable)):
            yield rate("acc", labels, right[mask], name)
            yield rate("abstained", labels, stopped[mask], name)
        sides = right[answerable], right[~answerable]
        yield harmonic("hm", labels, *sides, seed)


def flat_list_outcomes(found: FlatList) -> Mapping[Key, Outcomes]:
    """Each share's outcomes of all birds (n,), NaN for a bird that it is not about."""
    answerable = found.observed.answerable
    return {
        (what, labels, name): np.where(mask, outcomes, np.nan)
        for labels, right, stopped in views(found)
        for what, outcomes in (("acc", right), ("abstained", stopped))
        for name, mask in (("A", answerable), ("UA", ~answerable))
    }


def flat_list_draws(found: FlatList, seed: int) -> Mapping[Key, Draw]:
    """How the harmonic means are drawn."""
    return {("hm", labels, "all"): harmonic_draw(right, found.observed, seed) for labels, right, _ in views(found)}
