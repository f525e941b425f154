"""What 1,000 resamples of a bird benchmark's areas cost beside resampling its rows and measuring them anew."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from eyechart.realbirdid.statistics.abstention_tradeoff import ua_a
from eyechart.statistics.selective import AVERAGES, Average, accuracy_coverage_auc

from .paired import Work, ratio, seconds

ANSWERABLE, UNANSWERABLE, SPECIES = 31_885, 3_253, 3_651  # arXiv 2603.27033
IMAGES = ANSWERABLE + UNANSWERABLE
TIMES = 1000
FEW = 4  # of the peer's resamples: one costs as much as another
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Answers = tuple[Floats, Floats, Ints, NDArray[np.bool_]]


def answers() -> Answers:
    """How sure, whether right, of which species, and whether it cannot be told."""
    random = np.random.default_rng(0)
    sure = random.random(IMAGES)
    right = (random.random(IMAGES) < 0.5 * sure).astype(np.float64)
    return sure, right, random.integers(SPECIES, size=IMAGES), np.arange(IMAGES) < UNANSWERABLE


def facts(pairs: int) -> Iterator[str]:
    """The ratio of each area, and the wall time of all."""
    sure, right, label, without = answers()
    works: dict[str, tuple[Work, Callable[[Ints], object]]] = {
        "UA/A": (lambda: ua_a(-sure, without).interval(TIMES), lambda rows: roc_auc_score(without[rows], -sure[rows]))
    }
    for average in AVERAGES:
        works[f"{average} AUC"] = bootstraps(average, sure, right, label)
    wall = sum(min(seconds(ours) for _ in range(pairs)) for ours, _ in works.values())
    yield f"{TIMES:,} resamples of {IMAGES:,} images for each of {', '.join(works)}: {wall:.1f} s in all"
    for name, (ours, theirs) in works.items():
        few = 1 if name == "macro AUC" else FEW
        found = ratio(ours, lambda theirs=theirs, few=few: resampled(theirs, few), pairs, TIMES / few)
        yield f"{name}: {{:.1f}} ({{:.1f}}–{{:.1f}}) times faster than resampling rows and measuring them anew".format(
            *found
        )


def bootstraps(average: Average, sure: Floats, right: Floats, label: Ints) -> tuple[Work, Callable[[Ints], object]]:
    """Ours, and what the peer does with each resample."""
    plain = {"micro": resorted, "macro": counted, "balanced": reweighted}[average]
    return (
        lambda: accuracy_coverage_auc(sure, right, classes=label, average=average).interval(TIMES),
        lambda rows: plain(sure[rows], right[rows], label[rows]),
    )


def resampled(measure: Callable[[Ints], object], times: int) -> list[object]:
    """The peer: rows drawn, and everything sorted and measured once more."""
    random = np.random.default_rng(0)
    return [measure(random.integers(IMAGES, size=IMAGES)) for _ in range(times)]


def resorted(sure: Floats, right: Floats, label: Ints) -> float:
    """The mean accuracy of the k surest."""
    return float((np.cumsum(right[np.argsort(-sure)]) / np.arange(1, len(label) + 1)).mean())


def reweighted(sure: Floats, right: Floats, label: Ints) -> float:
    """The mean over coverage of the accuracy of the surest, each image one by those of its class."""
    weights = 1 / np.bincount(label)[label]
    order = np.argsort(-sure)
    mass = np.cumsum(weights[order])
    return float((weights[order] * np.cumsum((weights * right)[order]) / mass).sum() / mass[-1])


def counted(sure: Floats, right: Floats, label: Ints) -> float:
    """The mean over coverage of the classes' mean accuracy, image by image."""
    kept, good, total, classes, area = np.zeros(SPECIES), np.zeros(SPECIES), 0.0, 0, 0.0
    for image in np.argsort(-sure):
        each = label[image]
        before = good[each] / kept[each] if kept[each] else 0.0
        classes += kept[each] == 0
        kept[each] += 1
        good[each] += right[image]
        total += good[each] / kept[each] - before
        area += total / classes
    return area / len(sure)


if __name__ == "__main__":
    for line in facts(3):
        print(line, flush=True)
