"""Label sets: the correct labels of each image under one ground truth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.rows import Row
from eyechart.errors import DataError
from eyechart.statistics.accuracy import Empty


@dataclass(frozen=True)
class LabelSet:
    """One ground truth, in the order of a data set's rows.

    `labels` has shape (n, maximum number of labels) and is padded with -1. `annotated` (n,) marks the annotated images.
    `empty` is the policy for annotated images without labels. `notes` describe mismatches between file and data set.
    `original` marks the labels that the data set comes with, one class per image.
    """

    name: str
    labels: NDArray[np.int64]
    annotated: NDArray[np.bool_]
    empty: Empty
    source: str
    sha256: str
    notes: tuple[str, ...] = ()
    original: bool = False

    def select(self, rows: Sequence[int]) -> "LabelSet":
        """Return the labels of some rows."""
        return replace(self, labels=self.labels[list(rows)], annotated=self.annotated[list(rows)])


def original_name(benchmark: str) -> str:
    """Return the name of the label set that the images of a benchmark come with.

    The papers call ImageNet's own labels ImGT; all other data have the label set `original`.

    >>> original_name("imagenet"), original_name("pets")
    ('ImGT', 'original')
    """
    return "ImGT" if benchmark == "imagenet" else "original"


def build_original_labels(
    benchmark: str, rows: Sequence[Row], labels: Sequence[Sequence[int] | None], source: str
) -> LabelSet:
    """Return the label set that a benchmark's images come with; images without a label are not evaluated."""
    return replace(build_label_set(original_name(benchmark), rows, labels, "exclude", source), original=True)


def build_label_set(
    name: str, rows: Sequence[Row], labels: Sequence[Sequence[int] | None], empty: Empty, source: str
) -> LabelSet:
    """Return a label set from one sequence of labels per row; None is an image without annotation."""
    if len(labels) != len(rows):
        raise DataError(
            f"The label set '{name}' ({source}) has labels for {len(labels)} images; the data set has {len(rows)}. "
            "Give one entry a row, None where there is no annotation."
        )
    known = [None if valid is None else tuple(valid) for valid in labels]
    counts = np.array([len(valid) if valid else 0 for valid in known], np.int64)
    padded = np.full((len(rows), counts.max(initial=0)), -1, dtype=np.int64)
    padded[np.arange(padded.shape[1]) < counts[:, None]] = [*chain.from_iterable(filter(None, known))]
    annotated = np.array([valid is not None for valid in known], dtype=np.bool_)
    text = {valid: f"\t{valid if valid is None else [*valid]}\n" for valid in {*known}}
    content = "".join([f"{row.key}{text[valid]}" for row, valid in zip(rows, known, strict=True)])
    return LabelSet(name, padded, annotated, empty, source, sha256(content.encode()).hexdigest())
