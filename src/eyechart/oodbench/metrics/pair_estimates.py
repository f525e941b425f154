"""The metrics of OODBench: the measures of every set, and the degradation from ID to the other sets."""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.oodbench.answers.pair_predictions import LABELS, ExistencePredictions, ProgressionPredictions
from eyechart.oodbench.division.pairs import ID
from eyechart.oodbench.statistics.degradation import Degradation
from eyechart.oodbench.statistics.degradation import degradation as falls_of
from eyechart.results.estimates import Estimate
from eyechart.results.evidence import RESAMPLES as DRAWS
from eyechart.statistics.degenerate_intervals import measure_intervals, share_interval
from eyechart.statistics.intervals import Interval
from eyechart.statistics.resampling import (
    cluster_bootstrap_totals,
    cluster_sums,
    ratios,
    unit_bootstrap_shares,
    unit_bootstrap_totals,
)
from eyechart.statistics.yes_no import MEASURES, MISSING, UNPARSED, YES, confusion_measures, confusion_tables

TIMES = 2000
SHARES = ("yes_rate", "unparsed")
STAGES = {"e_acc": "existence", "c_acc": "counting", "l_acc": "logic"}
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def _set_estimate(name: str, subset: str, value: float, n: int, interval: Interval | None, **more: Any) -> Estimate:
    """Return an estimate for a set of pairs; the default interval method is the bootstrap over images."""
    how = {"method": "bootstrap", "labels": LABELS} | more
    return Estimate(name=name, subset=subset, value=value, n=n, interval=interval, **how)


def yes_no_measures(predictions: ExistencePredictions) -> Iterator[Estimate]:
    """Yield accuracy, F1, precision, recall and MCC of every set, with bootstrap intervals over images.

    Source: arXiv 2602.18094, section 4.1.
    """
    for name, mask in _answered_pairs(predictions).items():
        counts, images = (
            confusion_tables(predictions.answers[mask], predictions.expected[mask]),
            predictions.images[mask],
        )
        yield from measure_estimates(name, counts, images, len(predictions.keys), predictions.seed)


def answer_shares(predictions: ExistencePredictions) -> Iterator[Estimate]:
    """Yield the share of yes answers and the share of unparsed answers of every set."""
    for name, mask in _answered_pairs(predictions).items():
        yield from share_estimates(name, predictions.answers[mask], predictions.images[mask], predictions.seed)


def degradation(predictions: ExistencePredictions) -> Iterator[Estimate]:
    """Yield the degradation of each measure from ID to every other set, and its p-value."""
    masks = _answered_pairs(predictions)
    counts = {
        name: confusion_tables(predictions.answers[mask], predictions.expected[mask]) for name, mask in masks.items()
    }
    images = {name: predictions.images[mask] for name, mask in masks.items()}
    for name in counts:
        if name != ID and ID in counts:
            yield from _degradation_estimates(
                name, (counts[ID], counts[name]), (images[ID], images[name]), predictions.seed
            )


def _answered_pairs(predictions: ExistencePredictions) -> dict[str, Bools]:
    """Return masks of the pairs of each set that have both answers; pairs with one answer would unbalance resamples."""
    both = (predictions.answers != MISSING).all(axis=1)
    return {name: mask & both for name, mask in predictions.set_masks()}


def measure_estimates(name: str, counts: Ints, images: Ints, all_images: int, seed: int) -> Iterator[Estimate]:
    """Yield accuracy, F1, precision, recall and MCC of a set, with bootstrap intervals clustered by image.

    The bootstrap samples for comparisons resample all images of the split with all their pairs.
    """
    values, draws = (
        confusion_measures(counts.sum(axis=0)),
        confusion_measures(cluster_bootstrap_totals(counts, images, TIMES, seed)),
    )
    n, units = int(counts.sum()), len(np.unique(images))
    intervals = measure_intervals(counts, draws, clusters=images) if n else {}

    @cache
    def resamples() -> dict[str, Floats]:
        return confusion_measures(unit_bootstrap_totals(cluster_sums(counts, images, all_images), DRAWS, seed))

    def bootstrap(measure: str) -> Floats:
        return resamples()[measure]

    for measure in MEASURES:
        more = {"n_clusters": units, "bootstrap": partial(bootstrap, measure)}
        more |= {"title": name} if measure == "acc" else {}
        yield _set_estimate(measure, name, float(values[measure]), n, intervals.get(measure), **more)


def share_estimates(name: str, answers: Ints, images: Ints, seed: int) -> Iterator[Estimate]:
    """Yield the shares of yes answers and unparsed answers of a set, with intervals clustered by image."""
    counted = [(answers == what).sum(axis=1) for what in (YES, UNPARSED)]
    rows = np.stack([*counted, np.full(len(answers), answers.shape[1])], axis=1).astype(np.int64)
    n, drawn = answers.size, cluster_bootstrap_totals(rows, images, TIMES, seed)
    for index, what in enumerate(SHARES):
        value = float(rows[:, index].sum() / n) if n else float("nan")
        draws, count = ratios(drawn[:, index], drawn[:, 2]), len(np.unique(images))
        interval = share_interval(draws, value, count) if n else None
        yield _set_estimate(what, name, value, n, interval, n_clusters=count)


def _degradation_estimates(
    name: str, counts: tuple[Ints, Ints], images: tuple[Ints, Ints], seed: int
) -> Iterator[Estimate]:
    """Yield the degradation of each measure from ID to a set, and the p-value of a permutation test over images."""
    n = sum(int(rows.sum()) for rows in counts)
    falls: Mapping[str, Degradation] = falls_of(*counts, TIMES, seed, clusters=images)
    units = len(np.unique(np.concatenate(images)))
    for measure, fall in falls.items():
        yield _set_estimate(f"{measure}_delta", name, fall.delta, n, fall.ci, n_clusters=units)
    for measure, fall in falls.items():
        yield _set_estimate(f"{measure}_p", name, fall.p, n, fall.p_ci, method="permutation", n_clusters=units)


def stage_accuracies(predictions: ProgressionPredictions) -> Iterator[Estimate]:
    """Yield the accuracies of the three stages of every set, with bootstrap intervals over images.

    Source: arXiv 2602.18094, section 4.2.
    """
    rows, seed = predictions.images, predictions.seed
    for name, mask in _complete_samples(predictions):
        right = np.column_stack([predictions.correct[mask], np.ones(int(mask.sum()), np.int64)])
        drawn = cluster_bootstrap_totals(right, rows[mask], TIMES, seed)
        n = len(right)
        for index, stage in enumerate(STAGES):
            value = float(right[:, index].mean()) if n else float("nan")
            draws, images = ratios(drawn[:, index], drawn[:, 3]), len({*rows[mask].tolist()})
            interval = share_interval(draws, value, images) if n else None
            bootstrap = partial(_bootstrap_shares, right[:, [index, 3]], rows[mask], len(predictions.keys), seed)
            more = {"n_clusters": images, "bootstrap": bootstrap, "title": f"{name} {STAGES[stage]}"}
            yield _set_estimate(stage, name, value, n, interval, **more)


def _bootstrap_shares(counts: Ints, images: Ints, all_images: int, seed: int) -> Floats:
    """Return the share of correct samples in bootstrap samples of all images; `counts` (n, 2) are correct and total."""
    part, whole = cluster_sums(counts, images, all_images).T
    return unit_bootstrap_shares(part, whole, DRAWS, seed)


def _complete_samples(predictions: ProgressionPredictions) -> Iterator[tuple[str, Bools]]:
    """Yield every set with the mask of its samples that have all answers."""
    sets = np.array(predictions.set_names, dtype=object)
    yield from ((name, (sets == name) & ~predictions.missing) for name in dict.fromkeys(predictions.set_names))
