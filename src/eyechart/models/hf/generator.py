"""Generative models through transformers: `hf[PATH]`, `hf[owner/name]` or the packaged `hf[toybox-mllm]`.

Answers are the likeliest ones, whatever generation_config.json asks for: no sampling, no penalties.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import ModelError, RequestError
from eyechart.models.chat import conversation
from eyechart.models.chat.template import ChatSettings
from eyechart.models.choices.trie import Ints, Trie, check_choices
from eyechart.models.hf import loading, trie_pass, trie_scoring
from eyechart.models.hf.batches import Prompt
from eyechart.models.hf.decoding import LogitsProcessor, ReadPrompts, ThinkingBudget, continue_prompts
from eyechart.models.hf.preparation import PromptPreparer, Window
from eyechart.models.hf.prompt_reader import PromptReader
from eyechart.models.runtime import torch_runtime
from eyechart.models.runtime.batch_backoff import BatchBackoff, Failure
from eyechart.models.runtime.phases import phase
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Answer, Floats, Identity, Request, Scorer, Until
from eyechart.models.weights import hub_files, weight_source

T = TypeVar("T")
AUTO_CLASSES = ("AutoModelForImageTextToText", "AutoModelForMultimodalLM")  # the second has all families of the first
MAX_LOGITS = (2**29, 2**26)  # as many logits in one pass on an accelerator and on the processor
LIBRARIES = ("transformers", "tokenizers", "torch", "torchvision", "pillow")


class HfGenerator(Scorer):
    """Generates answers with transformers, the likeliest token at each step (greedy decoding)."""

    declared_options = loading.HfOptions
    chat_settings = conversation.DEFAULT
    load_settings = loading.LoadSettings(ModelSpec("hf"))

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        options = loading.HfOptions.read(spec)
        conversation.check_has_name(spec)
        self.spec, self.device, self.offline = spec, device, offline
        self.batch_size = options.batch_size
        self.dtype = options.dtype or torch_runtime.native_dtype(device)
        self.chat_settings = ChatSettings.from_options(options, spec)
        self.load_settings = loading.LoadSettings.from_options(options, spec, offline=offline)
        self.loads = 0

    @cached_property
    def source(self) -> weight_source.WeightSource:
        """The folder of weights, tokenizer, processor and chat template."""
        return conversation.find_checkpoint(self.spec, offline=self.offline, code=self.load_settings.trust_remote_code)

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """The files of the weights."""
        return (*hub_files.weight_files(self.source.path),)

    @cached_property
    def identity(self) -> Identity:
        """The model's identity; it reads the weights on disk but does not load them into memory."""
        return conversation.build_identity(
            self.spec,
            self.source,
            self.dtype,
            self.device,
            LIBRARIES,
            self.chat_settings,
            **self.load_settings.identity(self.source.path),
        )

    @cached_property
    def _chat(self) -> conversation.ChatProcessor:
        return conversation.ChatProcessor(
            self.source.path,
            self.chat_settings,
            self.load_settings.processor_kwargs,
            trust_remote_code=self.load_settings.trust_remote_code,
        )

    @property
    def thinks(self) -> bool:
        """Whether answers begin with thinking."""
        return self._chat.template.thinks

    @cached_property
    def _kind(self) -> str:
        return hub_files.find_auto_class(self.source.path, AUTO_CLASSES)

    @cached_property
    def _config(self) -> Any:
        trusted = self.load_settings.trust_remote_code
        whole = hub_files.load_config(self.source.path, self._kind, trust_remote_code=trusted)
        return getattr(whole, "thinker_config", whole)  # the part of an omni model that writes; the other one speaks

    @cached_property
    def scoring_obstacle(self) -> str:
        """Why this checkpoint gives no log-probabilities, read without loading weights; "" if it does."""
        if self.load_settings.attention not in loading.EXACT_ATTENTION:
            return f"{self.load_settings.attention} cannot score a tree of answers. Use attn_implementation=sdpa."
        return conversation.thinking_obstacle(self, str(self.spec)) or trie_scoring.scoring_obstacle(self._config)

    @cached_property
    def _module(self) -> Any:
        self.loads += 1
        _ = self._config  # refuses a family that transformers does not know
        with phase("load"):
            module = self.load_settings.load(self._kind, self.source.path, self.dtype, self.device, self._config)
        module.generation_config = self.greedy_decoding()
        return module

    @cached_property
    def _reader(self) -> PromptReader:
        exact = self.load_settings.attention in loading.EXACT_ATTENTION
        padding = self._chat.padding_token
        return PromptReader(self._module, self._config, padding, shares_prefixes=None if exact else False)

    def greedy_decoding(self) -> Any:
        """Return the configuration under which every token is the likeliest one."""
        from transformers import GenerationConfig  # not before the repair that loading brings

        stop, pad = list(self._chat.stop_tokens), self._chat.padding_token
        return GenerationConfig(do_sample=False, eos_token_id=stop, pad_token_id=pad, **self._first_token())

    def _first_token(self) -> dict[str, int]:
        """Return the tokens that a decoder begins an answer with, where an encoder reads the prompt."""
        from transformers import GenerationConfig

        if not self._config.is_encoder_decoder:
            return {}
        default = GenerationConfig.from_model_config(self._config).to_dict()
        settings = default | hub_files.read_settings(self.source.path / "generation_config.json")
        first = settings.get("decoder_start_token_id")
        forced = {"forced_bos_token_id": self._chat.forced_start[0]} if self._chat.forced_start else {}
        return {"decoder_start_token_id": settings["bos_token_id"] if first is None else first, **forced}

    def generate(
        self,
        requests: Iterable[Request],
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Iterator[tuple[int, Answer]]:
        """Yield answers of up to `max_tokens`, batch by batch; a schema has no effect."""
        attempts = self._attempts(self.batch_size)
        for window in self._windows(requests, self.batch_size, max_tokens):
            for index, failure in window.refused.items():
                yield index, _unanswered(failure)
            for batch in self._reader.batches(window.prompts, self.batch_size):
                for part, outputs in attempts.run(batch, partial(self._answer, max_tokens)):
                    if isinstance(outputs, Failure):
                        yield part[0].index, _unanswered(outputs)
                        continue
                    for prompt, tokens in zip(part, outputs, strict=True):
                        yield prompt.index, self._chat.decode_answer(tokens, prompt.length)

    def _attempts(self, size: int) -> BatchBackoff:
        return BatchBackoff(size, f"'{self.spec}'")

    def _windows(self, requests: Iterable[Request], batch_size: int, room: int) -> Iterator[Window]:
        """Yield prompts for answers of up to `room` tokens; further ones are prepared meanwhile."""
        preparer = PromptPreparer(f"'{self.spec}'", self._chat, self._config, room)
        return preparer.windows(requests, batch_size)

    def _answer(self, max_tokens: int, prompts: Sequence[Prompt]) -> list[list[int]]:
        with torch_runtime.inference_mode(self.device, "float32"):
            read = self._reader.read(prompts, max_tokens)
            processors: list[LogitsProcessor] = [
                *self._first_processors(),
                *self._thinking_limits(read.state.tokens.shape[1]),
            ]
            return continue_prompts(read, max_tokens, self._chat.stop_tokens, processors)

    def _first_processors(self) -> list[LogitsProcessor]:
        """Return what forces the first token of each answer, for a decoder that was trained so."""
        from transformers import ForcedBOSTokenLogitsProcessor

        return [ForcedBOSTokenLogitsProcessor(token) for token in self._chat.forced_start]

    def _thinking_limits(self, prompt: int) -> list[ThinkingBudget]:
        """Return the limit of thinking, if there is one, for a batch whose prompts have `prompt` tokens."""
        budget = self.chat_settings.thinking_budget
        if budget is None:
            return []
        begin, end = self._chat.thinking_token_ids
        return [ThinkingBudget(budget, prompt, begin, end, opened=self._chat.template.opens_thinking)]

    def score(self, requests: Sequence[Request], choices: Sequence[str], *, until: Until = "end") -> Floats:
        """Return log-probabilities (n, choices) of every choice, up to its end of turn or its unique prefix."""
        scores = np.empty((len(requests), len(choices)), np.float32)

        def totals(read: ReadPrompts, trie: Trie) -> NDArray[np.floating]:
            return trie.choice_sums(trie_scoring.log_probabilities(read, trie, self._numbers))

        for indices, values in self._of_each(requests, choices, until, totals) if scores.size else ():
            scores[indices] = values
        return scores

    def best(self, requests: Sequence[Request], choices: Sequence[str]) -> tuple[Ints, Floats]:
        """Return the index (n,) of each request's most likely choice, the first of equals, and its log-probability."""
        check_choices(choices)
        choice, values = np.empty(len(requests), np.int64), np.empty(len(requests), np.float32)

        def likeliest(read: ReadPrompts, trie: Trie) -> tuple[Ints, Floats]:
            return trie_scoring.best(read, trie, self._numbers)

        for indices, (best, sure) in self._of_each(requests, choices, "end", likeliest):
            choice[indices], values[indices] = best, sure
        return choice, values

    @property
    def _numbers(self) -> int:
        return MAX_LOGITS[self.device == "cpu"]

    def _of_each(
        self,
        requests: Sequence[Request],
        choices: Sequence[str],
        until: Until,
        compute: Callable[[ReadPrompts, Trie], T],
    ) -> Iterator[tuple[list[int], T]]:
        """Yield what is computed from batches of prompts and the trie of choices, with the requests' indices.

        In the end a RequestError names the requests that have no answer; where a prompt is among them that cannot be
        made, nothing is computed of the others around it, since they are asked again without it.
        """
        if self.scoring_obstacle:
            raise ModelError(self.scoring_obstacle)
        trie = self._chat.build_trie(choices, until)
        fit = self._numbers // (trie_pass.NODES * self._module.config.get_text_config(decoder=True).vocab_size)
        size = max(1, min(self.batch_size, fit))
        attempts, errors = self._attempts(size), dict[int, str]()

        longest = max(map(len, trie.paths))

        def computed(prompts: Sequence[Prompt]) -> T:
            with torch_runtime.inference_mode(self.device, "float32"):
                return compute(self._reader.read(prompts, longest), trie)

        for window in self._windows(requests, size, longest):
            errors.update({index: f"{failure.reason}." for index, failure in window.refused.items()})
            for batch in () if window.refused else self._reader.batches(window.prompts, size):
                for part, result in attempts.run(batch, computed):
                    if isinstance(result, Failure):
                        errors[part[0].index] = f"{result.reason}."
                    else:
                        yield [prompt.index for prompt in part], result
        if errors:
            raise RequestError(errors)


def _unanswered(failure: Failure) -> Answer:
    return Answer("", (), False, error=failure.reason + "." * (not failure.retry), retry=failure.retry)
