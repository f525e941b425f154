"""From answers about pairs to numbers: every set's measures, and how far a model falls from one set to another."""

from collections.abc import Iterator, Mapping
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from eyechart.gate.evidence import TIMES as DRAWS
from eyechart.gate.pairing import Draw, Key
from eyechart.metrics.alike import measure_intervals, share_interval
from eyechart.metrics.degradation import Degradation, degradation
from eyechart.metrics.resampling import clustered, drawn_shares, drawn_totals, quotients, row_sums
from eyechart.metrics.yes_no import MEASURES, MISSING, UNPARSED, YES, measures, tables
from eyechart.oodbench.divisions import ID
from eyechart.oodbench.predictions import Existence, Progression
from eyechart.protocol.numbers import defined
from eyechart.records import Metric, Outcomes

LABELS = "OODBench"
TIMES = 2000
SHARES = ("yes_rate", "unparsed")
STAGES = ("e_acc", "c_acc", "l_acc")
number = partial(defined, labels=LABELS)
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def existence_metrics(found: Existence, seed: int) -> Iterator[Metric]:
    """Every measure of every set, then how far it falls from ID, with the p-value of the fall."""
    masks = answered(found)
    counts = {name: tables(found.answers[mask], found.expected[mask]) for name, mask in masks.items()}
    images = {name: images_of(found)[mask] for name, mask in masks.items()}
    for name, mask in masks.items():
        yield from measured(name, counts[name], images[name], seed)
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


def existence_draws(found: Existence, seed: int) -> Mapping[Key, Draw]:
    """How the measures of every set are drawn: over all images of the split, with all pairs of each."""

    @cache
    def drawn(name: str) -> dict[str, Floats]:
        mask = answered(found)[name]
        counts = row_sums(tables(found.answers[mask], found.expected[mask]), images_of(found)[mask], len(found.keys))
        return measures(drawn_totals(counts, DRAWS, seed))

    def draw(measure: str, name: str) -> Floats:
        return drawn(name)[measure]

    return {(measure, LABELS, name): partial(draw, measure, name) for name, _ in found.masks() for measure in MEASURES}


def existence_units(found: Existence) -> Mapping[Key, int]:
    """Of how many images the questions of every set are."""
    rows, masks = images_of(found), answered(found)
    units = {
        (measure, LABELS, name): len(np.unique(rows[mask]))
        for name, mask in masks.items()
        for measure in (*MEASURES, *SHARES)
    }
    falls = {
        (f"{measure}_{what}", LABELS, name): len(np.unique(rows[masks[ID] | mask]))
        for name, mask in masks.items()
        for measure in MEASURES
        for what in ("delta", "p")
        if ID in masks and name != ID
    }
    return units | falls


def measured(name: str, counts: Ints, images: Ints, seed: int) -> Iterator[Metric]:
    """Accuracy, F1, precision, recall and MCC, with bootstrap intervals over images, which several pairs share."""
    values, draws = measures(counts.sum(axis=0)), measures(clustered(counts, images, TIMES, seed))
    n = int(counts.sum())
    sure = measure_intervals(counts, draws, clusters=images) if n else {}
    for measure in MEASURES:
        yield number(measure, name, float(values[measure]), n, sure.get(measure))


def said(name: str, answers: Ints, images: Ints, seed: int) -> Iterator[Metric]:
    """The share of answers that say yes, and of those that could not be read, with intervals over images."""
    counted = [(answers == what).sum(axis=1) for what in (YES, UNPARSED)]
    rows = np.stack([*counted, np.full(len(answers), answers.shape[1])], axis=1).astype(np.int64)
    n, drawn = answers.size, clustered(rows, images, TIMES, seed)
    for place, what in enumerate(SHARES):
        value = float(rows[:, place].sum() / n) if n else float("nan")
        draws, count = quotients(drawn[:, place], drawn[:, 2]), len(np.unique(images))
        yield number(what, name, value, n, share_interval(draws, value, count) if n else None)


def fallen(name: str, counts: tuple[Ints, Ints], images: tuple[Ints, Ints], seed: int) -> Iterator[Metric]:
    """How far each measure falls from ID to a set, and how often permutations of whole images fall as far."""
    n = sum(int(rows.sum()) for rows in counts)
    falls: Mapping[str, Degradation] = degradation(*counts, TIMES, seed, clusters=images)
    for measure, fall in falls.items():
        yield number(f"{measure}_delta", name, fall.delta, n, fall.ci)
    for measure, fall in falls.items():
        yield number(f"{measure}_p", name, fall.p, n, fall.p_ci, "permutation")


def progression_metrics(found: Progression, seed: int) -> Iterator[Metric]:
    """The three accuracies of every set, with bootstrap intervals over images, which several samples share."""
    rows = found.division.rows[found.first]
    for name, mask in complete(found):
        right = np.column_stack([found.right[mask], np.ones(int(mask.sum()), np.int64)])
        drawn = clustered(right, rows[mask], TIMES, seed)
        n = len(right)
        for place, stage in enumerate(STAGES):
            value = float(right[:, place].mean()) if n else float("nan")
            draws, images = quotients(drawn[:, place], drawn[:, 3]), len({*rows[mask].tolist()})
            yield number(stage, name, value, n, share_interval(draws, value, images) if n else None)


def complete(found: Progression) -> Iterator[tuple[str, Bools]]:
    """Every set, with which samples of it have all answers."""
    sets = np.array(found.set_names, dtype=object)
    yield from ((name, (sets == name) & ~found.missing) for name in dict.fromkeys(found.set_names))


def progression_draws(found: Progression, seed: int) -> Mapping[Key, Draw]:
    """How the three accuracies of every set are drawn: over all images of the split, with all samples of each."""
    rows = found.division.rows[found.first]

    def draw(place: int, mask: Bools) -> Floats:
        right = np.column_stack([found.right[mask, place], np.ones(int(mask.sum()), np.int64)])
        part, whole = row_sums(right, rows[mask], len(found.keys)).T
        return drawn_shares(part, whole, DRAWS, seed)

    return {
        (stage, LABELS, name): partial(draw, place, mask)
        for name, mask in complete(found)
        for place, stage in enumerate(STAGES)
    }


def progression_units(found: Progression) -> Mapping[Key, int]:
    """Of how many images the samples of every set are."""
    rows = found.division.rows[found.first]
    images = {name: len(np.unique(rows[mask])) for name, mask in complete(found)}
    return {(stage, LABELS, name): count for name, count in images.items() for stage in STAGES}


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
