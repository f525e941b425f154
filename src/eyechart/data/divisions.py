"""A division: which image–category pairs are in distribution and which are not, by which detectors and parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

ID, SIMPLE, HARD = "ID", "OOD-S", "OOD-H"
SETS = (ID, SIMPLE, HARD)
MINED = "Hard"  # hard samples of a detector, for comparison
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


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
    data; `parameters` say how it was made.
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

    def __len__(self) -> int:
        return len(self.rows)
