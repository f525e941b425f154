"""Label sets: what is right for each image, under one ground truth."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Empty = Literal["correct", "exclude", "wrong"]


@dataclass(frozen=True)
class LabelSet:
    """One ground truth, in the order of a data set's rows.

    `labels` has shape (n, most labels of an image), padded with -1; `annotated` says which images it speaks of; `empty`
    says what an annotated image without any label counts as.
    """

    name: str
    labels: NDArray[np.int64]
    annotated: NDArray[np.bool_]
    empty: Empty
    source: str
    sha256: str
