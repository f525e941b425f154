"""Reads batches of prompts with a model: images are encoded once, and what prompts have in common is read once.

Prompts about the same images mostly begin alike: with the images, and with the words before what differs. A batch of
such prompts is read in two passes, the beginnings and then the rest of each prompt.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eyechart.models.choices.trie import tolerance
from eyechart.models.hf import batches, trie_pass
from eyechart.models.hf.batches import Prompt
from eyechart.models.hf.decoding import ReadPrompts, read_prompts
from eyechart.models.hf.image_features import ImageFeatureCache
from eyechart.models.runtime.batch_backoff import REQUEST_ERRORS
from eyechart.models.runtime.torch_runtime import out_of_memory

if TYPE_CHECKING:
    import torch

MIN_SAVED = 0.25  # the smallest part of the tokens of prompts for whose saving another pass is made


class PromptReader:
    """Reads prompts with a model; `shares_prefixes` is None until the first batch of prompts that begin alike."""

    def __init__(self, module: Any, config: Any, padding_token: int, *, shares_prefixes: bool | None) -> None:
        self.module, self.config, self.padding_token = module, config, padding_token
        self.shares_prefixes = shares_prefixes
        self.image_features = ImageFeatureCache(module)

    def batches(self, prompts: Mapping[int, Prompt], size: int) -> Iterator[list[Prompt]]:
        """Yield the prompts in batches: those that begin alike first, the others by their lengths."""
        if self.config.model_type in batches.ALONE:
            size = 1
        padding = batches.allows_padding(self.config)
        if padding and self.shares_prefixes is not False:
            image_token = getattr(self.config, "image_token_id", None)
            prompts = _find_shared_prefixes(prompts, image_token)
        yield from batches.group_shared(prompts, size)
        whole = {index: prompt.inputs for index, prompt in prompts.items() if not prompt.shared}
        for indices in batches.group_by_length(whole, size, padding=padding):
            yield [prompts[index] for index in indices]

    def read(self, prompts: Sequence[Prompt], further: int) -> ReadPrompts:
        """Read a batch of prompts for up to `further` more tokens; all or none of them share their beginnings."""
        beginnings = {(prompt.images, prompt.shared) for prompt in prompts}
        if not prompts[0].shared or len(beginnings) == len(prompts) or self.shares_prefixes is False:
            return self._read_whole(prompts)
        if self.shares_prefixes is None:
            read = self._read_whole(prompts)
            self.shares_prefixes = self._agrees(prompts, further, read.logits)
            return read
        return self._read_shared(prompts, further) or self._read_whole(prompts)

    def _read_whole(self, prompts: Sequence[Prompt]) -> ReadPrompts:
        inputs, behind = [prompt.inputs for prompt in prompts], bool(self.config.is_encoder_decoder)
        batch = batches.collate(inputs, self.padding_token, self.like, behind=behind)
        return read_prompts(self.module, self.image_features.attach(batch, prompts))

    @property
    def like(self) -> "torch.Tensor":
        """Weights of the model, which say where and in which precision it takes its inputs."""
        weights: torch.Tensor = next(self.module.parameters())
        return weights

    def _read_shared(self, prompts: Sequence[Prompt], further: int) -> ReadPrompts | None:
        """Read the beginnings, then the rest of each prompt; None if the model cannot continue several tokens."""
        import torch

        keys = [(prompt.images, prompt.shared) for prompt in prompts]
        beginnings = dict(zip(keys, prompts, strict=True))
        state, _ = self._read_whole([prompt.beginning() for prompt in beginnings.values()])
        rests = [prompt.inputs["input_ids"][:, prompt.shared :] for prompt in prompts]
        longest = max(rest.shape[1] for rest in rests)
        if not trie_pass.is_exact(state, longest + further):
            self.shares_prefixes = False
            return None
        inputs = [{"input_ids": rest, "attention_mask": torch.ones_like(rest)} for rest in rests]
        batch = batches.collate(inputs, self.padding_token, self.like)
        indices = {key: row for row, key in enumerate(beginnings)}
        rows = torch.tensor([indices[key] for key in keys], device=state.tokens.device)
        return state.select(rows).read(batch["input_ids"], batch["attention_mask"])

    def _agrees(self, prompts: Sequence[Prompt], further: int, logits: "torch.Tensor") -> bool:
        """Return whether prompts that are read in two passes give the logits of whole prompts.

        A model may let a prompt's beginning look at its end, or count positions, in a way that its cache does not show.
        """
        try:
            read = self._read_shared(prompts, further)
        except REQUEST_ERRORS as error:
            if out_of_memory(error):
                raise
            return False
        if read is None:
            return False
        apart = read.logits.float().log_softmax(-1) - logits.float().log_softmax(-1)
        return bool(apart.abs().max() <= tolerance(str(self.module.dtype)))


def _find_shared_prefixes(prompts: Mapping[int, Prompt], image_token: int | None) -> dict[int, Prompt]:
    """Return prompts with the number of tokens that they share with all others about the same images.

    It is 0 where that saves little, and where an image would come after these tokens.
    """
    marked = dict(prompts)
    by_images: dict[bytes, list[Prompt]] = {}
    for prompt in prompts.values():
        if prompt.images and image_token is not None:
            by_images.setdefault(prompt.images, []).append(prompt)
    for alike in by_images.values():
        rows = [prompt.inputs["input_ids"][0].tolist() for prompt in alike]
        shared = min(_count_equal(min(rows), max(rows)), *(len(row) - 1 for row in rows))  # those differ first
        saved = shared * (len(rows) - 1) / sum(map(len, rows))
        if saved >= MIN_SAVED and not any(image_token in row[shared:] for row in rows):
            marked.update({prompt.index: replace(prompt, shared=shared) for prompt in alike})
    return marked


def _count_equal(first: list[int], second: list[int]) -> int:
    """Return how many tokens are equal at the beginning of two lists."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(first), len(second)))
