"""Image features that several prompts share: a generative model encodes the images of a prompt once."""

import inspect
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

from PIL import Image

from eyechart.models.hf.batches import Inputs, Prompt, is_per_token

if TYPE_CHECKING:
    import torch

MAX_BYTES = 2**28  # of features that are kept
PIXELS = ("pixel_values", "pixel_values_images", "image_patches")
FIELDS = (  # of features; a family that has more of them needs more than is kept here
    *("pooler_output", "deepstack_features"),
    *("last_hidden_state", "hidden_states", "attentions"),
)
Batch = dict[str, Any]


@dataclass(frozen=True)
class Features:
    """The features of the images of one prompt: of each image or tile, (tokens, size), and of deeper layers.

    The model gave them as an `output_type`, with the images or tiles in one tensor if they are `stacked`.
    """

    output: "tuple[torch.Tensor, ...]"
    deeper: "tuple[tuple[torch.Tensor, ...], ...]"
    output_type: type
    stacked: bool

    @property
    def n_bytes(self) -> int:
        """The memory of the features."""
        return sum(part.numel() * part.element_size() for part in (*self.output, *chain(*self.deeper)))


class ImageFeatureCache:
    """The features of the last images of a model that takes features instead of pixels."""

    def __init__(self, module: Any, max_bytes: int = MAX_BYTES) -> None:
        self.module, self.max_bytes, self.n_bytes = module, max_bytes, 0
        self.features: OrderedDict[bytes, Features] = OrderedDict()
        self.supported = (
            self._encode is not None
            and "mm_encoder_outputs" in inspect.signature(module.forward).parameters
            and not _needs_pixels(module)
        )

    @cached_property
    def _encode(self) -> Any:
        return getattr(self.module.base_model, "get_image_features", None)

    def attach(self, batch: Batch, prompts: Sequence[Prompt]) -> Batch:
        """Return a batch of prompts with the features of its images instead of their pixels.

        A batch is returned as it is if it has no images, or if the model returns features whose order is not known.
        """
        pixels = [name for name in PIXELS if name in batch]
        if not self.supported or not pixels:
            return batch
        of_batch = {prompt.images: self.features.get(prompt.images) for prompt in prompts}
        missing = {prompt.images: prompt for prompt in prompts if of_batch[prompt.images] is None}
        if missing:
            encoded = self._encode_prompts(batch, [prompt.inputs for prompt in missing.values()])
            if encoded is None:
                self.supported = False
                return batch
            of_batch.update(zip(missing, encoded, strict=True))
        known = {key: features for key, features in of_batch.items() if features}
        for key, features in known.items():
            self._keep(key, features)
        rest = {name: value for name, value in batch.items() if name not in pixels}
        return rest | {"mm_encoder_outputs": {"image": _join_features([known[prompt.images] for prompt in prompts])}}

    def _keep(self, key: bytes, features: Features) -> None:
        """Keep features as the newest ones and forget the oldest ones beyond the memory."""
        if key not in self.features:
            self.n_bytes += features.n_bytes
        self.features[key] = features
        self.features.move_to_end(key)
        while self.n_bytes > self.max_bytes and self.features:
            self.n_bytes -= self.features.popitem(last=False)[1].n_bytes

    def _encode_prompts(self, batch: Batch, prompts: Sequence[Inputs]) -> list[Features] | None:
        """Return the features of the images of some prompts of a batch; None if they cannot be separated."""
        import torch

        names = {*inspect.signature(self._encode).parameters}
        images = {
            name: torch.cat([prompt[name] for prompt in prompts]).to(value.device, value.dtype)
            for name, value in batch.items()
            if name in names and not is_per_token(value, batch)
        }
        output = self._encode(**images, return_dict=True)
        token = getattr(self.module.config, "image_token_id", None)
        return _split_features(output, [int((prompt["input_ids"] == token).sum()) for prompt in prompts])


def _needs_pixels(module: Any) -> bool:
    """Return whether a model's `generate` cannot do without pixels, as that of BLIP-2."""
    parameters = inspect.signature(type(module).generate).parameters
    return any(name in parameters and parameters[name].default is inspect.Parameter.empty for name in PIXELS)


def image_key(images: Sequence[Image.Image]) -> bytes:
    """Return a digest of images, b"" of none."""
    digest = blake2b(digest_size=16)
    for image in images:
        digest.update(f"{image.mode} {image.size} ".encode())
        digest.update(image.tobytes())
    return digest.digest() if images else b""


def _split_features(output: Any, counts: Sequence[int]) -> list[Features] | None:
    """Return the features of each prompt, whose images take up `counts` tokens; None if they do not fit."""
    import torch

    needed = {field.name for field in fields(output) if field.default is MISSING}
    if output.pooler_output is None or {*output} - {*FIELDS} or needed:
        return None
    parts = [*output.pooler_output]
    deeper = [[*layer] for layer in getattr(output, "deepstack_features", None) or ()]
    ends = [0, *accumulate(len(part) for part in parts)]
    starts = [ends.index(count) if count in ends else -1 for count in (0, *accumulate(counts))]
    if starts[-1] != len(parts) or -1 in starts or any(len(layer) != len(parts) for layer in deeper):
        return None
    return [
        Features(
            _copy_parts(parts[start:stop]),
            tuple(_copy_parts(layer[start:stop]) for layer in deeper),
            type(output),
            isinstance(output.pooler_output, torch.Tensor),
        )
        for start, stop in pairwise(starts)
    ]


def _copy_parts(parts: "Sequence[torch.Tensor]") -> "tuple[torch.Tensor, ...]":
    """Return copies, which do not keep the memory of a whole batch."""
    return tuple(part.clone() for part in parts)


def _join_features(features: Sequence[Features]) -> Any:
    """Return the features of the prompts of a batch in the form in which the model encodes their images."""
    import torch

    parts = [part for prompt in features for part in prompt.output]
    first = features[0]
    output: Mapping[str, Any] = {"pooler_output": torch.stack(parts) if first.stacked else tuple(parts)}
    if first.deeper:
        layers = [[part for prompt in features for part in prompt.deeper[layer]] for layer in range(len(first.deeper))]
        output = {**output, "deepstack_features": layers}
    return first.output_type(**output)
