"""From what was said of birds to numbers."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from eyechart.gate.pairing import Draw, Key
from eyechart.realbirdid.free_form import FreeForm
from eyechart.realbirdid.scoring import harmonic, harmonic_draw, rate, sides_of
from eyechart.records import Metric, Outcomes

LABELS = "observations"
ANSWERABLE, UNANSWERABLE = "A", "UA"
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def free_form_metrics(found: FreeForm, seed: int) -> Iterator[Metric]:
    """Accuracy by level, how often no species was named, and the harmonic mean; an unread answer is a wrong one."""
    for (name, labels, category), outcomes in free_form_shares(found).items():
        yield rate(name, labels, outcomes, category, found.observed.clusters)
    answerable, right = found.observed.answerable, told(found, found.right)
    yield harmonic("hm", LABELS, right[answerable], right[~answerable], seed, sides_of(found.observed))


def free_form_shares(found: FreeForm) -> Mapping[Key, Floats]:
    """Each share's outcomes of all birds (n,), NaN for a bird that it is not about or that has no answer."""
    answerable = found.observed.answerable
    sets = (
        ("acc", "A.species", found.right, answerable),
        ("acc", "A.genus", found.right_genus, answerable),
        ("acc", "UA.genus", found.right_genus, ~answerable),
        ("acc", UNANSWERABLE, found.right, ~answerable),
        ("abstained", ANSWERABLE, found.abstained, answerable),
        ("abstained", UNANSWERABLE, found.abstained, ~answerable),
    )
    return {
        (name, LABELS, category): np.where(mask, told(found, outcomes), np.nan)
        for name, category, outcomes, mask in sets
    }


def free_form_units(found: FreeForm) -> Mapping[Key, int]:
    """Of how many observations the images of the harmonic mean are."""
    return {("hm", LABELS, "all"): len(np.unique(found.observed.clusters[found.told]))}


def free_form_draws(found: FreeForm, seed: int) -> Mapping[Key, Draw]:
    """How the harmonic mean is drawn."""
    return {("hm", LABELS, "all"): harmonic_draw(told(found, found.right), found.observed, seed)}


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
