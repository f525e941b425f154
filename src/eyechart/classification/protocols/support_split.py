"""The support split of an encoder: the labelled images that vote (k-NN) or that a classifier is fitted on."""

from collections.abc import Collection
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import SpecError
from eyechart.models.registry import create_model, find_backend
from eyechart.models.spec import ModelSpec, parse_spec

DEFAULT_SUPPORT = "imagenet/sample-near"


def create_encoder(spec: ModelSpec, given: str, device: str, offline: bool) -> Any:
    """Return the encoder that a specification names, by its first argument or else `given`.

    Raises SpecError for a model that does not encode images.
    """
    encoder = parse_spec(spec.arguments[0] if spec.arguments else given)
    if "image_encoder" not in find_backend(encoder).capabilities:
        raise SpecError(
            f"'{spec}': {encoder} does not encode images. Use an encoder, such as {spec.backend}[timm[resnet50]]."
        )
    return create_model(encoder, device=device, offline=offline)


def parse_split(spec: ModelSpec, support: str) -> tuple[str, str]:
    """Return the benchmark and the split of a support split. Raises SpecError for another text."""
    benchmark, slash, split = support.partition("/")
    if not (benchmark and slash and split):
        raise SpecError(f"'{spec}' has support={support}. Expected benchmark/split, such as {DEFAULT_SUPPORT}.")
    return benchmark, split


def labelled_images(support: Dataset, errors: Collection[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices and the labels of the images of a split that have a label and no error."""
    labels = np.array([support.index[row].label for row in support.selected], np.int64)
    usable = labels >= 0
    usable[[*errors]] = False
    return np.flatnonzero(usable), labels[usable]


def support_variant(support: Dataset, indices: NDArray[np.int64]) -> dict[str, str]:
    """Return the number of the images that are used, and a sha256 of their keys, bytes and labels, for the record."""
    rows = [support.index[support.selected[index]] for index in indices.tolist()]
    lines = (f"{row.key}\t{row.sha256}\t{row.label}\n" for row in rows)
    return {"support_n": str(len(rows)), "support_sha256": sha256("".join(lines).encode()).hexdigest()[:12]}
