"""A division: the image–category pairs of a split in the sets ID, OOD-S and OOD-H, with detectors and parameters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError, ModelError
from eyechart.models.types import Floats
from eyechart.oodbench.data.annotation import Annotation, find_annotation
from eyechart.oodbench.division.flags import (
    MAX_PAIRS,
    OUTSCORED,
    THRESHOLD,
    Flags,
    combine_flags,
    compute_flags,
    draw_sample,
)
from eyechart.oodbench.division.hard_samples import HardSamples

ID, OOD_S, OOD_H = "ID", "OOD-S", "OOD-H"
SETS = (ID, OOD_S, OOD_H)
HARD_SAMPLES = "Hard"  # the set of hard samples of a detector, for comparison
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Float64s = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Image–category pairs: the row index of the image, the category, and whether it is present, each (m,)."""

    rows: Ints
    categories: Ints
    present: Bools

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, indices: Sequence[int]) -> "Pairs":
        """Return the pairs at the given indices."""
        chosen = list(indices)
        return Pairs(self.rows[chosen], self.categories[chosen], self.present[chosen])

    def names(self, dataset: Dataset) -> Iterator[str]:
        """Yield a name per pair, of image key, category name and presence, that does not depend on any order."""
        parts = self.rows.tolist(), self.categories.tolist(), self.present.tolist()
        for row, category, here in zip(*parts, strict=True):
            yield f"{dataset.keys[row]}|{dataset.names[category]}|{here}"


@dataclass(frozen=True)
class LeftOutImage:
    """An image without pairs: its key, the detector that has no logits for it, and the reason."""

    key: str
    detector: str
    reason: str


@dataclass(frozen=True)
class Detector:
    """A detector: its specification, its prompt templates, and the sha256 of its logits."""

    spec: str
    templates: str
    scores_sha256: str


@dataclass(frozen=True)
class Division:
    """The pairs of a split and their sets, in the order of the division file.

    `rows` (m,) are image indices among the selected images, `categories` (m,) class indices, `sets` (m,) names from
    `SETS` or `HARD_SAMPLES`; `main` (m,) marks the pairs of the main benchmark (the others are in the initial benchmark
    only); `present` (m,) says whether the category is in the image; `flags` (m, detectors) are 0, 1 for case 1, 2 for
    case 2 and 3 for both; `hardness` (m,) is the focal hardness of hard samples, else NaN; `fingerprint` and
    `annotation` are hashes of the data; `parameters` are the settings; `notes` and `left_out` describe what is missing.
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
    """A detector's logits (n, k) for every image and category, and its errors by image index."""

    detector: Detector
    logits: Floats
    errors: Mapping[int, str]


@dataclass(frozen=True)
class DivisionSettings:
    """Settings of a division: threshold of case 2, maximum pairs per set, seed, and whether absent pairs are included.

    `parameters` are what the division's file records.
    """

    threshold: float = THRESHOLD
    max_pairs: int = MAX_PAIRS
    seed: int = 42
    include_absent: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)


def require_annotation(dataset: Dataset) -> Annotation:
    """Return the annotation of the selected images.

    Raises DataError for a data set without one.
    """
    annotation = find_annotation(dataset)
    if annotation is None:
        raise DataError(
            f"{dataset.benchmark}/{dataset.split} has no annotation of the categories in its images. Expected a folder "
            "of COCO, LVIS, nuScenes or Cityscapes."
        )
    return annotation


def build_division(
    dataset: Dataset, detected: Sequence[DetectorOutput], rules: DivisionSettings, mined: HardSamples = NO_HARD_SAMPLES
) -> Division:
    """Return the division of a data set's pairs; images without logits of every detector are left out and noted."""
    notation = require_annotation(dataset)
    usable = usable_images(dataset, detected)
    flags = [flag_failures(output, notation, usable, rules.threshold) for output in detected]
    sets, main = _downsample(dataset, _candidate_pairs(flags, absent=rules.include_absent), rules)
    sets[HARD_SAMPLES] = _hard_pairs(mined)
    pairs = _concatenate_pairs(*sets.values())
    hardness = np.full(len(pairs), np.nan)
    hardness[len(pairs) - len(mined) :] = mined.hardness
    return Division(
        rows=pairs.rows,
        categories=pairs.categories,
        sets=tuple(name for name, some in sets.items() for _ in range(len(some))),
        main=np.concatenate([*main, np.ones(len(mined), np.bool_)]),
        present=pairs.present,
        flags=_flag_codes(flags, pairs),
        hardness=hardness,
        detectors=tuple(output.detector for output in detected),
        parameters=rules.parameters,
        fingerprint=dataset.fingerprint,
        annotation=notation.sha256,
        notes=(*map(str, notation.excluded), *_left_out_notes(detected), *_no_absent_notes(dataset, notation, usable)),
        left_out=tuple(_left_out_images(dataset, detected)),
    )


def usable_images(dataset: Dataset, detected: Sequence[DetectorOutput]) -> Bools:
    """Return the images (n,) for which every detector has logits.

    Raises ModelError if there is no such image.
    """
    usable = np.ones(len(dataset), np.bool_)
    usable[[row for output in detected for row in output.errors]] = False
    if len(dataset) and not usable.any():
        failed = next(output for output in detected if output.errors)
        raise ModelError(
            f"No image of {dataset.benchmark}/{dataset.split} has logits of every detector: {failed.detector.spec} "
            f"failed on {len(failed.errors):,} of {len(dataset):,}, the first error is "
            f"{failed.errors[min(failed.errors)]}"
        )
    return usable


def _downsample(
    dataset: Dataset, every: Mapping[str, Pairs], rules: DivisionSettings
) -> tuple[dict[str, Pairs], list[Bools]]:
    """Return all OOD pairs and a sample of the ID pairs, and for each set which pairs are of the main benchmark.

    The sample of ID pairs is as large as the larger OOD set of the main benchmark.
    """
    sets, main = {ID: every[ID]}, []
    for name in (OOD_S, OOD_H):
        sets[name] = every[name]
        chosen = np.zeros(len(every[name]), np.bool_)
        chosen[_draw_pairs(dataset, name, every[name], rules.max_pairs, rules.seed)] = True
        main.append(chosen)
    wanted = max(int(chosen.sum()) for chosen in main)
    sets[ID] = every[ID].take(_draw_pairs(dataset, ID, every[ID], wanted, rules.seed))
    return sets, [np.ones(len(sets[ID]), np.bool_), *main]


def _hard_pairs(mined: HardSamples) -> Pairs:
    """Return hard samples as pairs."""
    return Pairs(mined.rows, mined.categories, np.ones(len(mined), np.bool_))


def flag_failures(output: DetectorOutput, notation: Annotation, usable: Bools, threshold: float) -> Flags:
    """Return a detector's flags on the usable images."""
    mask = usable[:, None]
    return compute_flags(
        np.where(mask, output.logits, 0.0), notation.present & mask, notation.known_absent & mask, threshold
    )


def _candidate_pairs(flags: Sequence[Flags], *, absent: bool) -> dict[str, Pairs]:
    """Return all pairs of every set, ordered by image and category; present pairs come before absent ones."""
    hard, simple = combine_flags([detector_flags.codes > 0 for detector_flags in flags])
    masks = {ID: flags[0].present & ~hard & ~simple, OOD_S: simple, OOD_H: hard}
    sets = {name: _pairs_from_mask(wanted, here=True) for name, wanted in masks.items()}
    if absent:
        hard, simple = combine_flags([detector_flags.top_absent for detector_flags in flags])
        more = {OOD_S: _pairs_from_mask(simple, here=False), OOD_H: _pairs_from_mask(hard, here=False)}
        sets |= {name: _concatenate_pairs(sets[name], pairs) for name, pairs in more.items()}
    return sets


def _pairs_from_mask(wanted: Bools, *, here: bool) -> Pairs:
    """Return the pairs that are true in a mask (n, k)."""
    rows, categories = np.nonzero(wanted)
    return Pairs(rows.astype(np.int64), categories.astype(np.int64), np.full(len(rows), here))


def _concatenate_pairs(*several: Pairs) -> Pairs:
    """Return the concatenation of several collections of pairs."""
    parts = ("rows", "categories", "present")
    return Pairs(*(np.concatenate([getattr(pairs, part) for pairs in several]) for part in parts))


def _draw_pairs(dataset: Dataset, name: str, pairs: Pairs, most: int, seed: int) -> list[int]:
    """Return the indices of a random sample of a set's pairs, whatever the order of images and categories."""
    return draw_sample(pairs.names(dataset), most, seed, name)


def _flag_codes(flags: Sequence[Flags], pairs: Pairs) -> Ints:
    """Return each detector's flag code of each pair, (m, detectors)."""
    where = pairs.rows, pairs.categories
    columns = [
        np.where(pairs.present, detector_flags.codes[where], OUTSCORED * detector_flags.top_absent[where])
        for detector_flags in flags
    ]
    return np.stack(columns, axis=1).astype(np.int64)


def _left_out_images(dataset: Dataset, detected: Sequence[DetectorOutput]) -> Iterator[LeftOutImage]:
    """Yield every image that is left out because a detector has no logits for it."""
    for output in detected:
        for row, why in sorted(output.errors.items()):
            yield LeftOutImage(dataset.keys[row], output.detector.spec, why)


def _left_out_notes(detected: Sequence[DetectorOutput]) -> Iterator[str]:
    """Yield per detector how many images are left out, and its first error."""
    for output in detected:
        if output.errors:
            yield (
                f"{len(output.errors):,} × image left out of the division: {output.detector.spec} has no logits; the "
                f"first error is {output.errors[min(output.errors)]}"
            )


def _no_absent_notes(dataset: Dataset, notation: Annotation, usable: Bools) -> Iterator[str]:
    """Yield how many images have no absent category, and the first of them; their pairs cannot be flagged."""
    rows = np.flatnonzero(usable & notation.present.any(axis=1) & ~notation.known_absent.any(axis=1))
    if len(rows):
        yield (
            f"{len(rows):,} × image without a category that is known to be absent: its pairs cannot be out of "
            f"distribution; the first is {dataset.keys[rows[0]]}"
        )
