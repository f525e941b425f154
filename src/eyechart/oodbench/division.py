"""A division: which image–category pairs are in distribution and which are not, by which detectors and parameters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset import Dataset
from eyechart.data.detection.annotation import Annotation
from eyechart.errors import DataError, ModelError
from eyechart.models.types import Floats
from eyechart.oodbench.flags import MAX_PAIRS, OUTSCORED, THRESHOLD, Flags, combine_flags, compute_flags, draw_sample
from eyechart.oodbench.hard_samples import HardSamples

ID, OOD_S, OOD_H = "ID", "OOD-S", "OOD-H"
SETS = (ID, OOD_S, OOD_H)
HARD_SAMPLES = "Hard"  # hard samples of a detector, for comparison
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Float64s = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Image–category pairs, one a place: the image by its place among the selected rows, the category, and whether it
    is there."""

    rows: Ints
    categories: Ints
    present: Bools

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, places: Sequence[int]) -> "Pairs":
        """Some of the pairs."""
        chosen = list(places)
        return Pairs(self.rows[chosen], self.categories[chosen], self.present[chosen])

    def names(self, dataset: Dataset) -> Iterator[str]:
        """Each pair by its image's key and its category's name, which do not hang on any order."""
        parts = self.rows.tolist(), self.categories.tolist(), self.present.tolist()
        for row, category, here in zip(*parts, strict=True):
            yield f"{dataset.keys[row]}|{dataset.names[category]}|{here}"


@dataclass(frozen=True)
class LeftOutImage:
    """An image that is in no pair, since a detector gave no answer about it: its key, who, and why."""

    key: str
    detector: str
    reason: str


@dataclass(frozen=True)
class Detector:
    """Who divided: its specification, its prompts, and the fingerprint of its logits."""

    spec: str
    templates: str
    scores_sha256: str


@dataclass(frozen=True)
class Division:
    """Pairs in the order of the file, one a place.

    `rows` (m,) are places among the data set's selected rows, `categories` (m,) classes, `sets` (m,) names of `SETS` or
    `MINED`; `main` (m,) says which are of the main benchmark (the others are of the initial one alone); `present` (m,)
    whether the category is in the image; `flags` (m, detectors) hold 1 for case 1 and 2 for case 2, 3 for both;
    `hardness` (m,) is the focal hardness of mined pairs, else NaN; `fingerprint` and `annotation` are those of the
    data; `parameters` say how it was made; `notes` and `left_out` say what is not in it.
    """

    rows: Ints
    categories: Ints
    sets: tuple[str, ...]
    main: Bools
    present: Bools
    flags: Ints
    hardness: Float64s
    detectors: tuple[Detector, ...]
    parameters: Mapping[str, str]
    fingerprint: str
    annotation: str
    notes: tuple[str, ...] = field(default=())
    left_out: tuple[LeftOutImage, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.rows)


NO_HARD_SAMPLES = HardSamples(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


@dataclass(frozen=True)
class DetectorOutput:
    """What one detector says of every image and category: logits (n, k), and what went wrong by image."""

    detector: Detector
    logits: Floats
    errors: Mapping[int, str]


@dataclass(frozen=True)
class DivisionSettings:
    """How a division is made: the threshold, how many pairs a set has at most, and whether absent ones belong to it."""

    threshold: float = THRESHOLD
    max_pairs: int = MAX_PAIRS
    seed: int = 42
    include_absent: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)


def require_annotation(dataset: Dataset) -> Annotation:
    """The annotation of the images in play; a data set without one is refused."""
    if dataset.selected_annotation is None:
        raise DataError(
            f"{dataset.benchmark}/{dataset.split} does not say which categories are in its images. Expected a folder "
            "of COCO, LVIS, nuScenes or Cityscapes."
        )
    return dataset.selected_annotation


def build_division(
    dataset: Dataset, detected: Sequence[DetectorOutput], rules: DivisionSettings, mined: HardSamples = NO_HARD_SAMPLES
) -> Division:
    """Divide the pairs of a data set; images that a detector gave no answer about are left out, and it is said."""
    notation = require_annotation(dataset)
    usable = usable_images(dataset, detected)
    found = [flag_failures(one, notation, usable, rules.threshold) for one in detected]
    sets, main = downsample(dataset, candidate_pairs(found, absent=rules.include_absent), rules)
    sets[HARD_SAMPLES] = hard_pairs(mined)
    pairs = concatenate_pairs(*sets.values())
    hardness = np.full(len(pairs), np.nan)
    hardness[len(pairs) - len(mined) :] = mined.hardness
    return Division(
        rows=pairs.rows,
        categories=pairs.categories,
        sets=tuple(name for name, some in sets.items() for _ in range(len(some))),
        main=np.concatenate([*main, np.ones(len(mined), np.bool_)]),
        present=pairs.present,
        flags=flag_codes(found, pairs),
        hardness=hardness,
        detectors=tuple(one.detector for one in detected),
        parameters=rules.parameters,
        fingerprint=dataset.fingerprint,
        annotation=notation.sha256,
        notes=(*map(str, notation.excluded), *left_out_notes(detected), *no_absent_notes(dataset, notation, usable)),
        left_out=tuple(left_out_images(dataset, detected)),
    )


def usable_images(dataset: Dataset, detected: Sequence[DetectorOutput]) -> Bools:
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


def downsample(
    dataset: Dataset, every: Mapping[str, Pairs], rules: DivisionSettings
) -> tuple[dict[str, Pairs], list[Bools]]:
    """All pairs out of distribution, those of the main benchmark marked, and as many as these of the others."""
    sets, main = {ID: every[ID]}, []
    for name in (OOD_S, OOD_H):
        sets[name] = every[name]
        chosen = np.zeros(len(every[name]), np.bool_)
        chosen[draw_pairs(dataset, name, every[name], rules.max_pairs, rules.seed)] = True
        main.append(chosen)
    wanted = max(int(chosen.sum()) for chosen in main)
    sets[ID] = every[ID].take(draw_pairs(dataset, ID, every[ID], wanted, rules.seed))
    return sets, [np.ones(len(sets[ID]), np.bool_), *main]


def hard_pairs(mined: HardSamples) -> Pairs:
    """Hard samples as pairs, by image and category."""
    return Pairs(mined.rows, mined.categories, np.ones(len(mined), np.bool_))


def flag_failures(one: DetectorOutput, notation: Annotation, usable: Bools, threshold: float) -> Flags:
    """What a detector fails on, among the images that every detector answered about."""
    seen = usable[:, None]
    return compute_flags(np.where(seen, one.logits, 0.0), notation.present & seen, notation.absent & seen, threshold)


def candidate_pairs(found: Sequence[Flags], *, absent: bool) -> dict[str, Pairs]:
    """All pairs of every set, by image and category; present ones first."""
    hard, simple = combine_flags([each.codes > 0 for each in found])
    masks = {ID: found[0].present & ~hard & ~simple, OOD_S: simple, OOD_H: hard}
    sets = {name: pairs_from_mask(wanted, here=True) for name, wanted in masks.items()}
    if absent:
        hard, simple = combine_flags([each.top_absent for each in found])
        more = {OOD_S: pairs_from_mask(simple, here=False), OOD_H: pairs_from_mask(hard, here=False)}
        sets |= {name: concatenate_pairs(sets[name], pairs) for name, pairs in more.items()}
    return sets


def pairs_from_mask(wanted: Bools, *, here: bool) -> Pairs:
    """The pairs that a mask (n, k) holds."""
    rows, categories = np.nonzero(wanted)
    return Pairs(rows.astype(np.int64), categories.astype(np.int64), np.full(len(rows), here))


def concatenate_pairs(*several: Pairs) -> Pairs:
    """The pairs of all."""
    parts = ("rows", "categories", "present")
    return Pairs(*(np.concatenate([getattr(pairs, part) for pairs in several]) for part in parts))


def draw_pairs(dataset: Dataset, name: str, pairs: Pairs, most: int, seed: int) -> list[int]:
    """A seeded choice of a set's pairs, the same in whatever order images and categories come."""
    return draw_sample(pairs.names(dataset), most, seed, name)


def flag_codes(found: Sequence[Flags], pairs: Pairs) -> Ints:
    """What each detector says of each pair, (m, detectors)."""
    where = pairs.rows, pairs.categories
    said = [np.where(pairs.present, each.codes[where], OUTSCORED * each.top_absent[where]) for each in found]
    return np.stack(said, axis=1).astype(np.int64)


def left_out_images(dataset: Dataset, detected: Sequence[DetectorOutput]) -> Iterator[LeftOutImage]:
    """Every image that is in no pair, since a detector could not answer."""
    for one in detected:
        for row, why in sorted(one.errors.items()):
            yield LeftOutImage(dataset.keys[row], one.detector.spec, why)


def left_out_notes(detected: Sequence[DetectorOutput]) -> Iterator[str]:
    """How many images are left out by each detector, and the first of them."""
    for one in detected:
        if one.errors:
            yield (
                f"{len(one.errors):,} × image left out of the division: {one.detector.spec} gave no answer; the first "
                f"is {one.errors[min(one.errors)]}"
            )


def no_absent_notes(dataset: Dataset, notation: Annotation, usable: Bools) -> Iterator[str]:
    """How many images have nothing that a detector could take for present instead, and the first of them."""
    rows = np.flatnonzero(usable & notation.present.any(axis=1) & ~notation.absent.any(axis=1))
    if len(rows):
        yield (
            f"{len(rows):,} × image without a category that is known to be absent: its pairs cannot be out of "
            f"distribution; the first is {dataset.keys[rows[0]]}"
        )
