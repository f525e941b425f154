"""Label sets: the correct labels of each image under one ground truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from eyechart.data.rows import Row
from eyechart.errors import DataError
from eyechart.metrics.accuracy import Empty


@dataclass(frozen=True)
class LabelSet:
    """One ground truth, in the order of a data set's rows.

    `labels` has shape (n, maximum number of labels) and is padded with -1. `annotated` (n,) marks the annotated images.
    `empty` is the policy for annotated images without labels. `notes` describe mismatches between file and data set.
    """

    name: str
    labels: NDArray[np.int64]
    annotated: NDArray[np.bool_]
    empty: Empty
    source: str
    sha256: str
    notes: tuple[str, ...] = ()


def build_label_set(
    name: str, rows: Sequence[Row], labels: Sequence[Sequence[int] | None], empty: Empty, source: str
) -> LabelSet:
    """Return a label set from one sequence of labels per row; None is an image without annotation."""
    if len(labels) != len(rows):
        raise DataError(
            f"The label set '{name}' ({source}) has labels for {len(labels)} images; the data set has {len(rows)}. "
            "Give one entry a row, None where there is no annotation."
        )
    padded = np.full((len(rows), max(map(len, filter(None, labels)), default=0)), -1, dtype=np.int64)
    for place, valid in enumerate(labels):
        padded[place, : len(valid or ())] = valid or ()
    annotated = np.array([valid is not None for valid in labels], dtype=np.bool_)
    lines = (f"{row.key}\t{valid if valid is None else [*valid]}\n" for row, valid in zip(rows, labels, strict=True))
    return LabelSet(name, padded, annotated, empty, source, sha256("".join(lines).encode()).hexdigest())
