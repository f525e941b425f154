"""Models that answer in words, through transformers: `hf[PATH]`, `hf[owner/name]` or the packaged `hf[toybox-mllm]`.

Answers are the likeliest ones, whatever generation_config.json asks for: no sampling, no penalties.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from eyechart.errors import ModelError
from eyechart.models import chat, hf_batches, hf_files, hf_trie, runtime, weights
from eyechart.models.choices import Ints, Trie, check
from eyechart.models.interfaces import Answer, Floats, Identity, Request, Until
from eyechart.spec import ModelSpec

OPTIONS = ("dtype", "batch_size")
AHEAD = 16  # batches whose prompts are read at once, so that those of like length meet
NUMBERS = (2**29, 2**26)  # as many logits in one pass on an accelerator and on the processor
LIBRARIES = ("transformers", "tokenizers", "torch", "torchvision", "pillow")


class Hf:
    """Answers in words."""

    structured = False

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
        return chat.identity(self.spec, self.source, self.dtype, self.device, LIBRARIES)

    @cached_property
    def _chat(self) -> chat.Chat:
        return chat.Chat(self.source.path)

    @cached_property
    def _module(self) -> Any:
        self.loads += 1
        loaded = hf_files.model("AutoModelForImageTextToText", self.source.path, dtype=self.dtype)
        module = runtime.place(loaded, self.device)
        from transformers import GenerationConfig  # not before the repair that loading brings

        module.generation_config = GenerationConfig(
            do_sample=False, eos_token_id=list(self._chat.stops), pad_token_id=self._chat.padding
        )
        return module

    def answers(
        self,
        requests: Iterable[Request],
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Iterator[tuple[int, Answer]]:
        """Give answers of up to so many tokens batch by batch; no answer is held to a schema."""
        for prompts in self._ahead(requests, self.batch_size):
            lengths = {place: hf_batches.length(prompt) for place, prompt in prompts.items()}
            for place, length in lengths.items():
                if self._excess(length, max_tokens):
                    del prompts[place]
                    yield place, Answer("", (), False, error=self._excess(length, max_tokens))
            for places, batch in self._joined(prompts, self.batch_size):
                for place, said in zip(places, self._say(batch, max_tokens), strict=True):
                    yield place, self._chat.answer(said, lengths[place])

    def _batches(self, requests: Iterable[Request], size: int, room: int) -> Iterator[tuple[list[int], dict[str, Any]]]:
        """Give batches of prompts with their requests' places."""
        for prompts in self._ahead(requests, size):
            if excess := self._excess(max(map(hf_batches.length, prompts.values())), room):
                raise ModelError(excess)
            yield from self._joined(prompts, size)

    def _ahead(self, requests: Iterable[Request], size: int) -> Iterator[dict[int, hf_batches.Inputs]]:
        """Read the prompts of some batches."""
        places = enumerate(requests)
        while prompts := {place: self._chat.inputs(request) for place, request in islice(places, AHEAD * size)}:
            yield prompts

    def _joined(
        self, prompts: Mapping[int, hf_batches.Inputs], size: int
    ) -> Iterator[tuple[list[int], dict[str, Any]]]:
        """Join prompts into batches, those of like length together."""
        like = next(self._module.parameters())
        for places in hf_batches.cut(prompts, size):
            yield places, hf_batches.joined([prompts[place] for place in places], self._chat.padding, like)

    def _excess(self, prompt: int, answer: int) -> str:
        """Say that there is no room for a prompt of so many tokens and an answer; nothing if there is."""
        most = getattr(self._module.config.get_text_config(), "max_position_embeddings", None)
        if not most or prompt + answer <= most:
            return ""
        return (
            f"'{self.spec}' reads and writes up to {most} tokens; a prompt of {prompt} leaves no room for an "
            f"answer of {answer}. Put less into a request."
        )

    def _say(self, batch: dict[str, Any], max_tokens: int) -> list[list[int]]:
        with runtime.inference(self.device, "float32"):
            said = self._module.generate(**batch, max_new_tokens=max_tokens)
        rows: list[list[int]] = said[:, batch["input_ids"].shape[1] :].tolist()
        return rows

    def score(self, requests: Sequence[Request], choices: Sequence[str], *, until: Until = "end") -> Floats:
        """Return log-probabilities (n, choices) of every choice, up to its end of turn or where it is unique."""
        found = np.empty((len(requests), len(choices)), np.float32)
        if found.size:
            for places, trie, batch in self._behind(requests, choices, until):
                with runtime.inference(self.device, "float32"):
                    edges = hf_trie.log_probabilities(self._module, batch, trie, self._numbers)
                found[places] = trie.totals(edges)
        return found

    def best(self, requests: Sequence[Request], choices: Sequence[str]) -> tuple[Ints, Floats]:
        """Return the place (n,) of each request's likeliest choice, of equals the first, and its log-probability."""
        check(choices)
        found, values = np.empty(len(requests), np.int64), np.empty(len(requests), np.float32)
        for places, trie, batch in self._behind(requests, choices):
            with runtime.inference(self.device, "float32"):
                found[places], values[places] = hf_trie.best(self._module, batch, trie, self._numbers)
        return found, values

    @property
    def _numbers(self) -> int:
        return NUMBERS[self.device == "cpu"]

    def _behind(
        self, requests: Sequence[Request], choices: Sequence[str], until: Until = "end"
    ) -> Iterator[tuple[list[int], Trie, dict[str, Any]]]:
        """Give batches of prompts that may be scored together, with their requests' places and the trie of choices."""
        hf_trie.check(self._module)
        trie = self._chat.trie(choices, until)
        fit = self._numbers // (hf_trie.NODES * self._module.config.get_text_config().vocab_size)
        size = max(1, min(self.batch_size, fit))
        for places, batch in self._batches(requests, size, max(map(len, trie.paths))):
            yield places, trie, batch
