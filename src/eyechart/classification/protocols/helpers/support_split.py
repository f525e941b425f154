"""The support split of an encoder: the labelled images that vote (k-NN) or that a classifier is fitted on."""

from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.names import fold_name
from eyechart.errors import DataError, SpecError
from eyechart.models.registry import create_model, find_backend
from eyechart.models.spec import ModelSpec, parse_spec
from eyechart.models.types import Identity, Model

DEFAULT_SUPPORT = "imagenet/sample-near"


class EncoderWithSupport(Model):
    """An image encoder with a labelled split; a subclass says what answers by both."""

    encoder: Any
    support_split: tuple[str, str]

    def __init__(self, spec: ModelSpec, encoder: str, support: str, *, device: str, offline: bool) -> None:
        self.spec = spec
        self.support_split = _parse_split(spec, support)
        self.encoder = _create_encoder(spec, encoder, device, offline)
        self.batch_size: int = self.encoder.batch_size
        self.owner: str = self.encoder.owner

    @property
    def loads(self) -> int:  # type: ignore[override]  # that of its encoder
        """The number of times that the encoder's weights were loaded."""
        return int(self.encoder.loads)

    @property
    def model_note(self) -> str:
        """What a reader needs to know of the encoder."""
        return str(self.encoder.model_note)

    def identify(self, backend: str, ending: str, **settings: Mapping[str, Any]) -> Identity:
        """Return the identity of the encoder with other settings, and an ending of its name."""
        encoder: Identity = self.encoder.identity
        return Identity(
            backend=backend,
            name=f"{encoder.name} {ending}",
            weights_sha256=encoder.weights_sha256,
            revision=encoder.revision,
            dtype=encoder.dtype,
            device=encoder.device,
            processor={"image": encoder.processor, **settings},
            libraries=encoder.libraries,
        )


def _create_encoder(spec: ModelSpec, given: str, device: str, offline: bool) -> Any:
    """Return the encoder that a specification names, by its first argument or else `given`.

    Raises SpecError for a model that does not encode images.
    """
    encoder = parse_spec(spec.arguments[0] if spec.arguments else given)
    if "image_encoder" not in find_backend(encoder).capabilities:
        raise SpecError(
            f"'{spec}': {encoder} does not encode images. Use an encoder, such as {spec.backend}[timm[resnet50]]."
        )
    return create_model(encoder, device=device, offline=offline)


def _parse_split(spec: ModelSpec, support: str) -> tuple[str, str]:
    """Return the benchmark and the split of a support split. Raises SpecError for another text."""
    benchmark, slash, split = support.partition("/")
    if not (benchmark and slash and split):
        raise SpecError(f"'{spec}' has support={support}. Expected benchmark/split, such as {DEFAULT_SUPPORT}.")
    return benchmark, split


def check_same_classes(support: Dataset, dataset: Dataset) -> None:
    """Raise DataError for a support split whose numbers mean other classes than those of the evaluated one."""
    named = [[*map(fold_name, split.names)] for split in (support, dataset)]
    if support.classes == dataset.classes and (named[0] == named[1] or not all(named)):
        return
    raise DataError(
        f"The support split {support.benchmark}/{support.split} has the classes "
        f"{', '.join(support.names[:5]) or support.classes}, and {dataset.benchmark}/{dataset.split} has "
        f"{', '.join(dataset.names[:5]) or dataset.classes}. Use a support split with the same classes in the same "
        "order: with equal names of folders, and an empty folder for a class without pictures."
    )


def labelled_images(support: Dataset, errors: Collection[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices and the labels of the images of a split that have a label and no error."""
    labels = np.fromiter(support.selected_values("label"), np.int64)
    usable = labels >= 0
    usable[[*errors]] = False
    return np.flatnonzero(usable), labels[usable]


def support_variant(support: Dataset, indices: NDArray[np.int64]) -> dict[str, str]:
    """Return the number of the images that are used, and a sha256 of their keys, bytes and labels, for the record."""
    rows = [support.index[support.selected[index]] for index in indices.tolist()]
    lines = (f"{row.key}\t{row.sha256}\t{row.label}\n" for row in rows)
    return {"support_n": str(len(rows)), "support_sha256": sha256("".join(lines).encode()).hexdigest()[:12]}
