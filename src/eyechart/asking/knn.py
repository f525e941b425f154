"""k nearest neighbours in an encoder's space: `knn[ENCODER,k=11,support=imagenet/sample-near,weights=uniform]`.

Any image encoder serves, such as `knn[timm[vit_large_patch16_dinov3]]`; the support split brings the labels. What the
encoder saw of either split is kept like any other features, so that another k is arithmetic.
"""

from functools import cached_property
from typing import Any, get_args

from eyechart.errors import SpecError
from eyechart.models import runtime
from eyechart.models.registry import backend, create
from eyechart.models.types import Identity
from eyechart.protocols.nearest_neighbours import Weights
from eyechart.spec import ModelSpec, parse

OPTIONS = ("encoder", "k", "support", "weights")
SUPPORT = "imagenet/sample-near"


class Knn:
    """An image encoder with a split whose images vote."""

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        spec.check(arguments=1, options=OPTIONS)
        self.spec = spec
        self.k = runtime.whole_number(spec, "k", 11)
        self.weights = _weights(spec)
        self.support_split = _split(spec)
        self.encoder = _encoder(spec, device, offline)
        self.batch_size: int = self.encoder.batch_size

    @property
    def loads(self) -> int:
        """How often the encoder's weights were read."""
        return int(self.encoder.loads)

    @cached_property
    def identity(self) -> Identity:
        """The encoder's, with what the vote depends on."""
        seen: Identity = self.encoder.identity
        vote = {"k": self.k, "weights": self.weights, "support": "/".join(self.support_split)}
        return Identity(
            backend="knn",
            name=f"{seen.name} k={self.k}",
            weights_sha256=seen.weights_sha256,
            revision=seen.revision,
            dtype=seen.dtype,
            device=seen.device,
            processor={"image": seen.processor, "vote": vote},
            libraries=seen.libraries,
        )


def _encoder(spec: ModelSpec, device: str, offline: bool) -> Any:
    asked = parse(spec.arguments[0] if spec.arguments else spec.options.get("encoder", "timm[]"))
    if "image_encoder" not in backend(asked).offers:
        raise SpecError(f"'{spec}': {asked} does not encode images. Use an encoder, such as knn[timm[resnet50]].")
    return create(asked, device=device, offline=offline)


def _weights(spec: ModelSpec) -> str:
    asked = spec.options.get("weights", "uniform")
    if asked not in get_args(Weights):
        raise SpecError(f"'{spec}' has weights={asked}. Expected {' or '.join(get_args(Weights))}.")
    return asked


def _split(spec: ModelSpec) -> tuple[str, str]:
    benchmark, slash, split = spec.options.get("support", SUPPORT).partition("/")
    if not (benchmark and slash and split):
        raise SpecError(f"'{spec}' has support={spec.options['support']}. Expected benchmark/split, such as {SUPPORT}.")
    return benchmark, split
