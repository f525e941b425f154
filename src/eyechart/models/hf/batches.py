"""Batches of single prompts that a transformers model answers as it would answer each prompt alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

Inputs = Mapping[str, Any]
PADDED = frozenset(  # kinds of layers that were tried with padding, or that do not look back
    ("full_attention", "sliding_attention", "chunked_attention", "linear_attention", "conv", "hybrid", "hybrid_sliding")
) | {"moe", "mlp"}
ALONE = frozenset({"hunyuan_vl"})  # families that give an image another position beside other requests


@dataclass(frozen=True)
class Prompt:
    """The tensors of one request, its index among the requests, and a digest of its images, b"" for none.

    `shared` is the number of tokens at its beginning that other prompts have, too, and that are read once.
    """

    index: int
    inputs: Inputs
    images: bytes = b""
    shared: int = 0

    @property
    def length(self) -> int:
        """The number of its tokens."""
        return prompt_length(self.inputs)

    @property
    def n_bytes(self) -> int:
        """The memory of its tensors."""
        return sum(value.numel() * value.element_size() for value in self.inputs.values() if hasattr(value, "numel"))

    def beginning(self) -> "Prompt":
        """Return the shared tokens as a prompt."""
        inputs = {
            name: value[:, : self.shared] if is_per_token(value, self.inputs) else value
            for name, value in self.inputs.items()
        }
        return Prompt(self.index, inputs, self.images)


def prompt_length(inputs: Inputs) -> int:
    """Return the number of tokens of a prompt."""
    return int(inputs["input_ids"].shape[1])


def allows_padding(config: Any) -> bool:
    """Return whether padding before a prompt leaves an answer as it is.

    Layers that look back at blocks of tokens count the padding in; a kind of layers that is not known here may do so.
    """
    return {*(getattr(config.get_text_config(decoder=True), "layer_types", None) or ())} <= PADDED


def group_by_length(prompts: Mapping[int, Inputs], size: int, *, padding: bool = True) -> Iterator[list[int]]:
    """Yield the indices of prompts that can share a batch: of similar length, or of the same length without padding."""

    def alike(index: int) -> tuple[str, int]:
        return _kind(prompts[index]), 0 if padding else prompt_length(prompts[index])

    order = sorted(prompts, key=lambda index: (alike(index), prompt_length(prompts[index])))
    for _, group in groupby(order, key=alike):
        indices = list(group)
        yield from (indices[start : start + size] for start in range(0, len(indices), size))


def group_shared(prompts: Mapping[int, Prompt], size: int) -> Iterator[list[Prompt]]:
    """Yield batches of the prompts that share their beginnings, those about the same images one after another."""
    shared = [prompt for prompt in prompts.values() if prompt.shared]
    firsts = {prompt.images: prompt.index for prompt in reversed(shared)}

    def alike(prompt: Prompt) -> str:
        return _kind(prompt.inputs)

    shared.sort(key=lambda prompt: (alike(prompt), firsts[prompt.images], prompt.length))
    for _, group in groupby(shared, key=alike):
        some = [*group]
        yield from (some[start : start + size] for start in range(0, len(some), size))


def _kind(inputs: Inputs) -> str:
    """Return what images in one batch must have in common; prompts without images form their own batches."""
    return str([(key, *value.shape[1:]) for key, value in sorted(inputs.items()) if not is_per_token(value, inputs)])


def is_per_token(value: Any, inputs: Inputs) -> bool:
    """Return whether a tensor has one entry per token, such as the attention mask."""
    return bool(value.shape == inputs["input_ids"].shape)


def collate(
    prompts: Sequence[Inputs], padding: int, like: "torch.Tensor", *, behind: bool = False
) -> "dict[str, torch.Tensor]":
    """Return one batch: tokens padded on the left, or `behind` for an encoder that counts from there; images joined.

    They lie where the weights `like` lie, in their precision.
    """
    import torch

    longest = max(map(prompt_length, prompts))
    filled = [
        {
            key: _filled(key, value, longest, padding, behind) if is_per_token(value, prompt) else value
            for key, value in prompt.items()
        }
        for prompt in prompts
    ]
    return {key: _placed(torch.cat([prompt[key] for prompt in filled]), like) for key in filled[0]}


def _placed(values: "torch.Tensor", like: "torch.Tensor") -> "torch.Tensor":
    return values.to(like.device, like.dtype if values.is_floating_point() else values.dtype)


def _filled(key: str, row: "torch.Tensor", longest: int, padding: int, behind: bool) -> "torch.Tensor":
    from torch.nn.functional import pad

    short = longest - row.shape[1]
    return pad(row, (0, short) if behind else (short, 0), value=padding if key == "input_ids" else 0)
