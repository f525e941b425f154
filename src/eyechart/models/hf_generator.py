"""Models that answer in words, through transformers: `hf[PATH]`, `hf[owner/name]` or the packaged `hf[toybox-mllm]`.

Answers are the likeliest ones, whatever generation_config.json asks for: no sampling, no penalties.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from eyechart.models import chat, hf_batches, hf_files, runtime, weights
from eyechart.models.interfaces import Answer, Floats, Identity, Request
from eyechart.spec import ModelSpec

OPTIONS = ("dtype", "batch_size")
AHEAD = 16  # batches whose prompts are read at once, so that those of like length meet
LIBRARIES = ("transformers", "tokenizers", "torch", "torchvision", "pillow")


class Hf:
    """Answers in words."""

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        spec.check(arguments=1, options=OPTIONS)
        chat.check_named(spec)
        self.spec, self.device, self.offline = spec, device, offline
        self.batch_size = runtime.batch_size(spec, 16)
        self.dtype = runtime.precision(spec, device)
        self.loads = 0

    @cached_property
    def source(self) -> weights.Found:
        """The folder of weights, tokenizer, processor and chat template."""
        return chat.checkpoint(self.spec, offline=self.offline)

    @cached_property
    def identity(self) -> Identity:
        """Who answers; the weights are on disk after this, not yet in memory."""
        return Identity(
            backend="hf",
            name=self.spec.arguments[0].rstrip("/").rpartition("/")[2],
            weights_sha256=weights.digest(*hf_files.tensors(self.source.path)),
            revision=self.source.revision,
            dtype=self.dtype,
            device=self.device.partition(":")[0],
            processor={"files_sha256": hf_files.texts_sha256(self.source.path)},
            libraries=runtime.libraries(*LIBRARIES),
        )

    @cached_property
    def _chat(self) -> chat.Chat:
        return chat.Chat(self.source.path)

    @cached_property
    def _module(self) -> Any:
        from transformers import GenerationConfig

        self.loads += 1
        module = runtime.place(
            hf_files.model("AutoModelForImageTextToText", self.source.path, dtype=self.dtype), self.device
        )
        module.generation_config = GenerationConfig(
            do_sample=False, eos_token_id=list(self._chat.stops), pad_token_id=self._chat.padding
        )
        return module

    def generate(self, requests: Sequence[Request], max_tokens: int) -> list[Answer]:
        """Answer every request in up to so many tokens, the end of turn counted."""
        found: dict[int, Answer] = {}
        for places, batch in self._batches(requests):
            found.update(zip(places, map(self._chat.answer, self._say(batch, max_tokens)), strict=True))
        return [found[place] for place in range(len(requests))]

    def _batches(self, requests: Sequence[Request]) -> Iterator[tuple[list[int], dict[str, Any]]]:
        """Give batches of prompts with their requests' places."""
        ahead = AHEAD * self.batch_size
        like = next(self._module.parameters())
        for start in range(0, len(requests), ahead):
            prompts = [self._chat.inputs(request) for request in requests[start : start + ahead]]
            for places in hf_batches.cut(prompts, self.batch_size):
                batch = hf_batches.joined([prompts[place] for place in places], self._chat.padding, like)
                yield [start + place for place in places], batch

    def _say(self, batch: dict[str, Any], max_tokens: int) -> list[list[int]]:
        with runtime.inference(self.device, "float32"):
            said = self._module.generate(**batch, max_new_tokens=max_tokens)
        rows: list[list[int]] = said[:, batch["input_ids"].shape[1] :].tolist()
        return rows

    def score(self, requests: Sequence[Request], choices: Sequence[str]) -> Floats:
        """Return log-probabilities (n, choices) of every choice as the whole answer, the end of turn included."""
        raise NotImplementedError
