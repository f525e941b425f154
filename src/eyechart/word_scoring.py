"""From what was said of birds to numbers."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eyechart.asking.free_form import FreeForm
from eyechart.bird_scoring import harmonic, rate
from eyechart.records import Metric, Outcomes

LABELS = "observations"
ANSWERABLE, UNANSWERABLE = "A", "UA"
Bools = NDArray[np.bool_]


def free_form_metrics(found: FreeForm, seed: int) -> Iterator[Metric]:
    """Accuracy by level, how often no species was named, and the harmonic mean; an unread answer is a wrong one."""
    answerable = found.observed.answerable & found.told
    without = ~found.observed.answerable & found.told
    yield share("acc", "A.species", found.right[answerable])
    yield share("acc", "A.genus", found.right_genus[answerable])
    yield share("acc", "UA.genus", found.right_genus[without])
    yield share("acc", UNANSWERABLE, found.right[without])
    yield share("abstained", ANSWERABLE, found.abstained[answerable])
    yield share("abstained", UNANSWERABLE, found.abstained[without])
    sides = found.right[answerable].astype(np.float64), found.right[without].astype(np.float64)
    yield harmonic("hm", LABELS, *sides, seed)


def share(name: str, category: str, outcomes: Bools) -> Metric:
    """A share of images, with Wilson's interval."""
    return rate(name, LABELS, outcomes.astype(np.float64), category)


def free_form_outcomes(found: FreeForm) -> Outcomes:
    """What became of the answers."""
    return Outcomes(
        correct=int(found.right.sum()),
        wrong=int((found.read & ~found.right).sum()),
        unparsed=int((found.told & ~found.read).sum()),
        error=len(found.errors),
    )
