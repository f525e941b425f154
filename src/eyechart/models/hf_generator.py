"""Models that answer in words, through transformers: `hf[PATH]`, `hf[owner/name]` or the packaged `hf[toybox-mllm]`.

Answers are the likeliest ones, whatever generation_config.json asks for: no sampling, no penalties.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from eyechart.errors import ModelError
from eyechart.models import chat, hf_batches, hf_files, hf_trie, runtime, weights
from eyechart.models.choices import Trie, cut
from eyechart.models.interfaces import Answer, Floats, Identity, Request
from eyechart.spec import ModelSpec

OPTIONS = ("dtype", "batch_size")
AHEAD = 16  # batches whose prompts are read at once, so that those of like length meet
NODES = 1024  # of a trie in one pass
LOGITS = (2**29, 2**26)  # as many numbers in one pass on an accelerator and on the processor
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

    def generate(
        self,
        requests: Sequence[Request],
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> list[Answer]:
        """Answer every request in up to so many tokens, the end of turn counted; no answer is held to a schema."""
        found: dict[int, Answer] = {}
        for places, batch in self._batches(requests, self.batch_size, max_tokens):
            found.update(zip(places, map(self._chat.answer, self._say(batch, max_tokens)), strict=True))
        return [found[place] for place in range(len(requests))]

    def _batches(self, requests: Sequence[Request], size: int, room: int) -> Iterator[tuple[list[int], dict[str, Any]]]:
        """Give batches of prompts with their requests' places."""
        ahead = AHEAD * size
        like = next(self._module.parameters())
        for start in range(0, len(requests), ahead):
            prompts = [self._chat.inputs(request) for request in requests[start : start + ahead]]
            self._check_room(max(map(hf_batches.length, prompts)), room)
            for places in hf_batches.cut(prompts, size):
                batch = hf_batches.joined([prompts[place] for place in places], self._chat.padding, like)
                yield [start + place for place in places], batch

    def _check_room(self, longest: int, answer: int) -> None:
        most = getattr(self._module.config.get_text_config(), "max_position_embeddings", None)
        if most and longest + answer > most:
            raise ModelError(
                f"'{self.spec}' reads and writes up to {most} tokens; a prompt of {longest} leaves no room for an "
                f"answer of {answer}. Put less into a request."
            )

    def _say(self, batch: dict[str, Any], max_tokens: int) -> list[list[int]]:
        with runtime.inference(self.device, "float32"):
            said = self._module.generate(**batch, max_new_tokens=max_tokens)
        rows: list[list[int]] = said[:, batch["input_ids"].shape[1] :].tolist()
        return rows

    def score(self, requests: Sequence[Request], choices: Sequence[str]) -> Floats:
        """Return log-probabilities (n, choices) of every choice as the whole answer, the end of turn included."""
        found = np.empty((len(requests), len(choices)), np.float32)
        if not found.size:
            return found
        hf_trie.check(self._module)
        read = self._chat.choices(choices)
        parts = list(cut(read, NODES))
        tries = [Trie.of([read[choice] for choice in part]) for part in parts]
        for places, batch in self._batches(requests, self._together(tries), max(map(len, read))):
            with runtime.inference(self.device, "float32"):
                edges = hf_trie.log_probabilities(self._module, batch, tries)
            for part, trie, values in zip(parts, tries, edges, strict=True):
                found[np.ix_(places, part)] = trie.totals(values)
        return found

    def _together(self, tries: Sequence[Trie]) -> int:
        """How many requests may be scored at once, so that their logits fit into memory."""
        vocabulary: int = self._module.config.get_text_config().vocab_size
        fit = LOGITS[self.device == "cpu"] // (vocabulary * max(len(trie.nodes) for trie in tries))
        return max(1, min(self.batch_size, fit))
