"""From detectors' logits to a division: which pairs there are, of which set, and which of them are drawn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from eyechart.data.dataset import Dataset
from eyechart.data.detection.annotation import Annotation
from eyechart.errors import DataError, ModelError
from eyechart.models.types import Floats
from eyechart.oodbench.divisions import HARD, ID, MINED, SIMPLE, Bools, Detector, Division, Ints, LeftOut, Pairs
from eyechart.oodbench.flags import BEATEN, MOST, THRESHOLD, Flags, agreed, drawn, flags
from eyechart.oodbench.hard_samples import Mined

NONE_MINED = Mined(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


@dataclass(frozen=True)
class Detected:
    """What one detector says of every image and category: logits (n, k), and what went wrong by image."""

    detector: Detector
    logits: Floats
    errors: Mapping[int, str]


@dataclass(frozen=True)
class Rules:
    """How a division is made: the threshold, how many pairs a set has at most, and whether absent ones belong to it."""

    threshold: float = THRESHOLD
    most: int = MOST
    seed: int = 42
    absent: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)


def annotation_of(dataset: Dataset) -> Annotation:
    """The annotation of the images in play; a data set without one is refused."""
    if dataset.notation is None:
        raise DataError(
            f"{dataset.benchmark}/{dataset.split} does not say which categories are in its images. Expected a folder "
            "of COCO, LVIS, nuScenes or Cityscapes."
        )
    return dataset.notation


def divide(dataset: Dataset, detected: Sequence[Detected], rules: Rules, mined: Mined = NONE_MINED) -> Division:
    """Divide the pairs of a data set; images that a detector gave no answer about are left out, and it is said."""
    notation = annotation_of(dataset)
    usable = answered(dataset, detected)
    found = [judged(one, notation, usable, rules.threshold) for one in detected]
    sets, main = downsampled(dataset, candidates(found, absent=rules.absent), rules)
    sets[MINED] = hard_pairs(mined)
    pairs = joined(*sets.values())
    hardness = np.full(len(pairs), np.nan)
    hardness[len(pairs) - len(mined) :] = mined.hardness
    return Division(
        rows=pairs.rows,
        categories=pairs.categories,
        sets=tuple(name for name, some in sets.items() for _ in range(len(some))),
        main=np.concatenate([*main, np.ones(len(mined), np.bool_)]),
        present=pairs.present,
        flags=codes(found, pairs),
        hardness=hardness,
        detectors=tuple(one.detector for one in detected),
        parameters=rules.parameters,
        fingerprint=dataset.fingerprint,
        annotation=notation.sha256,
        notes=(*map(str, notation.excluded), *unanswered(detected), *certain(dataset, notation, usable)),
        left_out=tuple(left_out(dataset, detected)),
    )


def answered(dataset: Dataset, detected: Sequence[Detected]) -> Bools:
    """Which images every detector answered about; where that is none, there is nothing to divide."""
    usable = np.ones(len(dataset), np.bool_)
    usable[[row for one in detected for row in one.errors]] = False
    if len(dataset) and not usable.any():
        one = next(one for one in detected if one.errors)
        raise ModelError(
            f"No image of {dataset.benchmark}/{dataset.split} was answered by every detector: {one.detector.spec} gave "
            f"no answer about {len(one.errors):,} of {len(dataset):,}, the first is {one.errors[min(one.errors)]}"
        )
    return usable


def downsampled(dataset: Dataset, every: Mapping[str, Pairs], rules: Rules) -> tuple[dict[str, Pairs], list[Bools]]:
    """All pairs out of distribution, those of the main benchmark marked, and as many as these of the others."""
    sets, main = {ID: every[ID]}, []
    for name in (SIMPLE, HARD):
        sets[name] = every[name]
        chosen = np.zeros(len(every[name]), np.bool_)
        chosen[draw(dataset, name, every[name], rules.most, rules.seed)] = True
        main.append(chosen)
    wanted = max(int(chosen.sum()) for chosen in main)
    sets[ID] = every[ID].of(draw(dataset, ID, every[ID], wanted, rules.seed))
    return sets, [np.ones(len(sets[ID]), np.bool_), *main]


def hard_pairs(mined: Mined) -> Pairs:
    """Hard samples as pairs, by image and category."""
    return Pairs(mined.rows, mined.categories, np.ones(len(mined), np.bool_))


def judged(one: Detected, notation: Annotation, usable: Bools, threshold: float) -> Flags:
    """What a detector fails on, among the images that every detector answered about."""
    seen = usable[:, None]
    return flags(np.where(seen, one.logits, 0.0), notation.present & seen, notation.absent & seen, threshold)


def candidates(found: Sequence[Flags], *, absent: bool) -> dict[str, Pairs]:
    """All pairs of every set, by image and category; present ones first."""
    hard, simple = agreed([each.codes > 0 for each in found])
    masks = {ID: found[0].present & ~hard & ~simple, SIMPLE: simple, HARD: hard}
    sets = {name: of_mask(wanted, here=True) for name, wanted in masks.items()}
    if absent:
        hard, simple = agreed([each.strangers for each in found])
        more = {SIMPLE: of_mask(simple, here=False), HARD: of_mask(hard, here=False)}
        sets |= {name: joined(sets[name], pairs) for name, pairs in more.items()}
    return sets


def of_mask(wanted: Bools, *, here: bool) -> Pairs:
    """The pairs that a mask (n, k) holds."""
    rows, categories = np.nonzero(wanted)
    return Pairs(rows.astype(np.int64), categories.astype(np.int64), np.full(len(rows), here))


def joined(*several: Pairs) -> Pairs:
    """The pairs of all."""
    parts = ("rows", "categories", "present")
    return Pairs(*(np.concatenate([getattr(pairs, part) for pairs in several]) for part in parts))


def draw(dataset: Dataset, name: str, pairs: Pairs, most: int, seed: int) -> list[int]:
    """A seeded choice of a set's pairs, the same in whatever order images and categories come."""
    return drawn(pairs.names(dataset), most, seed, name)


def codes(found: Sequence[Flags], pairs: Pairs) -> Ints:
    """What each detector says of each pair, (m, detectors)."""
    where = pairs.rows, pairs.categories
    said = [np.where(pairs.present, each.codes[where], BEATEN * each.strangers[where]) for each in found]
    return np.stack(said, axis=1).astype(np.int64)


def left_out(dataset: Dataset, detected: Sequence[Detected]) -> Iterator[LeftOut]:
    """Every image that is in no pair, since a detector could not answer."""
    for one in detected:
        for row, why in sorted(one.errors.items()):
            yield LeftOut(dataset.keys[row], one.detector.spec, why)


def unanswered(detected: Sequence[Detected]) -> Iterator[str]:
    """How many images are left out by each detector, and the first of them."""
    for one in detected:
        if one.errors:
            yield (
                f"{len(one.errors):,} × image left out of the division: {one.detector.spec} gave no answer; the first "
                f"is {one.errors[min(one.errors)]}"
            )


def certain(dataset: Dataset, notation: Annotation, usable: Bools) -> Iterator[str]:
    """How many images have nothing that a detector could take for present instead, and the first of them."""
    rows = np.flatnonzero(usable & notation.present.any(axis=1) & ~notation.absent.any(axis=1))
    if len(rows):
        yield (
            f"{len(rows):,} × image without a category that is known to be absent: its pairs cannot be out of "
            f"distribution; the first is {dataset.keys[rows[0]]}"
        )
