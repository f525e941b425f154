"""A division: which image–category pairs are in distribution and which are not, by which detectors and parameters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset import Dataset

ID, SIMPLE, HARD = "ID", "OOD-S", "OOD-H"
SETS = (ID, SIMPLE, HARD)
MINED = "Hard"  # hard samples of a detector, for comparison
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Image–category pairs, one a place: the image by its place among the selected rows, the category, and whether it
    is there."""

    rows: Ints
    categories: Ints
    present: Bools

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, places: Sequence[int]) -> "Pairs":
        """Some of the pairs."""
        chosen = list(places)
        return Pairs(self.rows[chosen], self.categories[chosen], self.present[chosen])

    def names(self, dataset: Dataset) -> Iterator[str]:
        """Each pair by its image's key and its category's name, which do not hang on any order."""
        parts = self.rows.tolist(), self.categories.tolist(), self.present.tolist()
        for row, category, here in zip(*parts, strict=True):
            yield f"{dataset.keys[row]}|{dataset.names[category]}|{here}"


@dataclass(frozen=True)
class LeftOut:
    """An image that is in no pair, since a detector gave no answer about it: its key, who, and why."""

    key: str
    detector: str
    why: str


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
    hardness: Floats
    detectors: tuple[Detector, ...]
    parameters: Mapping[str, str]
    fingerprint: str
    annotation: str
    notes: tuple[str, ...] = field(default=())
    left_out: tuple[LeftOut, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.rows)
