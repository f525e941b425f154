"""What a division holds, in a few lines."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eyechart.data.dataset import Dataset
from eyechart.oodbench.divide import annotation_of, answered
from eyechart.oodbench.divisions import HARD, MINED, SETS, SIMPLE, Division
from eyechart.oodbench.flags import BEATEN, UNLIKELY
from eyechart.oodbench.split_division import Made

INITIAL = (f"{SIMPLE}'", f"{HARD}'")
HEADS = ("split", "images", "pairs", *SETS, *INITIAL)


def cells(dataset: Dataset, found: Made) -> tuple[str, ...]:
    """A row of the table: how many images and pairs there are, and pairs of each set of both benchmarks."""
    usable = answered(dataset, found.detected)
    numbers = [int(usable.sum()), pairs(dataset, found)]
    main = [of_set(found.division, name, initial=False) for name in SETS]
    initial = [of_set(found.division, name, initial=True) for name in (SIMPLE, HARD)]
    return f"{dataset.benchmark}/{dataset.split}", *(f"{number:,}" for number in (*numbers, *main, *initial))


def pairs(dataset: Dataset, found: Made) -> int:
    """How many categories are in the images that every detector answered about, taken together."""
    return int(annotation_of(dataset).present[answered(dataset, found.detected)].sum())


def of_set(division: Division, name: str, *, initial: bool) -> int:
    """How many pairs of a set are in the main benchmark, or in the initial one."""
    here = np.array(division.sets, np.object_) == name
    return int((here if initial else here & division.main).sum())


def said(dataset: Dataset, found: Made, path: Path) -> Iterator[str]:
    """Where it is, what each detector flagged, and what is not in it."""
    yield f"{dataset.benchmark}/{dataset.split}: {path}"
    yield from (flagged(dataset, found, place) for place in range(len(found.detected)))
    absent, hard = int((~found.division.present).sum()), found.division.sets.count(MINED)
    if absent:
        yield f"  absent categories that a detector took for present: {absent:,}"
    if hard:
        yield f"  hard samples: {hard:,}"
    if not found.division.main.any():
        yield "  note: no pair is in any set, so there is nothing to ask about"
    yield from (f"  note: {note}" for note in found.division.notes)


def flagged(dataset: Dataset, found: Made, place: int) -> str:
    """What one detector flagged; every flagged pair is in the initial benchmark."""
    division, every = found.division, pairs(dataset, found)
    counted = division.present & (np.array(division.sets, np.object_) != MINED)
    codes = division.flags[counted, place]
    case1, case2, either = (int((codes & case > 0).sum()) for case in (BEATEN, UNLIKELY, BEATEN | UNLIKELY))
    of = f" ({either / every:.1%})" if every else ""
    return (
        f"  {division.detectors[place].spec}: {either:,} of {every:,} pairs flagged{of}, {case1:,} by case 1, "
        f"{case2:,} by case 2"
    )
