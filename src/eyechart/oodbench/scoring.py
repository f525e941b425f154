"""From answers about pairs to numbers: every set's measures, and how far a model falls from one set to another."""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.estimates import Estimate
from eyechart.gate.evidence import TIMES as DRAWS
from eyechart.metrics.alike import measure_intervals, share_interval
from eyechart.metrics.degradation import Degradation, degradation
from eyechart.metrics.intervals import Interval
from eyechart.metrics.resampling import clustered, drawn_shares, drawn_totals, quotients, row_sums
from eyechart.metrics.yes_no import MEASURES, MISSING, UNPARSED, YES, measures, tables
from eyechart.oodbench.divisions import ID
from eyechart.oodbench.predictions import Existence, Progression
from eyechart.records import Outcomes

LABELS = "OODBench"
TIMES = 2000
SHARES = ("yes_rate", "unparsed")
STAGES = ("e_acc", "c_acc", "l_acc")
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def estimate(name: str, category: str, value: float, n: int, interval: Interval | None, **more: Any) -> Estimate:
    """A number of a set of pairs, by default with a bootstrap interval over images."""
    how = {"method": "bootstrap", "labels": LABELS} | more
    return Estimate(name=name, category=category, value=value, n=n, interval=interval, **how)


def existence_estimates(found: Existence, seed: int) -> Iterator[Estimate]:
    """Every measure of every set, then how far it falls from ID, with the p-value of the fall."""
    masks = answered(found)
    counts = {name: tables(found.answers[mask], found.expected[mask]) for name, mask in masks.items()}
    images = {name: images_of(found)[mask] for name, mask in masks.items()}
    for name, mask in masks.items():
        yield from measured(name, counts[name], images[name], len(found.keys), seed)
        yield from said(name, found.answers[mask], images[name], seed)
    for name in counts:
        if name != ID and ID in counts:
            yield from fallen(name, (counts[ID], counts[name]), (images[ID], images[name]), seed)


def images_of(found: Existence) -> Ints:
    """The image of each pair: several pairs of one image are no independent samples."""
    return found.division.rows[found.places]


def answered(found: Existence) -> dict[str, Bools]:
    """The pairs of each set that have both answers, or a set's resamples would differ in size."""
    both = (found.answers != MISSING).all(axis=1)
    return {name: mask & both for name, mask in found.masks()}


def measured(name: str, counts: Ints, images: Ints, all_images: int, seed: int) -> Iterator[Estimate]:
    """Accuracy, F1, precision, recall and MCC, with bootstrap intervals over images, which several pairs share.

    For comparisons all images of the split are drawn, with all pairs of each.
    """
    values, draws = measures(counts.sum(axis=0)), measures(clustered(counts, images, TIMES, seed))
    n, units = int(counts.sum()), len(np.unique(images))
    intervals = measure_intervals(counts, draws, clusters=images) if n else {}

    @cache
    def resamples() -> dict[str, Floats]:
        return measures(drawn_totals(row_sums(counts, images, all_images), DRAWS, seed))

    def bootstrap(measure: str) -> Floats:
        return resamples()[measure]

    for measure in MEASURES:
        more = {"units": units, "higher_is_better": True, "bootstrap": partial(bootstrap, measure)}
        yield estimate(measure, name, float(values[measure]), n, intervals.get(measure), **more)


def said(name: str, answers: Ints, images: Ints, seed: int) -> Iterator[Estimate]:
    """The share of answers that say yes, and of those that could not be read, with intervals over images."""
    counted = [(answers == what).sum(axis=1) for what in (YES, UNPARSED)]
    rows = np.stack([*counted, np.full(len(answers), answers.shape[1])], axis=1).astype(np.int64)
    n, drawn = answers.size, clustered(rows, images, TIMES, seed)
    for place, what in enumerate(SHARES):
        value = float(rows[:, place].sum() / n) if n else float("nan")
        draws, count = quotients(drawn[:, place], drawn[:, 2]), len(np.unique(images))
        interval = share_interval(draws, value, count) if n else None
        yield estimate(what, name, value, n, interval, units=count)


def fallen(name: str, counts: tuple[Ints, Ints], images: tuple[Ints, Ints], seed: int) -> Iterator[Estimate]:
    """How far each measure falls from ID to a set, and how often permutations of whole images fall as far."""
    n = sum(int(rows.sum()) for rows in counts)
    falls: Mapping[str, Degradation] = degradation(*counts, TIMES, seed, clusters=images)
    units = len(np.unique(np.concatenate(images)))
    for measure, fall in falls.items():
        yield estimate(f"{measure}_delta", name, fall.delta, n, fall.ci, units=units)
    for measure, fall in falls.items():
        yield estimate(f"{measure}_p", name, fall.p, n, fall.p_ci, method="permutation", units=units)


def progression_estimates(found: Progression, seed: int) -> Iterator[Estimate]:
    """The three accuracies of every set, with bootstrap intervals over images, which several samples share."""
    rows = found.division.rows[found.first]
    for name, mask in complete(found):
        right = np.column_stack([found.right[mask], np.ones(int(mask.sum()), np.int64)])
        drawn = clustered(right, rows[mask], TIMES, seed)
        n = len(right)
        for place, stage in enumerate(STAGES):
            value = float(right[:, place].mean()) if n else float("nan")
            draws, images = quotients(drawn[:, place], drawn[:, 3]), len({*rows[mask].tolist()})
            interval = share_interval(draws, value, images) if n else None
            bootstrap = partial(resampled, right[:, [place, 3]], rows[mask], len(found.keys), seed)
            more = {"units": images, "higher_is_better": True, "bootstrap": bootstrap}
            yield estimate(stage, name, value, n, interval, **more)


def resampled(counts: Ints, images: Ints, all_images: int, seed: int) -> Floats:
    """The shares of resamples of all images of the split, of how many samples (n, 2) are right and are there."""
    part, whole = row_sums(counts, images, all_images).T
    return drawn_shares(part, whole, DRAWS, seed)


def complete(found: Progression) -> Iterator[tuple[str, Bools]]:
    """Every set, with which samples of it have all answers."""
    sets = np.array(found.set_names, dtype=object)
    yield from ((name, (sets == name) & ~found.missing) for name in dict.fromkeys(found.set_names))


def existence_outcomes(found: Existence) -> Outcomes:
    """What became of the answers."""
    read = found.answers >= 0
    correct = read & ((found.answers == YES) == found.expected)
    unread, cut = found.answers == UNPARSED, truncated(found, found.answers)
    return Outcomes(
        correct=int(correct.sum()),
        wrong=int((read & ~correct).sum()),
        unparsed=int((unread & ~cut).sum()),
        error=int((found.answers == MISSING).sum()),
        truncated=int((unread & cut).sum()),
    )


def progression_outcomes(found: Progression) -> Outcomes:
    """What became of the answers, three a sample; a logical answer counts as right where it is, whatever the number."""
    answers = np.stack([found.existence, found.counting, found.logic], axis=1)
    more = found.counts[:, 0] > found.counts[:, 1]
    right = np.stack([answers[:, 0] == YES, answers[:, 1] == found.counts[:, 1], answers[:, 2] == more], axis=1)
    read, unread, cut = answers >= 0, answers == UNPARSED, truncated(found, answers)
    return Outcomes(
        correct=int((read & right).sum()),
        wrong=int((read & ~right).sum()),
        unparsed=int((unread & ~cut).sum()),
        error=int((answers == MISSING).sum()),
        truncated=int((unread & cut).sum()),
    )


def truncated(found: Existence | Progression, answers: Ints) -> Bools:
    """Return which answers ended at the token limit before they answered, in the shape of `answers`."""
    return np.zeros(answers.shape, np.bool_) if found.truncated is None else found.truncated
